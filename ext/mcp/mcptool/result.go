package mcptool

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/ext/mcp/internal/bound"
	"github.com/weftgo/weft/schema"
)

// Keys of the Extra of the parts of a result.
const (
	// ResultKey, in the first part, has the result as JSON text, if it has more than the parts show: structured content,
	// what is for the user only, _meta, texts that were cut. It is for user interfaces, and not sent to models. The data of
	// media that are in the parts is left out of it, also where structured content repeats it.
	ResultKey = "mcp.result"
	// ErrorKey is true in every part of a result that is an error, whether the server or the client says so. Nothing else
	// has the key. It is the same for every tool: logs of runs may read it.
	ErrorKey = "is_error"
)

// protocolMeta begins what the protocol itself has in the _meta of results.
const protocolMeta = "io.modelcontextprotocol/"

// mistake is a result that says what is wrong.
func mistake(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{
		{Type: schema.ToolPartTypeText, Text: text, Extra: map[string]any{ErrorKey: true}}}}
}

// converter makes parts of a result, within limits.
type converter struct {
	room  bound.Room
	parts []schema.ToolOutputPart
	// more: the result has what the parts do not show.
	more bool
}

// convert makes what the model gets of what a server answered.
func convert(conf *Config, r *mcp.CallToolResult) *schema.ToolResult {
	c := &converter{room: conf.room(), more: r.StructuredContent != nil}
	for name := range r.Meta {
		c.more = c.more || !strings.HasPrefix(name, protocolMeta)
	}
	for _, block := range r.Content {
		if conf.HideUserContent && isForUser(block) {
			c.more = true
			continue
		}
		c.add(block)
	}
	if r.StructuredContent != nil && !saysTheSame(r) {
		c.addText(jsonText(r.StructuredContent))
	}
	if len(c.parts) == 0 {
		c.addText("")
	}
	if c.more {
		if whole, err := json.Marshal(forUsers(conf, r)); err == nil && len(whole) <= conf.MaxText {
			c.extra(0)[ResultKey] = string(whole)
		}
	}
	if r.IsError {
		for i := range c.parts {
			c.extra(i)[ErrorKey] = true
		}
	}
	return &schema.ToolResult{Parts: c.parts}
}

// forUsers is a result without the data of media that are in its parts.
func forUsers(conf *Config, r *mcp.CallToolResult) *mcp.CallToolResult {
	light := *r
	light.Content = slices.Clone(r.Content)
	hasMedia := false
	for i, block := range light.Content {
		if conf.HideUserContent && isForUser(block) { // it is nowhere else
			continue
		}
		switch b := block.(type) {
		case *mcp.ImageContent:
			empty := *b
			empty.Data, hasMedia = nil, true
			light.Content[i] = &empty
		case *mcp.AudioContent:
			empty := *b
			empty.Data, hasMedia = nil, true
			light.Content[i] = &empty
		case *mcp.EmbeddedResource:
			if b.Resource == nil || b.Resource.Blob == nil {
				continue
			}
			empty, resource := *b, *b.Resource
			resource.Blob, empty.Resource = []byte{}, &resource
			light.Content[i], hasMedia = &empty, true
		}
	}
	if hasMedia && saysTheSame(r) {
		light.StructuredContent = nil
	}
	return &light
}

func (c *converter) extra(i int) map[string]any {
	if c.parts[i].Extra == nil {
		c.parts[i].Extra = map[string]any{}
	}
	return c.parts[i].Extra
}

// add adds the part for a block.
func (c *converter) add(block mcp.Content) {
	switch b := block.(type) {
	case *mcp.TextContent:
		c.addText(b.Text)
	case *mcp.ImageContent:
		c.addMedia(schema.ToolPartTypeImage, b.MIMEType, b.Data)
	case *mcp.AudioContent:
		c.addMedia(schema.ToolPartTypeAudio, b.MIMEType, b.Data)
	case *mcp.ResourceLink:
		fields := []string{"resource", b.URI, b.Name, b.MIMEType}
		if b.Size != nil {
			fields = append(fields, fmt.Sprintf("%d bytes", *b.Size))
		}
		c.addText(strings.Join(strings.Fields(strings.Join(fields, " ")), " "))
	case *mcp.EmbeddedResource:
		c.addResource(b.Resource)
	default:
		c.addText(jsonText(b))
	}
}

