package mcptool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

func names(t *testing.T, s *mcptool.Server) (all []string) {
	t.Helper()
	tools, err := s.Tools(t.Context())
	require.NoError(t, err)
	for _, one := range tools {
		info, err := one.Info(t.Context())
		require.NoError(t, err)
		all = append(all, info.Name)
	}
	return all
}

func answers(text string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says(text), nil }
}

// Each page is a sign of life: a long list takes longer than a silent server may.
// Rule mcp/MC7.
func TestTools_EachPageIsASignOfLife(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" || method == "resources/list" {
				time.Sleep(100 * time.Millisecond)
			}
			return next(ctx, method, r)
		}
	})
	for i := range 6 {
		addTool(s, fmt.Sprint("t", i), answers(""))
		s.AddResource(&mcp.Resource{URI: fmt.Sprint("a://", i), Name: "r"}, nil)
	}
	srv := open(t, mcptool.Config{Transport: inProcess(s), Timeout: 500 * time.Millisecond})
	require.Len(t, names(t, srv), 6)
	resources, err := srv.Resources(t.Context())
	require.NoError(t, err)
	require.Len(t, resources, 6)
}

// Rules mcp/MC8, mcp/MC9, mcp/MC11.
func TestTools_AllPagesInTheOrderOfTheServer(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	var want []string
	for i := range 10 {
		addTool(s, fmt.Sprintf("t.%02d", i), answers(""))
		want = append(want, fmt.Sprintf("p_t_%02d", i))
	}
	require.Equal(t, want, names(t, open(t, mcptool.Config{Transport: inProcess(s), Prefix: "p_"})))
	few := open(t, mcptool.Config{Transport: inProcess(s), MaxTools: 9})
	_, err := few.Tools(t.Context())
	failure(t, err, mcptool.TooLarge)
}

// Rules mcp/MC9, mcp/MC10.
func TestTools_NamesAndSelection(t *testing.T) {
	long := strings.Repeat("x", 100)
	s := newServer()
	for _, name := range []string{"read.file", "write-file", long, "secret"} {
		addTool(s, name, answers(name))
	}
	all := names(t, open(t, mcptool.Config{Transport: inProcess(s), Exclude: []string{"se*"}}))
	require.Len(t, all, 3)
	require.Equal(t, []string{"read_file", "write-file"}, []string{all[0], all[1]})
	require.Len(t, all[2], 64)
	require.Equal(t, long[:55]+"_", all[2][:56])
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	conf := mcptool.Config{Transport: inProcess(s), Include: []string{"read.*", "gone"}, Logger: logger}
	require.Equal(t, []string{"read_file"}, names(t, open(t, conf)))
	require.Contains(t, logged.String(), "tool=gone")
	conf.Strict = true
	_, err := open(t, conf).Tools(t.Context())
	require.ErrorContains(t, err, `no tool "gone"`)
	only := open(t, mcptool.Config{Transport: inProcess(s), Sort: true,
		Filter: func(x *mcp.Tool) bool { return len(x.Name) < 20 }})
	require.Equal(t, []string{"read_file", "secret", "write-file"}, names(t, only))
}

// Rule mcp/MC13.
func TestTools_OneSchemaThatCannotBeReadSpoilsNothing(t *testing.T) {
	s := newServer()
	addTool(s, "good", answers(""))
	s.AddTool(&mcp.Tool{Name: "old", InputSchema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#",` +
		`"type":"object","properties":{"pair":{"type":"array","items":[{"type":"string"},{"$ref":"#/definitions/n"}]}},` +
		`"definitions":{"n":{"const":null}}}`)}, answers(""))
	var deep any = true
	for range 200 {
		deep = map[string]any{"not": deep}
	}
	broken := map[string]any{"type": "object", "properties": deep}
	s.AddTool(&mcp.Tool{Name: "broken", InputSchema: broken}, answers(""))
	require.Equal(t, []string{"good", "old"}, sorted(names(t, open(t, mcptool.Config{Transport: inProcess(s)}))))
	info, err := named(t, open(t, mcptool.Config{Transport: inProcess(s)}), "old").Info(t.Context())
	require.NoError(t, err)
	text, err := info.SchemaJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{"pair":{"type":"array","prefixItems":[{"type":"string"},`+
		`{"$ref":"#/$defs/n"}]}},"$defs":{"n":{"const":null}}}`, string(text))
	_, err = open(t, mcptool.Config{Transport: inProcess(s), Strict: true}).Tools(t.Context())
	require.ErrorContains(t, err, `tool "broken"`)
}

// Rule mcp/MC8.
func TestMiddleware_TheNextRunHasTheNewTools(t *testing.T) {
	s := newServer()
	addTool(s, "one", answers("1"))
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	r := cashier(t, srv, adktest.NewStore(), adktest.Says("a").Offered("one"), adktest.Says("b").Offered("one", "two"))
	adktest.Collect(t, r.Query(t.Context(), "hi")).ExpectText("a")
	addTool(s, "two", answers("2"))
	require.Eventually(t, func() bool { return len(names(t, srv)) == 2 }, 5*time.Second, time.Millisecond)
	adktest.Collect(t, r.Query(t.Context(), "hi")).ExpectText("b")
}

// Rules mcp/MC14, mcp/MC15.
func TestAnnotations_AreForPeople(t *testing.T) {
	no := false
	s := newServer()
	schema := map[string]any{"type": "object"}
	s.AddTool(&mcp.Tool{Name: "read", Title: "Reads", InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, answers(""))
	s.AddTool(&mcp.Tool{Name: "add", InputSchema: schema, Annotations: &mcp.ToolAnnotations{DestructiveHint: &no}}, answers(""))
	s.AddTool(&mcp.Tool{Name: "drop", InputSchema: schema, Description: strings.Repeat("ä", 5000)}, answers(""))
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	info, err := named(t, srv, "read").Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Reads", info.Extra[mcptool.TitleKey])
	require.Equal(t, "s", info.Extra[mcptool.ServerKey])
	require.True(t, mcptool.Annotations(info).ReadOnlyHint)
	info, err = named(t, srv, "drop").Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("ä", 2048)+"…", info.Desc)
	require.Nil(t, mcptool.Annotations(info))
}
