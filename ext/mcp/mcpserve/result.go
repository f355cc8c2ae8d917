package mcpserve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// failed is a result that the client's model reads as an error.
func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// errMaxTime is what clients read about a call that Config.MaxTime has ended.
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

// publicText is what clients read about an error, which itself is logged. kind and name say what failed.
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

// bounded cuts what is over the limit out of the middle of a text.
func (s *Server) bounded(text string) string {
	most := s.conf.MaxText
	if len(text) <= most {
		return text
	}
	head, tail := text[:most/2], text[len(text)-most/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[%d bytes are left out here]\n", len(text)-most) +
		strings.ToValidUTF8(tail, "")
}

// said is the result for a text. An object is structured content, too, if the tool has a schema for it.
func (s *Server) said(text string, structured bool) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s.bounded(text)}}}
	var members map[string]any
	if structured && len(text) <= s.conf.MaxText && json.Unmarshal([]byte(text), &members) == nil && members != nil {
		r.StructuredContent = json.RawMessage(text)
	}
	return r
}

// shown is the result for parts.
func (s *Server) shown(parts []schema.ToolOutputPart) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: []mcp.Content{}}
	left := s.conf.MaxMedia
	for i := range parts {
		p := &parts[i]
		if bad, _ := p.Extra["is_error"].(bool); bad {
			r.IsError = true
		}
		r.Content = append(r.Content, s.block(&left, i, p))
	}
	return r
}

// block is the block for a part. left is how many bytes of media there may still be, i what tells blobs apart.
func (s *Server) block(left *int, i int, p *schema.ToolOutputPart) mcp.Content {
	switch {
	case p.Image != nil:
		return medium(left, &p.Image.MessagePartCommon, func(data []byte) mcp.Content {
			return &mcp.ImageContent{MIMEType: p.Image.MIMEType, Data: data}
		})
	case p.Audio != nil:
		return medium(left, &p.Audio.MessagePartCommon, func(data []byte) mcp.Content {
			return &mcp.AudioContent{MIMEType: p.Audio.MIMEType, Data: data}
		})
	case p.Video != nil:
		return medium(left, &p.Video.MessagePartCommon, blob(i, p.Video.MIMEType))
	case p.File != nil:
		return medium(left, &p.File.MessagePartCommon, blob(i, p.File.MIMEType))
	}
	return &mcp.TextContent{Text: s.bounded(p.Text)}
}

// blob makes an embedded resource of data that the protocol has no block for.
func blob(i int, mime string) func([]byte) mcp.Content {
	return func(data []byte) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: fmt.Sprintf("weft://result/%d", i), MIMEType: mime, Blob: data}}
	}
}

// medium is the block for a medium: its data, or the address where it is.
func medium(left *int, m *schema.MessagePartCommon, of func([]byte) mcp.Content) mcp.Content {
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
	if len(data) > *left {
		note := fmt.Sprintf("[a medium of %d bytes (%s) is too large, and left out]", len(data), m.MIMEType)
		return &mcp.TextContent{Text: note}
	}
	*left -= len(data)
	return of(data)
}