func (c *converter) addResource(r *mcp.ResourceContents) {
	switch {
	case r == nil:
		c.addText("resource")
	case r.Blob != nil:
		c.addMedia(mediaType(r.MIMEType), r.MIMEType, r.Blob)
	case r.MIMEType == "":
		c.addText(fmt.Sprintf("resource %s\n%s", oneLine(r.URI), r.Text))
	default:
		c.addText(fmt.Sprintf("resource %s (%s)\n%s", oneLine(r.URI), oneLine(r.MIMEType), r.Text))
	}
}

// mediaType is the type of part that shows data of a MIME type.
func mediaType(mime string) schema.ToolPartType {
	kind, _, _ := strings.Cut(mime, "/")
	switch kind {
	case "image":
		return schema.ToolPartTypeImage
	case "audio":
		return schema.ToolPartTypeAudio
	case "video":
		return schema.ToolPartTypeVideo
	}
	return schema.ToolPartTypeFile
}

// addText adds a text, as much of it as there is room for.
func (c *converter) addText(text string) {
	text, whole := c.room.Fit(clean(text))
	c.more = c.more || !whole
	c.parts = append(c.parts, schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: text})
}

func (c *converter) addMedia(kind schema.ToolPartType, mime string, data []byte) {
	if !c.room.Take(len(data)) {
		c.more = true
		c.parts = append(c.parts, schema.ToolOutputPart{Type: schema.ToolPartTypeText,
			Text: fmt.Sprintf("[%s of %d bytes (%s) is too large, and left out]", kind, len(data), oneLine(mime))})
		return
	}
	encoded := base64.StdEncoding.EncodeToString(data)
	common := schema.MessagePartCommon{Base64Data: &encoded, MIMEType: mime}
	part := schema.ToolOutputPart{Type: kind}
	switch kind {
	case schema.ToolPartTypeImage:
		part.Image = &schema.ToolOutputImage{MessagePartCommon: common}
	case schema.ToolPartTypeAudio:
		part.Audio = &schema.ToolOutputAudio{MessagePartCommon: common}
	case schema.ToolPartTypeVideo:
		part.Video = &schema.ToolOutputVideo{MessagePartCommon: common}
	default:
		part.File = &schema.ToolOutputFile{MessagePartCommon: common}
	}
	c.parts = append(c.parts, part)
}

// isForUser reports whether a block is for the user alone.
func isForUser(block mcp.Content) bool {
	var a *mcp.Annotations
	switch b := block.(type) {
	case *mcp.TextContent:
		a = b.Annotations
	case *mcp.ImageContent:
		a = b.Annotations
	case *mcp.AudioContent:
		a = b.Annotations
	case *mcp.ResourceLink:
		a = b.Annotations
	case *mcp.EmbeddedResource:
		a = b.Annotations
	}
	return a != nil && len(a.Audience) == 1 && a.Audience[0] == "user"
}

// saysTheSame reports whether the structured content, or its only member, is what the blocks say already, as servers
// write it for clients that do not know structured content.
func saysTheSame(r *mcp.CallToolResult) bool {
	values := []any{decoded(jsonText(r.StructuredContent))}
	if members, ok := values[0].(map[string]any); ok && len(members) == 1 {
		for _, only := range members {
			values = append(values, only)
		}
	}
	said := []any{decoded(jsonText(r.Content))}
	if text, ok := onlyText(r); ok {
		said = append(said, text)
		if v := decoded(text); v != nil {
			said = append(said, v)
		}
	}
	for _, v := range values {
		for _, s := range said {
			if reflect.DeepEqual(v, s) {
				return true
			}
		}
	}
	return false
}

// onlyText is the text of a result without other blocks of text.
func onlyText(r *mcp.CallToolResult) (text string, ok bool) {
	for _, block := range r.Content {
		if b, isText := block.(*mcp.TextContent); isText {
			if ok {
				return "", false
			}
			text, ok = b.Text, true
		}
	}
	return text, ok
}

// joinedText is all text of a result.
func joinedText(r *mcp.CallToolResult) string {
	var texts []string
	for _, block := range r.Content {
		if b, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// decoded is the value of a JSON text with the digits of its numbers, nil if it is none.
func decoded(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return v
}
