package mcptool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

func sorted(s []string) []string { slices.Sort(s); return s }

// shown are parts in short: their kinds, and what they hold.
func shown(parts []schema.ToolOutputPart) (all []string) {
	for _, p := range parts {
		switch p.Type {
		case schema.ToolPartTypeText:
			all = append(all, "text "+p.Text)
		case schema.ToolPartTypeImage:
			all = append(all, "image "+p.Image.MIMEType+" "+*p.Image.Base64Data)
		case schema.ToolPartTypeAudio:
			all = append(all, "audio "+p.Audio.MIMEType+" "+*p.Audio.Base64Data)
		case schema.ToolPartTypeVideo:
			all = append(all, "video "+p.Video.MIMEType+" "+*p.Video.Base64Data)
		case schema.ToolPartTypeFile:
			all = append(all, "file "+p.File.MIMEType+" "+*p.File.Base64Data)
		}
	}
	return all
}

// Rule mcp/MC17.
func TestResult_HasAPartForEachBlock(t *testing.T) {
	size := int64(3)
	text := func(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }
	image := &mcp.ImageContent{MIMEType: "image/png", Data: []byte("abc")}
	resource := func(mime, text string, blob []byte) *mcp.EmbeddedResource {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://y", MIMEType: mime, Text: text, Blob: blob}}
	}
	for name, c := range map[string]struct {
		result mcp.CallToolResult
		want   []string
	}{
		"text":  {mcp.CallToolResult{Content: []mcp.Content{text("a"), text("b")}}, []string{"text a", "text b"}},
		"media": {mcp.CallToolResult{Content: []mcp.Content{image, &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("abc")}}}, []string{"image image/png YWJj", "audio audio/wav YWJj"}},
		"resources": {mcp.CallToolResult{Content: []mcp.Content{resource("text/plain", "hi", nil), resource("", "hi", nil),
			resource("video/mp4", "", []byte("abc")), resource("application/zip", "", []byte("abc"))}},
			[]string{"text resource x://y (text/plain)\nhi", "text resource x://y\nhi", "video video/mp4 YWJj", "file application/zip YWJj"}},
		"link": {mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: "x://y", Name: "n\nm", MIMEType: "a/b", Size: &size}}},
			[]string{"text resource x://y n m a/b 3 bytes"}},
		"nothing":              {mcp.CallToolResult{Content: []mcp.Content{}}, []string{"text "}},
		"structured alone":     {mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}}, []string{`text {"a":1}`}},
		"structured as JSON":   {mcp.CallToolResult{Content: []mcp.Content{text(`{ "a": 1 }`)}, StructuredContent: map[string]any{"a": 1}}, []string{`text { "a": 1 }`}},
		"structured as text":   {mcp.CallToolResult{Content: []mcp.Content{text("hello")}, StructuredContent: map[string]any{"content": "hello"}}, []string{"text hello"}},
		"structured as blocks": {mcp.CallToolResult{Content: []mcp.Content{image}, StructuredContent: map[string]any{"content": []any{map[string]any{"type": "image", "mimeType": "image/png", "data": "YWJj"}}}}, []string{"image image/png YWJj"}},
		"structured and more":  {mcp.CallToolResult{Content: []mcp.Content{image, text("see")}, StructuredContent: map[string]any{"a": true}}, []string{"image image/png YWJj", "text see", `text {"a":true}`}},
	} {
		s := newServer()
		addTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return &c.result, nil })
		result, err := call(t.Context(), named(t, open(t, mcptool.Config{Transport: inProcess(s)}), "t"), "{}")
		require.NoError(t, err, name)
		require.Equal(t, c.want, shown(result.Parts), name)
		if c.result.StructuredContent != nil {
			whole := result.Parts[0].Extra[mcptool.ResultKey]
			require.Equal(t, name != "structured as blocks", strings.Contains(whole.(string), `"structuredContent"`), name)
			require.NotContains(t, whole, "YWJj", "media are in the parts")
		}
	}
}

// Rules mcp/MC19, mcp/MC20.
func TestResult_IsBounded(t *testing.T) {
	s := newServer()
	addTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a" + strings.Repeat("ä", 1000) + "z"},
			&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 11)},
			&mcp.TextContent{Text: "for you", Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}}}}}, nil
	})
	conf := mcptool.Config{Transport: inProcess(s), MaxText: 100, MaxMedia: 10, HideUserContent: true}
	result, err := call(t.Context(), named(t, open(t, conf), "t"), "{}")
	require.NoError(t, err)
	require.Len(t, result.Parts, 2)
	require.Contains(t, result.Parts[0].Text, "[1902 bytes are left out here]")
	require.Less(t, len(result.Parts[0].Text), 150)
	require.Equal(t, "[image of 11 bytes (image/png) is too large, and left out]", result.Parts[1].Text)
}

// Rules mcp/MC16, mcp/MC18, mcp/MC21.
func TestResult_ErrorsAreForTheModel(t *testing.T) {
	s := newServer()
	addTool(s, "fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no disk"}}}, nil
	})
	addTool(s, "breaks", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("a bug")
	})
	s.AddTool(&mcp.Tool{Name: "lies", InputSchema: map[string]any{"type": "object"},
		OutputSchema: json.RawMessage(`{"type":"object","required":["n"]}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"m": 1}}, nil
		})
	addTool(s, "goes", answers("ok"))
	conf := mcptool.Config{Transport: inProcess(s), CheckOutput: true}
	srv := open(t, conf)
	isError := func(name, want string) {
		t.Helper()
		result, err := call(t.Context(), named(t, srv, name), "{}")
		require.NoError(t, err)
		require.Contains(t, result.Parts[0].Text, want)
		require.Equal(t, true, result.Parts[0].Extra[mcptool.ErrorKey])
	}
	isError("fails", "no disk")
	isError("lies", "n is required")
	_, err := call(t.Context(), named(t, srv, "breaks"), "{}")
	failure(t, err, mcptool.Protocol)
	gone := named(t, srv, "goes")
	s.RemoveTools("goes")
	result, err := call(t.Context(), gone, "{}")
	require.NoError(t, err)
	require.Equal(t, true, result.Parts[0].Extra[mcptool.ErrorKey])
	for _, bad := range []string{"[]", "{", "x"} {
		result, err := call(t.Context(), named(t, srv, "fails"), bad)
		require.NoError(t, err)
		require.Contains(t, result.Parts[0].Text, "arguments", bad)
	}
	conf.ErrorsFail = true
	_, err = call(t.Context(), named(t, open(t, conf), "fails"), "{}")
	require.ErrorContains(t, err, `MCP server "s": tool "fails": the call failed: no disk`)
}

// What the model does not get is kept for the user: a picture, too, which is nowhere else.
// Rule mcp/MC20.
func TestResult_ForTheUserOnlyIsInExtraOnly(t *testing.T) {
	forUser := &mcp.Annotations{Audience: []mcp.Role{"user"}}
	s := newServer()
	addTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "for both"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("both")},
			&mcp.TextContent{Text: "for the user", Annotations: forUser},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("user"), Annotations: forUser}}}, nil
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s), HideUserContent: true})
	result, err := call(t.Context(), named(t, srv, "t"), "{}")
	require.NoError(t, err)
	require.Equal(t, []string{"text for both", "image image/png Ym90aA=="}, shown(result.Parts))
	whole := result.Parts[0].Extra[mcptool.ResultKey].(string)
	require.Contains(t, whole, "for the user")
	require.Contains(t, whole, base64.StdEncoding.EncodeToString([]byte("user")))
	require.NotContains(t, whole, "Ym90aA==")
}
