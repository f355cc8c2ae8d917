package mcptool_test

import (
	"context"
	"encoding/json"
	"net"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

const anyObject = `{"type":"object"}`

// newServer makes a server with tools that answer.
func newServer() *mcp.Server { return mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil) }

func addTool(s *mcp.Server, name string, f mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(anyObject)}, f)
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// inProcess is a transport to a server in this process, which ends with its client. The server does not end it: the SDK
// waits for ever then if the client subscribes just at that time.
func inProcess(s *mcp.Server) func(context.Context) (mcp.Transport, error) {
	return func(context.Context) (mcp.Transport, error) {
		here, _, err := piped(s)
		return here, err
	}
}

// piped is a transport to a server, and a function that cuts it.
func piped(s *mcp.Server) (here *mcp.IOTransport, cut func() error, err error) {
	client, server := net.Pipe()
	_, err = s.Connect(context.Background(), &mcp.IOTransport{Reader: server, Writer: server}, nil)
	return &mcp.IOTransport{Reader: client, Writer: client}, server.Close, err
}

// open makes the client of a server, with a configuration.
func open(t *testing.T, conf mcptool.Config) *mcptool.Server {
	t.Helper()
	conf.Name = "s"
	srv, err := mcptool.New(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// named is a tool of a server.
func named(t *testing.T, s *mcptool.Server, name string) tool.EnhancedInvokableTool {
	t.Helper()
	tools, err := s.Tools(t.Context())
	require.NoError(t, err)
	for _, one := range tools {
		if info, err := one.Info(t.Context()); err == nil && info.Name == name {
			return one.(tool.EnhancedInvokableTool)
		}
	}
	require.Fail(t, "no tool "+name)
	return nil
}

func call(ctx context.Context, t tool.EnhancedInvokableTool, arguments string) (*schema.ToolResult, error) {
	return t.InvokableRun(ctx, &schema.ToolArgument{Text: arguments})
}

func TestServer_ListsAndCallsTools(t *testing.T) {
	s := newServer()
	addTool(s, "echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(string(r.Params.Arguments)), nil
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	echo := named(t, srv, "echo")
	result, err := call(t.Context(), echo, `{"n":9007199254740993}`)
	require.NoError(t, err)
	require.Equal(t, []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: `{"n":9007199254740993}`}}, result.Parts)
	result, err = call(t.Context(), echo, "")
	require.NoError(t, err)
	require.Equal(t, "{}", result.Parts[0].Text)
	result, err = call(t.Context(), echo, `{"n":}`)
	require.NoError(t, err)
	require.Equal(t, true, result.Parts[0].Extra[mcptool.ErrorKey])
	require.Contains(t, result.Parts[0].Text, "at byte 6")
}

type adkMessage = schema.Message
