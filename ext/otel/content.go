package weftotel

import (
	"cmp"
	"encoding/json"

	"github.com/weftgo/weft/schema"
)

// Content holds the recorded input and output of an operation. Its JSON has the form of the conventions.
type Content struct {
	// Operation is gen_ai.operation.name.
	Operation string
	// Instructions, Input, Output and Tools are set for models and agents.
	Instructions  []Part
	Input, Output []Message
	Tools         []Tool
	// Arguments and Result are set for calls of tools.
	Arguments, Result any
	// Query and Documents are set for retrievals.
	Query     string
	Documents []Document
}

// Message is a message of a model or to one.
type Message struct {
	// Role is system, user, assistant or tool.
	Role, Name string
	Parts      []Part
	// FinishReason is the reason for which the model stopped, of output.
	FinishReason string
}

// Part is a part of a message. Which fields count depends on its type.
type Part struct {
	// Type is text, reasoning, tool_call, tool_call_response, server_tool_call, server_tool_call_response, blob or uri.
	Type string
	// Content is text, or data in base64.
	Content string
	// ID and Name are set for calls of tools.
	ID, Name string
	// Value is the arguments of a call, or its result.
	Value any
	// Modality is image, audio, video or document.
	Modality, MIMEType, URI string
}

// Tool is a tool that a model is offered.
type Tool struct {
	Name, Description string
	Parameters        json.RawMessage
}

// Document is one that was found.
type Document struct {
	ID      string
	Score   float64
	Content string
}

// value returns the part of a message as the conventions encode it, without empty fields.
func (p *Part) value() map[string]any {
	v := map[string]any{"type": p.Type}
	set := func(key, value string) {
		if value != "" {
			v[key] = value
		}
	}
	switch p.Type {
	case "text", "reasoning":
		v["content"] = p.Content
	case "tool_call":
		set("id", p.ID)
		v["name"], v["arguments"] = p.Name, p.Value
	case "tool_call_response":
		set("id", p.ID)
		v["response"] = p.Value
	case "server_tool_call":
		set("id", p.ID)
		v["name"], v["server_tool_call"] = p.Name, map[string]any{"type": p.Name, "arguments": p.Value}
	case "server_tool_call_response":
		set("id", p.ID)
		v["server_tool_call_response"] = map[string]any{"type": p.Name, "response": p.Value}
	case "blob":
		v["modality"], v["content"] = p.Modality, p.Content
		set("mime_type", p.MIMEType)
	case "uri":
		v["modality"], v["uri"] = p.Modality, p.URI
		set("mime_type", p.MIMEType)
	default:
		set("content", p.Content)
	}
	return v
}

func partValues(parts []Part) []any {
	values := make([]any, len(parts))
	for i := range parts {
		values[i] = parts[i].value()
	}
	return values
}

func messageValues(messages []Message, output bool) []any {
	values := make([]any, len(messages))
	for i, m := range messages {
		v := map[string]any{"role": m.Role, "parts": partValues(m.Parts)}
		if m.Name != "" {
			v["name"] = m.Name
		}
		if output {
			v["finish_reason"] = m.FinishReason
		}
		values[i] = v
	}
	return values
}

func toolValues(tools []Tool) []any {
	values := make([]any, len(tools))
	for i, t := range tools {
		v := map[string]any{"type": "function", "name": t.Name}
		if t.Description != "" {
			v["description"] = t.Description
		}
		if len(t.Parameters) > 0 {
			v["parameters"] = generic(t.Parameters)
		}
		values[i] = v
	}
	return values
}

func documentValues(docs []Document) []any {
	values := make([]any, len(docs))
	for i, d := range docs {
		values[i] = map[string]any{"id": d.ID, "score": d.Score, "content": d.Content}
	}
	return values
}

// generic is a value as maps, lists and plain values.
func generic(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}

// arguments are the arguments of a call as an object, or in one if they are none.
func arguments(text string) any {
	if text == "" {
		return map[string]any{}
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		return map[string]any{"_raw": text}
	}
	return object
}

// builder makes content of messages.
type builder struct{ media bool }

func (b builder) text(kind, text string) []Part {
	if text == "" {
		return nil
	}
	return []Part{{Type: kind, Content: text}}
}

