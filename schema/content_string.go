package schema

import "strconv"

// String renders the text for people.
func (u *UserInputText) String() string { return describe(u) }

func (u *UserInputText) describe(w *lineWriter) {
	if u != nil {
		w.line("text", u.Text)
	}
}

// String renders the image for people, without its data.
func (u *UserInputImage) String() string { return describe(u) }

func (u *UserInputImage) describe(w *lineWriter) {
	if u != nil {
		w.media(u.URL, u.Base64Data, u.MIMEType)
		w.optional("detail", string(u.Detail))
	}
}

// String renders the audio for people, without its data.
func (u *UserInputAudio) String() string { return describe(u) }

func (u *UserInputAudio) describe(w *lineWriter) {
	if u != nil {
		w.media(u.URL, u.Base64Data, u.MIMEType)
	}
}

// String renders the video for people, without its data.
func (u *UserInputVideo) String() string { return describe(u) }

func (u *UserInputVideo) describe(w *lineWriter) {
	if u != nil {
		w.media(u.URL, u.Base64Data, u.MIMEType)
	}
}

// String renders the file for people, without its data.
func (u *UserInputFile) String() string { return describe(u) }

func (u *UserInputFile) describe(w *lineWriter) {
	if u != nil {
		w.optional("name", u.Name)
		w.media(u.URL, u.Base64Data, u.MIMEType)
	}
}

// String renders the text for people.
func (a *AssistantGenText) String() string { return describe(a) }

func (a *AssistantGenText) describe(w *lineWriter) {
	if a != nil {
		w.line("text", a.Text)
	}
}

// String renders the image for people, without its data.
func (a *AssistantGenImage) String() string { return describe(a) }

func (a *AssistantGenImage) describe(w *lineWriter) {
	if a != nil {
		w.media(a.URL, a.Base64Data, a.MIMEType)
	}
}

// String renders the audio for people, without its data.
func (a *AssistantGenAudio) String() string { return describe(a) }

func (a *AssistantGenAudio) describe(w *lineWriter) {
	if a != nil {
		w.media(a.URL, a.Base64Data, a.MIMEType)
	}
}

// String renders the video for people, without its data.
func (a *AssistantGenVideo) String() string { return describe(a) }

func (a *AssistantGenVideo) describe(w *lineWriter) {
	if a != nil {
		w.media(a.URL, a.Base64Data, a.MIMEType)
	}
}

// String renders the reasoning for people.
func (r *Reasoning) String() string { return describe(r) }

func (r *Reasoning) describe(w *lineWriter) {
	if r != nil {
		w.line("text", r.Text)
		w.optional("signature", abbreviate(r.Signature, maxSignature))
	}
}

// String renders the call for people.
func (f *FunctionToolCall) String() string { return describe(f) }

func (f *FunctionToolCall) describe(w *lineWriter) {
	if f != nil {
		w.line("call_id", f.CallID)
		w.line("name", f.Name)
		w.line("arguments", f.Arguments)
	}
}

// String renders the result for people.
func (f *FunctionToolResult) String() string { return describe(f) }

func (f *FunctionToolResult) describe(w *lineWriter) {
	if f == nil {
		return
	}
	w.line("call_id", f.CallID)
	w.line("name", f.Name)
	if len(f.Content) == 0 {
		return
	}
	w.line("content", "("+strconv.Itoa(len(f.Content))+" blocks)")
	for i, part := range f.Content {
		if part == nil {
			continue
		}
		w.WriteString(itemIndent)
		w.WriteByte('[')
		w.WriteString(strconv.Itoa(i))
		w.WriteString("] ")
		part.describe(w)
	}
}

// String renders the part for people.
func (f *FunctionToolResultContentBlock) String() string { return describe(f) }

