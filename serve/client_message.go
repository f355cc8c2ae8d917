package serve

import (
	"reflect"
	"strings"

	"github.com/weftgo/weft/schema"
)

// takeMessages builds the messages of a run from the messages of a client: of its fields those that clients may send, by
// the role of the message and the kind of each part. A message with any other field is refused, so that nothing of a
// client reaches what model adapters pass on as it is. It refuses messages that are too many, too long, or of a role for
// which a client cannot speak. trust: the client may say what models and tools have said.
func (s *Server) takeMessages(messages []*schema.Message, trust bool) ([]*schema.Message, error) {
	switch {
	case len(messages) == 0:
		return nil, NewProblem(BadRequest, "there is no message")
	case len(messages) > s.settings.limits.Messages:
		return nil, tooManyMessages(s)
	}
	taken := make([]*schema.Message, len(messages))
	for i, m := range messages {
		if m == nil {
			return nil, NewProblem(BadRequest, "message %d is null", i)
		}
		if m.Role != schema.User && !trust {
			return nil, NewProblem(BadRequest, "message %d is of role %.32q: a client sends messages of role user only", i, m.Role)
		}
		var err error
		if taken[i], err = s.takeMessage(i, m); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

func tooManyMessages(s *Server) error {
	return NewProblem(TooLarge, "there are more than %d messages", s.settings.limits.Messages)
}

// takeMessage builds a message from one of a client, the n-th.
func (s *Server) takeMessage(n int, m *schema.Message) (*schema.Message, error) {
	t := taker{n: n, limits: &s.settings.limits}
	taken := &schema.Message{Role: m.Role, Content: t.text(m.Content), Name: t.text(m.Name)}
	// What a provider reports about an answer is nothing that a model reads: a client that sends back what it was shown
	// has it, and it is left out.
	sent := *m
	switch m.Role {
	case schema.User:
		taken.UserInputMultiContent = mapped(m.UserInputMultiContent, t.inputPart)
	case schema.Assistant:
		sent.ResponseMeta = nil
		taken.ReasoningContent = t.text(m.ReasoningContent)
		taken.AssistantGenMultiContent = mapped(m.AssistantGenMultiContent, t.outputPart)
		taken.ToolCalls = mapped(m.ToolCalls, t.call)
	case schema.Tool:
		taken.ToolCallID, taken.ToolName = t.text(m.ToolCallID), t.text(m.ToolName)
		taken.UserInputMultiContent = mapped(m.UserInputMultiContent, t.inputPart)
	case schema.System:
	default:
		return nil, NewProblem(BadRequest, "message %d is of role %.32q: there are user, assistant, tool and system", n, m.Role)
	}
	return taken, t.check(&sent, taken)
}

// taker builds a message from one of a client, and counts how long it is.
type taker struct {
	n      int // which message it is
	limits *Limits
	// size counts the bytes of text, media the bytes of media in base64.
	size, media int
	// plain: a medium is given by a URL that models are not to fetch.
	plain bool
}

// check refuses a message that is too long, or that has a field that was not taken.
func (t *taker) check(sent, taken any) error {
	switch {
	case t.plain:
		return NewProblem(BadRequest, "media are given by https URLs, or in base64")
	case t.media > t.limits.MediaBytes:
		return NewProblem(TooLarge, "message %d has media of more than %d bytes", t.n, t.limits.MediaBytes)
	case t.size > t.limits.MessageBytes:
		return NewProblem(TooLarge, "message %d is longer than %d bytes", t.n, t.limits.MessageBytes)
	case !reflect.DeepEqual(sent, taken):
		return NewProblem(BadRequest, "message %d has fields that clients do not send, or parts that do not have the field "+
			"of their type", t.n)
	}
	return nil
}

// mapped is a list, nil if there was none.
func mapped[T any](all []T, one func(*T) T) []T {
	if all == nil {
		return nil
	}
	taken := make([]T, len(all))
	for i := range all {
		taken[i] = one(&all[i])
	}
	return taken
}

func (t *taker) text(text string) string {
	t.size += len(text)
	return text
}

// common takes what all media have.
func (t *taker) common(m *schema.MessagePartCommon) (taken schema.MessagePartCommon) {
	taken.MIMEType = t.text(m.MIMEType)
	if m.URL != nil {
		url := t.url(*m.URL)
		taken.URL = &url
	}
	if m.Base64Data != nil {
		data := t.data(*m.Base64Data)
		taken.Base64Data = &data
	}
	return taken
}

// url takes a URL. The server fetches none, but a provider may.
func (t *taker) url(url string) string {
	t.plain = t.plain || url != "" && !strings.HasPrefix(url, "https://")
	return t.text(url)
}

func (t *taker) data(base64 string) string {
	t.media += len(base64) / 4 * 3
	return base64
}

// inputPart takes a part of what a user, or a tool, shows a model.
func (t *taker) inputPart(p *schema.MessageInputPart) schema.MessageInputPart {
	taken := schema.MessageInputPart{Type: p.Type}
	switch {
	case p.Type == schema.ChatMessagePartTypeText:
		taken.Text = t.text(p.Text)
	case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil:
		taken.Image = &schema.MessageInputImage{MessagePartCommon: t.common(&p.Image.MessagePartCommon),
			Detail: schema.ImageURLDetail(t.text(string(p.Image.Detail)))}
	case p.Type == schema.ChatMessagePartTypeAudioURL && p.Audio != nil:
		taken.Audio = &schema.MessageInputAudio{MessagePartCommon: t.common(&p.Audio.MessagePartCommon)}
	case p.Type == schema.ChatMessagePartTypeVideoURL && p.Video != nil:
		taken.Video = &schema.MessageInputVideo{MessagePartCommon: t.common(&p.Video.MessagePartCommon)}
	case p.Type == schema.ChatMessagePartTypeFileURL && p.File != nil:
		taken.File = &schema.MessageInputFile{MessagePartCommon: t.common(&p.File.MessagePartCommon), Name: t.text(p.File.Name)}
	default: // no kind that clients send, or without what its type names
		taken.Type = ""
	}
	return taken
}

// outputPart takes a part of what a model said. Its thinking is taken as a text: what proves to a provider that it was the
// provider's is not a client's to say.
func (t *taker) outputPart(p *schema.MessageOutputPart) schema.MessageOutputPart {
	taken := schema.MessageOutputPart{Type: p.Type}
	switch {
	case p.Type == schema.ChatMessagePartTypeText:
		taken.Text = t.text(p.Text)
	case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil:
		taken.Image = &schema.MessageOutputImage{MessagePartCommon: t.common(&p.Image.MessagePartCommon)}
	case p.Type == schema.ChatMessagePartTypeAudioURL && p.Audio != nil:
		taken.Audio = &schema.MessageOutputAudio{MessagePartCommon: t.common(&p.Audio.MessagePartCommon)}
	case p.Type == schema.ChatMessagePartTypeVideoURL && p.Video != nil:
		taken.Video = &schema.MessageOutputVideo{MessagePartCommon: t.common(&p.Video.MessagePartCommon)}
	case p.Type == schema.ChatMessagePartTypeReasoning && p.Reasoning != nil:
		taken.Reasoning = &schema.MessageOutputReasoning{Text: t.text(p.Reasoning.Text)}
	default:
		taken.Type = ""
	}
	return taken
}

// call takes a call of a tool.
func (t *taker) call(c *schema.ToolCall) schema.ToolCall {
	taken := schema.ToolCall{ID: t.text(c.ID), Type: t.text(c.Type)}
	taken.Function = schema.FunctionCall{Name: t.text(c.Function.Name), Arguments: t.text(c.Function.Arguments)}
	if c.Index != nil {
		index := *c.Index
		taken.Index = &index
	}
	return taken
}

// takeAgentic is takeMessage of an agentic message.
func (s *Server) takeAgentic(n int, m *schema.AgenticMessage) (*schema.AgenticMessage, error) {
	t := taker{n: n, limits: &s.settings.limits}
	taken := &schema.AgenticMessage{Role: m.Role}
	sent := *m
	sent.ResponseMeta = nil
	switch m.Role {
	case schema.AgenticRoleTypeUser, schema.AgenticRoleTypeAssistant, schema.AgenticRoleTypeSystem:
	default:
		return nil, NewProblem(BadRequest, "message %d is of role %.32q: there are user, assistant and system", n, m.Role)
	}
	taken.ContentBlocks = mapped(m.ContentBlocks, func(b **schema.ContentBlock) *schema.ContentBlock { return t.block(*b) })
	return taken, t.check(&sent, taken)
}

// block takes a block of an agentic message: text, media, thinking as a text, calls of functions and what came of them.
func (t *taker) block(b *schema.ContentBlock) *schema.ContentBlock {
	switch {
	case b == nil:
		return nil
	case b.UserInputText != nil:
		return schema.NewContentBlock(t.userText(b.UserInputText))
	case b.UserInputImage != nil:
		return schema.NewContentBlock(t.userImage(b.UserInputImage))
	case b.UserInputAudio != nil:
		return schema.NewContentBlock(t.userAudio(b.UserInputAudio))
	case b.UserInputVideo != nil:
		return schema.NewContentBlock(t.userVideo(b.UserInputVideo))
	case b.UserInputFile != nil:
		return schema.NewContentBlock(t.userFile(b.UserInputFile))
	case b.AssistantGenText != nil:
		return schema.NewContentBlock(&schema.AssistantGenText{Text: t.text(b.AssistantGenText.Text)})
	case b.Reasoning != nil:
		return schema.NewContentBlock(&schema.Reasoning{Text: t.text(b.Reasoning.Text)})
	case b.FunctionToolCall != nil:
		c := b.FunctionToolCall
		return schema.NewContentBlock(&schema.FunctionToolCall{CallID: t.text(c.CallID), Name: t.text(c.Name),
			Arguments: t.text(c.Arguments)})
	case b.FunctionToolResult != nil:
		r := b.FunctionToolResult
		return schema.NewContentBlock(&schema.FunctionToolResult{CallID: t.text(r.CallID), Name: t.text(r.Name),
			Content: mapped(r.Content, t.resultBlock)})
	}
	return &schema.ContentBlock{}
}

// resultBlock takes a block of what came of a call.
func (t *taker) resultBlock(p **schema.FunctionToolResultContentBlock) *schema.FunctionToolResultContentBlock {
	b := *p
	if b == nil {
		return nil
	}
	taken := &schema.FunctionToolResultContentBlock{Type: b.Type}
	switch {
	case b.Type == schema.FunctionToolResultContentBlockTypeText && b.Text != nil:
		taken.Text = t.userText(b.Text)
	case b.Type == schema.FunctionToolResultContentBlockTypeImage && b.Image != nil:
		taken.Image = t.userImage(b.Image)
	case b.Type == schema.FunctionToolResultContentBlockTypeAudio && b.Audio != nil:
		taken.Audio = t.userAudio(b.Audio)
	case b.Type == schema.FunctionToolResultContentBlockTypeVideo && b.Video != nil:
		taken.Video = t.userVideo(b.Video)
	case b.Type == schema.FunctionToolResultContentBlockTypeFile && b.File != nil:
		taken.File = t.userFile(b.File)
	default:
		taken.Type = ""
	}
	return taken
}

func (t *taker) userText(u *schema.UserInputText) *schema.UserInputText {
	return &schema.UserInputText{Text: t.text(u.Text)}
}

func (t *taker) userImage(u *schema.UserInputImage) *schema.UserInputImage {
	return &schema.UserInputImage{URL: t.url(u.URL), Base64Data: t.data(u.Base64Data), MIMEType: t.text(u.MIMEType),
		Detail: schema.ImageURLDetail(t.text(string(u.Detail)))}
}

func (t *taker) userAudio(u *schema.UserInputAudio) *schema.UserInputAudio {
	return &schema.UserInputAudio{URL: t.url(u.URL), Base64Data: t.data(u.Base64Data), MIMEType: t.text(u.MIMEType)}
}

func (t *taker) userVideo(u *schema.UserInputVideo) *schema.UserInputVideo {
	return &schema.UserInputVideo{URL: t.url(u.URL), Base64Data: t.data(u.Base64Data), MIMEType: t.text(u.MIMEType)}
}

func (t *taker) userFile(u *schema.UserInputFile) *schema.UserInputFile {
	return &schema.UserInputFile{URL: t.url(u.URL), Base64Data: t.data(u.Base64Data), MIMEType: t.text(u.MIMEType),
		Name: t.text(u.Name)}
}