// file makes the part of an image, audio, video or document.
func (b builder) file(modality, url, base64, mime string) []Part {
	switch {
	case url != "":
		return []Part{{Type: "uri", Modality: modality, URI: url, MIMEType: mime}}
	case base64 != "" && b.media:
		return []Part{{Type: "blob", Modality: modality, Content: base64, MIMEType: mime}}
	}
	return nil
}

func (b builder) common(modality string, c *schema.MessagePartCommon) []Part {
	var url, data string
	if c.URL != nil {
		url = *c.URL
	}
	if c.Base64Data != nil {
		data = *c.Base64Data
	}
	return b.file(modality, url, data, c.MIMEType)
}

// message adds an ordinary message: to the instructions, if it is one of the system.
func (b builder) message(c *Content, m *schema.Message) {
	if m == nil {
		return
	}
	if m.Role == schema.System {
		c.Instructions = append(c.Instructions, b.text("text", m.Content)...)
		return
	}
	c.Input = append(c.Input, b.ordinary(m))
}

func (b builder) ordinary(m *schema.Message) Message {
	out := Message{Role: string(m.Role), Name: m.Name}
	if m.Role == schema.Tool {
		out.Name = ""
		out.Parts = []Part{{Type: "tool_call_response", ID: m.ToolCallID, Name: m.ToolName, Value: m.Content}}
		for i := range m.UserInputMultiContent {
			out.Parts = append(out.Parts, b.input(&m.UserInputMultiContent[i])...)
		}
		return out
	}
	out.Parts = append(out.Parts, b.text("reasoning", m.ReasoningContent)...)
	out.Parts = append(out.Parts, b.text("text", m.Content)...)
	for i := range m.UserInputMultiContent {
		out.Parts = append(out.Parts, b.input(&m.UserInputMultiContent[i])...)
	}
	for i := range m.AssistantGenMultiContent {
		out.Parts = append(out.Parts, b.output(&m.AssistantGenMultiContent[i])...)
	}
	//lint:ignore SA1019 messages still have it
	for _, part := range m.MultiContent {
		out.Parts = append(out.Parts, b.text("text", part.Text)...)
	}
	for _, call := range m.ToolCalls {
		out.Parts = append(out.Parts, Part{Type: "tool_call", ID: call.ID, Name: call.Function.Name,
			Value: arguments(call.Function.Arguments)})
	}
	if m.ResponseMeta != nil {
		out.FinishReason = finishReason(m.ResponseMeta.FinishReason)
	}
	return out
}

// finishReasons maps the words of providers to the words of the conventions.
var finishReasons = map[string]string{"tool_calls": "tool_call", "tool_use": "tool_call", "end_turn": "stop",
	"stop_sequence": "stop", "completed": "stop", "STOP": "stop", "max_tokens": "length", "max_output_tokens": "length",
	"MAX_TOKENS": "length", "SAFETY": "content_filter", "PROHIBITED_CONTENT": "content_filter", "failed": "error"}

// finishReason is the word of the conventions for one of the most common ones, and otherwise the provider's.
func finishReason(reason string) string { return cmp.Or(finishReasons[reason], reason) }

func (b builder) input(p *schema.MessageInputPart) []Part {
	switch {
	case p.Image != nil:
		return b.common("image", &p.Image.MessagePartCommon)
	case p.Audio != nil:
		return b.common("audio", &p.Audio.MessagePartCommon)
	case p.Video != nil:
		return b.common("video", &p.Video.MessagePartCommon)
	case p.File != nil:
		return b.common("document", &p.File.MessagePartCommon)
	}
	return b.text("text", p.Text)
}

func (b builder) output(p *schema.MessageOutputPart) []Part {
	switch {
	case p.Image != nil:
		return b.common("image", &p.Image.MessagePartCommon)
	case p.Audio != nil:
		return b.common("audio", &p.Audio.MessagePartCommon)
	case p.Video != nil:
		return b.common("video", &p.Video.MessagePartCommon)
	case p.Reasoning != nil:
		return b.text("reasoning", p.Reasoning.Text)
	}
	return b.text("text", p.Text)
}