func (f *FunctionToolResultContentBlock) describe(w *lineWriter) {
	if f == nil {
		return
	}
	var payload describer
	var empty bool
	switch f.Type {
	case FunctionToolResultContentBlockTypeText:
		payload, empty = f.Text, f.Text == nil
	case FunctionToolResultContentBlockTypeImage:
		payload, empty = f.Image, f.Image == nil
	case FunctionToolResultContentBlockTypeAudio:
		payload, empty = f.Audio, f.Audio == nil
	case FunctionToolResultContentBlockTypeVideo:
		payload, empty = f.Video, f.Video == nil
	case FunctionToolResultContentBlockTypeFile:
		payload, empty = f.File, f.File == nil
	case "":
		w.WriteString("unknown block type: <empty>\n")
		return
	default:
		w.WriteString("unknown block type: ")
		w.WriteString(string(f.Type))
		w.WriteByte('\n')
		return
	}
	if empty {
		w.WriteString("empty ")
		w.WriteString(string(f.Type))
		w.WriteString(" block\n")
		return
	}
	payload.describe(w)
}

// String names the tools found, for logs. It is not a line.
func (t *ToolSearchFunctionToolResult) String() string { return describe(t) }

func (t *ToolSearchFunctionToolResult) describe(w *lineWriter) {
	if t != nil {
		w.WriteString(t.Result.String())
	}
}

// String renders the call for people.
func (s *ServerToolCall) String() string { return describe(s) }

func (s *ServerToolCall) describe(w *lineWriter) {
	if s != nil {
		w.line("name", s.Name)
		w.optional("call_id", s.CallID)
		w.line("arguments", valueText(s.Arguments))
	}
}

// String renders the result for people.
func (s *ServerToolResult) String() string { return describe(s) }

func (s *ServerToolResult) describe(w *lineWriter) {
	if s != nil {
		w.line("name", s.Name)
		w.optional("call_id", s.CallID)
		w.line("content", valueText(s.Content))
	}
}

// String renders the call for people.
func (m *MCPToolCall) String() string { return describe(m) }

func (m *MCPToolCall) describe(w *lineWriter) {
	if m != nil {
		w.line("server_label", m.ServerLabel)
		w.line("call_id", m.CallID)
		w.line("name", m.Name)
		w.line("arguments", m.Arguments)
	}
}

// String renders the result for people.
func (m *MCPToolResult) String() string { return describe(m) }

func (m *MCPToolResult) describe(w *lineWriter) {
	if m == nil {
		return
	}
	w.line("call_id", m.CallID)
	w.line("name", m.Name)
	w.line("content", m.Content)
	switch {
	case m.Error == nil:
	case m.Error.Code == nil:
		w.line("error", m.Error.Message)
	default:
		w.line("error", "["+strconv.FormatInt(*m.Error.Code, 10)+"] "+m.Error.Message)
	}
}

// String renders the list for people: names and descriptions.
func (m *MCPListToolsResult) String() string { return describe(m) }

func (m *MCPListToolsResult) describe(w *lineWriter) {
	if m == nil {
		return
	}
	w.line("server_label", m.ServerLabel)
	w.line("tools", strconv.Itoa(len(m.Tools))+" items")
	for _, tool := range m.Tools {
		if tool == nil {
			continue
		}
		w.WriteString(itemIndent)
		w.WriteString("- ")
		w.WriteString(tool.Name)
		w.WriteString(": ")
		w.WriteString(tool.Description)
		w.WriteByte('\n')
	}
	w.optional("error", m.Error)
}

// String renders the request for people.
func (m *MCPToolApprovalRequest) String() string { return describe(m) }

func (m *MCPToolApprovalRequest) describe(w *lineWriter) {
	if m != nil {
		w.line("server_label", m.ServerLabel)
		w.line("id", m.ID)
		w.line("name", m.Name)
		w.line("arguments", m.Arguments)
	}
}

// String renders the response for people.
func (m *MCPToolApprovalResponse) String() string { return describe(m) }

func (m *MCPToolApprovalResponse) describe(w *lineWriter) {
	if m != nil {
		w.line("approval_request_id", m.ApprovalRequestID)
		w.line("approve", strconv.FormatBool(m.Approve))
		w.optional("reason", m.Reason)
	}
}
