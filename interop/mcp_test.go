package interop

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// npmServer is the command of a server of npm, run by Node. The test skips without it.
func npmServer(t *testing.T, name string, args ...string) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	script, err := filepath.Abs("node_modules/@modelcontextprotocol/" + name + "/dist/index.js")
	require.NoError(t, err)
	if _, err := os.Stat(script); err != nil {
		t.Skipf("npm package @modelcontextprotocol/%s is not installed: run npm ci in interop, or make interop", name)
	}
	return append([]string{node, script}, args...)
}

func mcpServer(t *testing.T, name string, args ...string) *mcptool.Server {
	t.Helper()
	server, err := mcptool.New(mcptool.Config{Name: name, Command: npmServer(t, name, args...)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// toolbox are the tools of a server by their names.
type toolbox struct {
	t     *testing.T
	tools map[string]tool.EnhancedInvokableTool
}

func toolsOf(t *testing.T, server *mcptool.Server) *toolbox {
	t.Helper()
	all, err := server.Tools(t.Context())
	require.NoError(t, err)
	box := &toolbox{t, map[string]tool.EnhancedInvokableTool{}}
	for _, made := range all {
		info, err := made.Info(t.Context())
		require.NoError(t, err)
		_, err = info.ParamsOneOf.ToJSONSchema()
		require.NoError(t, err, info.Name)
		box.tools[info.Name] = made.(tool.EnhancedInvokableTool)
	}
	return box
}

// call calls a tool, and returns its parts.
func (b *toolbox) call(ctx context.Context, name string, args map[string]any) ([]schema.ToolOutputPart, error) {
	b.t.Helper()
	require.Contains(b.t, b.tools, name)
	if args == nil {
		args = map[string]any{}
	}
	data, err := json.Marshal(args)
	require.NoError(b.t, err)
	result, err := b.tools[name].InvokableRun(ctx, &schema.ToolArgument{Text: string(data)})
	if err != nil {
		return nil, err
	}
	return result.Parts, nil
}

// text calls a tool whose result is one text.
func (b *toolbox) text(name string, args map[string]any) string {
	b.t.Helper()
	parts, err := b.call(b.t.Context(), name, args)
	require.NoError(b.t, err)
	require.Len(b.t, parts, 1, "what a server sends twice is read once: %v", parts)
	return parts[0].Text
}

func TestMCP_FilesystemServerReadsAndWrites(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	box := toolsOf(t, mcpServer(t, "server-filesystem", dir))
	file := filepath.Join(dir, "a.txt")
	require.Contains(t, box.text("write_file", map[string]any{"path": file, "content": "hello\nworld"}), "a.txt")
	require.Equal(t, "hello\nworld", box.text("read_text_file", map[string]any{"path": file}))
	require.Contains(t, box.text("list_directory", map[string]any{"path": dir}), "a.txt")
	require.Contains(t, box.text("edit_file", map[string]any{"path": file,
		"edits": []any{map[string]any{"oldText": "world", "newText": "there"}}}), "there")
	require.Contains(t, box.text("read_text_file", map[string]any{"path": "/etc/passwd"}), "denied", "an error of a tool is for the model")

	pixel := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.png"), pixel, 0o600))
	parts, err := box.call(t.Context(), "read_media_file", map[string]any{"path": filepath.Join(dir, "a.png")})
	require.NoError(t, err)
	require.Len(t, parts, 1, "the image comes once")
	require.Equal(t, "image/png", parts[0].Image.MIMEType)
}

// A server that is killed in the middle is started again, and a call that it may have carried out is not repeated.
func TestMCP_FilesystemServerIsReplacedWhenItDies(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	server := mcpServer(t, "server-filesystem", dir)
	box := toolsOf(t, server)
	for i := range 3 {
		require.Contains(t, box.text("list_allowed_directories", nil), dir)
		if i < 2 {
			kill(t, "server-filesystem", dir)
		}
	}
}

// kill kills the children of this process whose command has some words.
func kill(t *testing.T, words ...string) {
	t.Helper()
	out, err := exec.Command("pgrep", "-f", strings.Join(words, ".*")).Output()
	require.NoError(t, err)
	for _, pid := range strings.Fields(string(out)) {
		require.NoError(t, exec.Command("kill", "-9", pid).Run())
	}
	time.Sleep(200 * time.Millisecond) // for the end of the pipe to be seen
}

// What a server says of its tools comes to the model whole, but for the name of the dialect.
func TestMCP_SchemasAreWhole(t *testing.T) {
	for name, args := range map[string][]string{"server-everything": nil, "server-filesystem": {t.TempDir()}} {
		command := npmServer(t, name, args...)
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
		require.NoError(t, err)
		listed, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		_ = session.Close() // one does not stop before it is asked to, and the SDK reports that
		sources := map[string]map[string]any{}
		for _, one := range listed.Tools {
			sources[one.Name] = one.InputSchema.(map[string]any)
		}
		tools, err := mcpServer(t, name, args...).Tools(t.Context())
		require.NoError(t, err)
		require.Greater(t, len(tools), 5)
		for _, made := range tools {
			info, err := made.Info(t.Context())
			require.NoError(t, err)
			got, err := info.SchemaJSON()
			require.NoError(t, err)
			require.Contains(t, sources, info.Name)
			source := sources[info.Name]
			delete(source, "$schema")
			want, err := json.Marshal(source)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got), info.Name)
		}
	}
}

// Every tool of the server that has everything can be called, and what it answers is read.
func TestMCP_EverythingServerAnswersAllCalls(t *testing.T) {
	box := toolsOf(t, mcpServer(t, "server-everything"))
	arguments := map[string]map[string]any{
		"echo": {"message": "hi"}, "get-sum": {"a": 2, "b": 3}, "get-annotated-message": {"messageType": "error", "includeImage": true},
		"get-resource-reference": {"resourceType": "Text", "resourceId": 1}, "get-resource-links": {"count": 3},
		"get-structured-content": {"location": "New York"}, "trigger-long-running-operation": {"duration": 1, "steps": 2},
		"gzip-file-as-resource": {"name": "a.txt.gz", "data": "data:text/plain,hello", "outputType": "resource"},
	}
	for name := range box.tools {
		parts, err := box.call(t.Context(), name, arguments[name])
		require.NoError(t, err, name)
		require.NotEmpty(t, parts, name)
		if name == "simulate-research-query" { // it is for clients with tasks, and says so to the model
			require.Contains(t, parts[0].Text, "task")
			continue
		}
		require.Nil(t, parts[0].Extra["is_error"], "%s: %s", name, parts[0].Text)
	}
	require.Equal(t, "Echo: hi", box.text("echo", arguments["echo"]))
	parts, err := box.call(t.Context(), "get-tiny-image", nil)
	require.NoError(t, err)
	images := 0
	for _, p := range parts {
		if p.Image != nil {
			images++
		}
	}
	require.Equal(t, 1, images)
}