// result makes the result of a tool of its parts.
func (b builder) result(result []schema.ToolOutputPart) any {
	inputs, err := (&schema.ToolResult{Parts: result}).ToMessageInputParts()
	if err != nil {
		return nil
	}
	var parts []Part
	for i := range inputs {
		parts = append(parts, b.input(&inputs[i])...)
	}
	return partValues(parts)
}

// agentic adds an agentic message: to the instructions, if it is one of the system.
func (b builder) agentic(c *Content, m *schema.AgenticMessage) {
	if m == nil {
		return
	}
	out := b.blocks(m)
	if m.Role == schema.AgenticRoleTypeSystem {
		c.Instructions = append(c.Instructions, out.Parts...)
		return
	}
	c.Input = append(c.Input, out)
}

func (b builder) blocks(m *schema.AgenticMessage) Message {
	out := Message{Role: string(m.Role)}
	for _, block := range m.ContentBlocks {
		if block != nil {
			out.Parts = append(out.Parts, b.block(block)...)
		}
	}
	return out
}

func (b builder) block(x *schema.ContentBlock) []Part {
	switch {
	case x.Reasoning != nil:
		return b.text("reasoning", x.Reasoning.Text)
	case x.UserInputText != nil:
		return b.text("text", x.UserInputText.Text)
	case x.AssistantGenText != nil:
		return b.text("text", x.AssistantGenText.Text)
	case x.UserInputImage != nil:
		return b.file("image", x.UserInputImage.URL, x.UserInputImage.Base64Data, x.UserInputImage.MIMEType)
	case x.UserInputAudio != nil:
		return b.file("audio", x.UserInputAudio.URL, x.UserInputAudio.Base64Data, x.UserInputAudio.MIMEType)
	case x.UserInputVideo != nil:
		return b.file("video", x.UserInputVideo.URL, x.UserInputVideo.Base64Data, x.UserInputVideo.MIMEType)
	case x.UserInputFile != nil:
		return b.file("document", x.UserInputFile.URL, x.UserInputFile.Base64Data, x.UserInputFile.MIMEType)
	case x.AssistantGenImage != nil:
		return b.file("image", x.AssistantGenImage.URL, x.AssistantGenImage.Base64Data, x.AssistantGenImage.MIMEType)
	case x.AssistantGenAudio != nil:
		return b.file("audio", x.AssistantGenAudio.URL, x.AssistantGenAudio.Base64Data, x.AssistantGenAudio.MIMEType)
	case x.AssistantGenVideo != nil:
		return b.file("video", x.AssistantGenVideo.URL, x.AssistantGenVideo.Base64Data, x.AssistantGenVideo.MIMEType)
	case x.FunctionToolCall != nil:
		call := x.FunctionToolCall
		return []Part{{Type: "tool_call", ID: call.CallID, Name: call.Name, Value: arguments(call.Arguments)}}
	case x.FunctionToolResult != nil:
		r := x.FunctionToolResult
		return []Part{{Type: "tool_call_response", ID: r.CallID, Name: r.Name, Value: partValues(b.functionResult(r))}}
	case x.ServerToolCall != nil:
		call := x.ServerToolCall
		return []Part{{Type: "server_tool_call", ID: call.CallID, Name: call.Name, Value: generic(call.Arguments)}}
	case x.ServerToolResult != nil:
		r := x.ServerToolResult
		return []Part{{Type: "server_tool_call_response", ID: r.CallID, Name: r.Name, Value: generic(r.Content)}}
	case x.MCPToolCall != nil:
		call := x.MCPToolCall
		return []Part{{Type: "server_tool_call", ID: call.CallID, Name: call.Name, Value: arguments(call.Arguments)}}
	case x.MCPToolResult != nil:
		r := x.MCPToolResult
		return []Part{{Type: "server_tool_call_response", ID: r.CallID, Name: r.Name, Value: r.Content}}
	}
	return nil
}

func (b builder) functionResult(r *schema.FunctionToolResult) (parts []Part) {
	for _, c := range r.Content {
		if c != nil {
			parts = append(parts, b.block(&schema.ContentBlock{UserInputText: c.Text, UserInputImage: c.Image,
				UserInputAudio: c.Audio, UserInputVideo: c.Video, UserInputFile: c.File})...)
		}
	}
	return parts
}
