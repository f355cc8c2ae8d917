package reduction

import (
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// resultView is the result of a call in a message, in the form of handlers. What that form cannot hold (details of
// images, names of files) is found again by the media that a part came with.
type resultView struct {
	parts []schema.ToolOutputPart
	// fromContent: the result is the plain text of an ordinary message.
	fromContent bool
	// inputs and blocks are the parts as the message has them, one for each of parts.
	inputs []schema.MessageInputPart
	blocks []*schema.FunctionToolResultContentBlock
}

// viewOf finds the result of a call in a message, nil if there is none that could be cleared.
func viewOf[M adk.MessageType](m M, callID string) *resultView {
	switch m := any(m).(type) {
	case *schema.Message:
		return chatView(m)
	case *schema.AgenticMessage:
		return agenticView(m, callID)
	}
	return nil
}

func chatView(m *schema.Message) *resultView {
	if len(m.UserInputMultiContent) == 0 {
		return &resultView{parts: textResult(m.Content).Parts, fromContent: true}
	}
	v := &resultView{inputs: m.UserInputMultiContent}
	for i := range v.inputs {
		v.parts = append(v.parts, outputPart(&v.inputs[i]))
	}
	return v
}

// outputPart is a part of a message in the form of handlers.
func outputPart(in *schema.MessageInputPart) schema.ToolOutputPart {
	out := schema.ToolOutputPart{Extra: in.Extra}
	switch {
	case in.Image != nil:
		out.Type, out.Image = schema.ToolPartTypeImage, &schema.ToolOutputImage{MessagePartCommon: in.Image.MessagePartCommon}
	case in.Audio != nil:
		out.Type, out.Audio = schema.ToolPartTypeAudio, &schema.ToolOutputAudio{MessagePartCommon: in.Audio.MessagePartCommon}
	case in.Video != nil:
		out.Type, out.Video = schema.ToolPartTypeVideo, &schema.ToolOutputVideo{MessagePartCommon: in.Video.MessagePartCommon}
	case in.File != nil:
		out.Type, out.File = schema.ToolPartTypeFile, &schema.ToolOutputFile{MessagePartCommon: in.File.MessagePartCommon}
	case in.ToolSearchResult != nil:
		out.Type, out.ToolSearchResult = schema.ToolPartTypeToolSearchResult, in.ToolSearchResult
	default:
		out.Type, out.Text = schema.ToolPartTypeText, in.Text
	}
	return out
}

func agenticView(m *schema.AgenticMessage, callID string) *resultView {
	i := resultBlock(m, callID)
	if i < 0 {
		return nil
	}
	v := &resultView{}
	for _, b := range m.ContentBlocks[i].FunctionToolResult.Content {
		if b != nil {
			v.blocks = append(v.blocks, b)
			v.parts = append(v.parts, blockPart(b))
		}
	}
	return v
}

func resultBlock(m *schema.AgenticMessage, callID string) int {
	return slices.IndexFunc(m.ContentBlocks, func(b *schema.ContentBlock) bool {
		return b != nil && b.FunctionToolResult != nil && b.FunctionToolResult.CallID == callID
	})
}

// blockPart is a part of an agentic result in the form of handlers.
func blockPart(b *schema.FunctionToolResultContentBlock) schema.ToolOutputPart {
	out := schema.ToolOutputPart{Extra: b.Extra}
	switch {
	case b.Image != nil:
		out.Type, out.Image = schema.ToolPartTypeImage, &schema.ToolOutputImage{MessagePartCommon: media(&b.Image.URL,
			&b.Image.Base64Data, b.Image.MIMEType)}
	case b.Audio != nil:
		out.Type, out.Audio = schema.ToolPartTypeAudio, &schema.ToolOutputAudio{MessagePartCommon: media(&b.Audio.URL,
			&b.Audio.Base64Data, b.Audio.MIMEType)}
	case b.Video != nil:
		out.Type, out.Video = schema.ToolPartTypeVideo, &schema.ToolOutputVideo{MessagePartCommon: media(&b.Video.URL,
			&b.Video.Base64Data, b.Video.MIMEType)}
	case b.File != nil:
		out.Type, out.File = schema.ToolPartTypeFile, &schema.ToolOutputFile{MessagePartCommon: media(&b.File.URL,
			&b.File.Base64Data, b.File.MIMEType)}
	default:
		out.Type = schema.ToolPartTypeText
		if b.Text != nil {
			out.Text = b.Text.Text
		}
	}
	return out
}

func media(url, base64 *string, mimeType string) schema.MessagePartCommon {
	c := schema.MessagePartCommon{MIMEType: mimeType}
	if *url != "" {
		c.URL = url
	}
	if *base64 != "" {
		c.Base64Data = base64
	}
	return c
}

// original finds where a part that a handler returned was in the message, -1 if it is new.
func (v *resultView) original(p *schema.ToolOutputPart) int {
	return slices.IndexFunc(v.parts, func(o schema.ToolOutputPart) bool {
		return o.Image != nil && o.Image == p.Image || o.Audio != nil && o.Audio == p.Audio ||
			o.Video != nil && o.Video == p.Video || o.File != nil && o.File == p.File ||
			o.ToolSearchResult != nil && o.ToolSearchResult == p.ToolSearchResult
	})
}

// replaceResult returns a copy of a message with another result of a call.
func replaceResult[M adk.MessageType](m M, callID string, v *resultView, result *schema.ToolResult) (M, error) {
	switch m := any(m).(type) {
	case *schema.Message:
		changed, err := replaceChat(*m, v, result)
		return any(&changed).(M), err
	case *schema.AgenticMessage:
		changed, err := replaceAgentic(*m, callID, v, result)
		return any(&changed).(M), err
	}
	return m, nil
}

func replaceChat(m schema.Message, v *resultView, result *schema.ToolResult) (schema.Message, error) {
	if v.fromContent {
		m.Content = firstText(result)
		return m, nil
	}
	parts, err := result.ToMessageInputParts()
	if err != nil {
		return m, err
	}
	for i := range parts {
		if at := v.original(&result.Parts[i]); at >= 0 {
			parts[i] = v.inputs[at]
		}
	}
	m.UserInputMultiContent = parts
	return m, nil
}

func replaceAgentic(
	m schema.AgenticMessage, callID string, v *resultView, result *schema.ToolResult,
) (schema.AgenticMessage, error) {
	parts, err := result.ToMessageInputParts()
	if err != nil {
		return m, err
	}
	var content []*schema.FunctionToolResultContentBlock
	for i := range parts {
		if at := v.original(&result.Parts[i]); at >= 0 {
			content = append(content, v.blocks[at])
			continue
		}
		content = append(content, contentOf(parts[i])...)
	}
	at := resultBlock(&m, callID)
	block, inner := *m.ContentBlocks[at], *m.ContentBlocks[at].FunctionToolResult
	inner.Content = content
	block.FunctionToolResult = &inner
	m.ContentBlocks = slices.Clone(m.ContentBlocks)
	m.ContentBlocks[at] = &block
	return m, nil
}

// contentOf is a part in agentic form.
func contentOf(part schema.MessageInputPart) []*schema.FunctionToolResultContentBlock {
	agentic := compose.AgenticToolMessage(&schema.Message{Role: schema.Tool,
		UserInputMultiContent: []schema.MessageInputPart{part}})
	for _, b := range agentic.ContentBlocks {
		if b != nil && b.FunctionToolResult != nil {
			return b.FunctionToolResult.Content
		}
	}
	return nil
}

// withArguments returns a copy of a message with other arguments of some of its calls, by ID.
func withArguments[M adk.MessageType](m M, arguments map[string]string) M {
	if len(arguments) == 0 {
		return m
	}
	switch m := any(m).(type) {
	case *schema.Message:
		changed := *m
		changed.ToolCalls = slices.Clone(m.ToolCalls)
		for i := range changed.ToolCalls {
			if text, ok := arguments[changed.ToolCalls[i].ID]; ok {
				changed.ToolCalls[i].Function.Arguments = text
			}
		}
		return any(&changed).(M)
	case *schema.AgenticMessage:
		changed := *m
		changed.ContentBlocks = slices.Clone(m.ContentBlocks)
		for i, b := range changed.ContentBlocks {
			if b == nil || b.FunctionToolCall == nil {
				continue
			}
			if text, ok := arguments[b.FunctionToolCall.CallID]; ok {
				block, call := *b, *b.FunctionToolCall
				call.Arguments = text
				block.FunctionToolCall = &call
				changed.ContentBlocks[i] = &block
			}
		}
		return any(&changed).(M)
	}
	return m
}
