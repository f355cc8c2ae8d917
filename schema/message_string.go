package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// String renders the message for people: role, content, parts, tool calls and metadata, but no media data.
func (m *Message) String() string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(string(m.Role))
	b.WriteString(": ")
	b.WriteString(m.Content)
	writeParts(&b, "user_input_multi_content", m.UserInputMultiContent)
	writeParts(&b, "assistant_gen_multi_content", m.AssistantGenMultiContent)
	writeParts(&b, "multi_content", m.MultiContent)
	if m.ReasoningContent != "" {
		b.WriteString("\nreasoning content:\n")
		b.WriteString(m.ReasoningContent)
	}
	writeToolCalls(&b, m.ToolCalls)
	if m.ToolCallID != "" {
		b.WriteString("\ntool_call_id: ")
		b.WriteString(m.ToolCallID)
	}
	if m.ToolName != "" {
		b.WriteString("\ntool_call_name: ")
		b.WriteString(m.ToolName)
	}
	if m.ResponseMeta != nil {
		b.WriteString("\nfinish_reason: ")
		b.WriteString(m.ResponseMeta.FinishReason)
		if m.ResponseMeta.Usage != nil {
			b.WriteString("\nusage: ")
			writeUsage(&b, m.ResponseMeta.Usage)
		}
	}
	return b.String()
}

// writeUsage writes the counts in the form that the text has always had: the tokens written to a cache only if there
// are some.
func writeUsage(b *strings.Builder, u *TokenUsage) {
	details := fmt.Sprint(u.PromptTokenDetails.CachedTokens)
	if written := u.PromptTokenDetails.CacheWriteTokens; written > 0 {
		details += fmt.Sprintf(" %d", written)
	}
	fmt.Fprintf(b, "&{%d {%s} %d %d {%d}}", u.PromptTokens, details, u.CompletionTokens, u.TotalTokens,
		u.CompletionTokensDetails.ReasoningTokens)
}

func writeToolCalls(b *strings.Builder, calls []ToolCall) {
	if len(calls) == 0 {
		return
	}
	b.WriteString("\ntool_calls:\n")
	for _, call := range calls {
		if call.Index != nil {
			b.WriteString("index[")
			b.WriteString(strconv.Itoa(*call.Index))
			b.WriteString("]:")
		}
		fmt.Fprintf(b, "%+v\n", call)
	}
}

// writeParts lists parts, one a line.
func writeParts[P interface{ describe(*strings.Builder) }](b *strings.Builder, title string, parts []P) {
	if len(parts) == 0 {
		return
	}
	b.WriteByte('\n')
	b.WriteString(title)
	b.WriteByte(':')
	for i, p := range parts {
		b.WriteString("\n  [")
		b.WriteString(strconv.Itoa(i))
		b.WriteString("] ")
		p.describe(b)
	}
}

func (p MessageInputPart) describe(b *strings.Builder) {
	switch p.Type {
	case ChatMessagePartTypeText:
		b.WriteString("text: ")
		b.WriteString(p.Text)
	case ChatMessagePartTypeImageURL:
		describeMedia(b, "image: ", p.Image)
	case ChatMessagePartTypeAudioURL:
		describeMedia(b, "audio: ", p.Audio)
	case ChatMessagePartTypeVideoURL:
		describeMedia(b, "video: ", p.Video)
	case ChatMessagePartTypeFileURL:
		describeMedia(b, "file: ", p.File)
	default:
		describeUnknown(b, p.Type)
	}
}

func (p MessageOutputPart) describe(b *strings.Builder) {
	switch p.Type {
	case ChatMessagePartTypeText:
		b.WriteString("text: ")
		b.WriteString(p.Text)
	case ChatMessagePartTypeImageURL:
		describeMedia(b, "image: ", p.Image)
	case ChatMessagePartTypeAudioURL:
		describeMedia(b, "audio: ", p.Audio)
	case ChatMessagePartTypeVideoURL:
		describeMedia(b, "video: ", p.Video)
	default:
		describeUnknown(b, p.Type)
	}
}

func (p ChatMessagePart) describe(b *strings.Builder) {
	switch p.Type {
	case ChatMessagePartTypeText:
		b.WriteString("text: ")
		b.WriteString(p.Text)
	case ChatMessagePartTypeImageURL:
		describeURL(b, "image_url: ", p.ImageURL, func() string { return p.ImageURL.URL })
	case ChatMessagePartTypeAudioURL:
		describeURL(b, "audio_url: ", p.AudioURL, func() string { return p.AudioURL.URL })
	case ChatMessagePartTypeVideoURL:
		describeURL(b, "video_url: ", p.VideoURL, func() string { return p.VideoURL.URL })
	case ChatMessagePartTypeFileURL:
		describeURL(b, "file_url: ", p.FileURL, func() string { return p.FileURL.URL })
	default:
		describeUnknown(b, p.Type)
	}
}

func describeUnknown(b *strings.Builder, t ChatMessagePartType) {
	b.WriteString("unknown type: ")
	b.WriteString(string(t))
}

func describeURL[T any](b *strings.Builder, title string, media *T, url func() string) {
	b.WriteString(title)
	if media == nil {
		b.WriteString("<nil>")
		return
	}
	b.WriteString(url())
}

// describeMedia writes the attributes of a media struct that are set.
func describeMedia[T any, M interface {
	*T
	attributes(*attributes)
}](b *strings.Builder, title string, media M) {
	b.WriteString(title)
	if media == nil {
		b.WriteString("<nil>")
		return
	}
	list := attributes{b: b}
	media.attributes(&list)
	if list.n == 0 {
		b.WriteString("<empty>")
	}
}

// attributes writes a list separated by commas.
type attributes struct {
	b *strings.Builder
	n int
}

func (a *attributes) add(name, value string) {
	if a.n > 0 {
		a.b.WriteString(", ")
	}
	a.n++
	a.b.WriteString(name)
	a.b.WriteString(value)
}

func (a *attributes) addExtra(extra map[string]any) {
	if len(extra) > 0 {
		a.add("extra=", fmt.Sprint(extra))
	}
}

// addSource adds where the data is and what it is, but never the data.
func (a *attributes) addSource(c *MessagePartCommon) {
	if c.URL != nil {
		a.add("url=", *c.URL)
	}
	if c.Base64Data != nil {
		a.add("base64[", strconv.Itoa(len(*c.Base64Data))+" bytes]")
	}
	if c.MIMEType != "" {
		a.add("mime=", c.MIMEType)
	}
}

func (c *MessagePartCommon) attributes(a *attributes) {
	a.addSource(c)
	a.addExtra(c.Extra)
}

func (m *MessageInputImage) attributes(a *attributes) {
	a.addSource(&m.MessagePartCommon)
	if m.Detail != "" {
		a.add("detail=", string(m.Detail))
	}
	a.addExtra(m.Extra)
}

func (m *MessageInputFile) attributes(a *attributes) {
	a.addSource(&m.MessagePartCommon)
	if m.Name != "" {
		a.add("name=", m.Name)
	}
	a.addExtra(m.Extra)
}
