package schema

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/safe"
)

const (
	fieldIndent = "      "   // before the fields of a block
	itemIndent  = "        " // before the items of such a field

	maxSignature = 50
	maxURL       = 100
	maxBase64    = 20
)

// lineWriter builds texts of one line a field. A value with line breaks is written as it is.
type lineWriter struct {
	strings.Builder
}

// line writes "name: value" under a block.
func (w *lineWriter) line(name, value string) {
	w.WriteString(fieldIndent)
	w.WriteString(name)
	w.WriteString(": ")
	w.WriteString(value)
	w.WriteByte('\n')
}

// optional is line unless the value is empty.
func (w *lineWriter) optional(name, value string) {
	if value != "" {
		w.line(name, value)
	}
}

// media writes what a media struct has: how to get at the data, but only the beginning of the data itself.
func (w *lineWriter) media(url, base64, mimeType string) {
	w.optional("url", abbreviate(url, maxURL))
	if base64 != "" {
		w.line("base64_data", abbreviate(base64, maxBase64)+"... ("+strconv.Itoa(len(base64))+" bytes)")
	}
	w.optional("mime_type", mimeType)
}

// abbreviate cuts s to at most n bytes, at the boundary of a character.
func abbreviate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// describer is anything that is written as lines. A nil pointer writes nothing.
type describer interface {
	describe(w *lineWriter)
}

func describe(d describer) string {
	var w lineWriter
	d.describe(&w)
	return w.String()
}

// String renders the message for people, one line a field.
func (m *AgenticMessage) String() string {
	if m == nil {
		return ""
	}
	var w lineWriter
	w.WriteString("role: ")
	w.WriteString(string(m.Role))
	w.WriteByte('\n')
	if len(m.ContentBlocks) > 0 {
		w.WriteString("content_blocks:\n")
	}
	for i, b := range m.ContentBlocks {
		if b == nil {
			continue
		}
		w.WriteString("  [")
		w.WriteString(strconv.Itoa(i))
		w.WriteString("] ")
		b.describe(&w)
	}
	if m.ResponseMeta != nil {
		w.WriteString("response_meta:\n")
		m.ResponseMeta.describe(&w)
	}
	return w.String()
}

// String renders the token usage for people.
func (m *AgenticResponseMeta) String() string { return describe(m) }

func (m *AgenticResponseMeta) describe(w *lineWriter) {
	if m == nil || m.TokenUsage == nil {
		return
	}
	w.WriteString("  token_usage: prompt=")
	w.WriteString(strconv.Itoa(m.TokenUsage.PromptTokens))
	w.WriteString(", completion=")
	w.WriteString(strconv.Itoa(m.TokenUsage.CompletionTokens))
	w.WriteString(", total=")
	w.WriteString(strconv.Itoa(m.TokenUsage.TotalTokens))
	w.WriteByte('\n')
}

// String renders the block for people, one line a field.
func (b *ContentBlock) String() string { return describe(b) }

func (b *ContentBlock) describe(w *lineWriter) {
	if b == nil {
		return
	}
	w.WriteString("type: ")
	w.WriteString(string(b.Type))
	w.WriteByte('\n')
	if p := b.payload(); p != nil {
		p.describe(w)
	}
	if b.StreamingMeta != nil {
		w.line("stream_index", strconv.Itoa(b.StreamingMeta.Index))
	}
}

// payload returns the payload that belongs to the type, which may be a nil pointer, or nil for an unknown type.
func (b *ContentBlock) payload() describer {
	switch b.Type {
	case ContentBlockTypeReasoning:
		return b.Reasoning
	case ContentBlockTypeUserInputText:
		return b.UserInputText
	case ContentBlockTypeUserInputImage:
		return b.UserInputImage
	case ContentBlockTypeUserInputAudio:
		return b.UserInputAudio
	case ContentBlockTypeUserInputVideo:
		return b.UserInputVideo
	case ContentBlockTypeUserInputFile:
		return b.UserInputFile
	case ContentBlockTypeToolSearchResult:
		return b.ToolSearchFunctionToolResult
	case ContentBlockTypeAssistantGenText:
		return b.AssistantGenText
	case ContentBlockTypeAssistantGenImage:
		return b.AssistantGenImage
	case ContentBlockTypeAssistantGenAudio:
		return b.AssistantGenAudio
	case ContentBlockTypeAssistantGenVideo:
		return b.AssistantGenVideo
	case ContentBlockTypeFunctionToolCall:
		return b.FunctionToolCall
	case ContentBlockTypeFunctionToolResult:
		return b.FunctionToolResult
	case ContentBlockTypeServerToolCall:
		return b.ServerToolCall
	case ContentBlockTypeServerToolResult:
		return b.ServerToolResult
	case ContentBlockTypeMCPToolCall:
		return b.MCPToolCall
	case ContentBlockTypeMCPToolResult:
		return b.MCPToolResult
	case ContentBlockTypeMCPListToolsResult:
		return b.MCPListToolsResult
	case ContentBlockTypeMCPToolApprovalRequest:
		return b.MCPToolApprovalRequest
	case ContentBlockTypeMCPToolApprovalResponse:
		return b.MCPToolApprovalResponse
	}
	return nil
}

// valueText renders a value of a type that is not known here.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case fmt.Stringer:
		return fmt.Sprint(v) // unlike a plain call it survives nil pointers and panics
	}
	if text, err := indentedJSON(v); err == nil {
		return text
	}
	return fmt.Sprint(v)
}

func indentedJSON(v any) (text string, err error) {
	defer safe.Recover(&err)
	compact, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var buf bytes.Buffer
	if err := stdjson.Indent(&buf, compact, "", "  "); err != nil {
		return "", err
	}
	return buf.String(), nil
}
