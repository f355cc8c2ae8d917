package mcpserve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/ext/mcp/internal/bound"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// failed is a result that the client's model reads as an error.
func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// errMaxTime is the error that clients read about a call that Config.MaxTime has ended.
var errMaxTime = errors.New("the call took too long")

// explain is the result for an error. Its text may hold secrets, and goes to the logger.
func (s *Server) explain(ctx context.Context, name string, err error) *mcp.CallToolResult {
	var arguments *tool.ArgumentsError
	switch {
	case errors.As(err, &arguments):
		return failed(arguments.Error())
	case errors.Is(context.Cause(ctx), errMaxTime):
		return failed(errMaxTime.Error())
	case ctx.Err() != nil:
		return failed("the call was canceled")
	}
	return failed(s.publicText(ctx, "tool", name, err))
}

// publicText returns the text that clients read about an error, and logs the error itself. kind and name say what
// failed.
func (s *Server) publicText(ctx context.Context, kind, name string, err error) (text string) {
	s.conf.Logger.WarnContext(ctx, "a request over MCP failed", kind, name, "error", err)
	const fallback = "the call failed"
	defer func() {
		if recover() != nil || text == "" {
			text = fallback
		}
	}()
	if s.conf.ErrorText == nil {
		return fallback
	}
	return s.conf.ErrorText(err)
}

// room returns the limits of a result.
func (s *Server) room() *bound.Room { return &bound.Room{Text: s.conf.MaxText, Media: s.conf.MaxMedia} }

// bounded is as much of a text as a result may have.
func (s *Server) bounded(text string) string {
	text, _ = s.room().Fit(text)
	return text
}

// said is the result for a text.
func (s *Server) said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s.bounded(text)}}}
}

// shown is the result for parts.
func (s *Server) shown(parts []schema.ToolOutputPart) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: []mcp.Content{}}
	room := s.room()
	for i := range parts {
		p := &parts[i]
		if bad, _ := p.Extra[mcptool.ErrorKey].(bool); bad {
			r.IsError = true
		}
		r.Content = append(r.Content, block(room, i, p))
	}
	return r
}

// structured adds to a result what the schema of results promises: its only text, if that is an object that fits. The
// protocol does not allow a result without, unless it is an error.
func (s *Server) structured(ctx context.Context, output *schema.ToolInfo, r *mcp.CallToolResult) *mcp.CallToolResult {
	if r == nil || r.IsError {
		return r
	}
	var texts []string
	for _, b := range r.Content {
		if text, ok := b.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	err := errors.New("it is not one text")
	if len(texts) == 1 {
		_, err = utils.DecodeArguments[map[string]any](ctx, output, texts[0], true)
	}
	if err != nil {
		s.conf.Logger.WarnContext(ctx, "a result does not fit the schema of its tool", "tool", output.Name, "error", err)
		return failed("the result of the tool is not of the form that it promises")
	}
	r.StructuredContent = json.RawMessage(texts[0])
	return r
}

// block is the block for a part. i tells blobs apart.
func block(room *bound.Room, i int, p *schema.ToolOutputPart) mcp.Content {
	switch {
	case p.Image != nil:
		return medium(room, &p.Image.MessagePartCommon, func(data []byte) mcp.Content {
			return &mcp.ImageContent{MIMEType: p.Image.MIMEType, Data: data}
		})
	case p.Audio != nil:
		return medium(room, &p.Audio.MessagePartCommon, func(data []byte) mcp.Content {
			return &mcp.AudioContent{MIMEType: p.Audio.MIMEType, Data: data}
		})
	case p.Video != nil:
		return medium(room, &p.Video.MessagePartCommon, blob(i, p.Video.MIMEType))
	case p.File != nil:
		return medium(room, &p.File.MessagePartCommon, blob(i, p.File.MIMEType))
	}
	text, _ := room.Fit(p.Text)
	return &mcp.TextContent{Text: text}
}

// blob makes an embedded resource of data that the protocol has no block for.
func blob(i int, mime string) func([]byte) mcp.Content {
	return func(data []byte) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: fmt.Sprintf("weft://result/%d", i), MIMEType: mime, Blob: data}}
	}
}

// medium is the block for a medium: its data, or the address where it is.
func medium(room *bound.Room, m *schema.MessagePartCommon, of func([]byte) mcp.Content) mcp.Content {
	if m.Base64Data == nil {
		if m.URL == nil {
			return &mcp.TextContent{Text: "[a medium without data]"}
		}
		return &mcp.ResourceLink{URI: *m.URL, Name: "result", MIMEType: m.MIMEType}
	}
	data, err := base64.StdEncoding.DecodeString(*m.Base64Data)
	if err != nil {
		return &mcp.TextContent{Text: "[a medium whose data cannot be read]"}
	}
	if !room.Take(len(data)) {
		note := fmt.Sprintf("[a medium of %d bytes (%s) is too large, and left out]", len(data), m.MIMEType)
		return &mcp.TextContent{Text: note}
	}
	return of(data)
}
