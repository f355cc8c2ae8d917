package ollama

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// callIDKey is a key of ToolCall.Extra: the ID that the server has given the call. Calls that had none have an ID that
// was made up, which is not sent.
const callIDKey = "ollama_call_id"

// opaque are the keys of Extra that only the server understands that set them.
var opaque = []string{callIDKey}

// messages returns the conversation as it is sent.
func (c *call) messages(in []*schema.Message) ([]kit.Object, error) {
	if err := kit.CheckHistory(in); err != nil {
		return nil, err
	}
	filter := kit.Filter{Opaque: opaque, Thinking: c.conf.ForeignThinking, Kinship: func(o kit.Origin) kit.Kinship {
		if o == c.engine.origin {
			return kit.Own
		}
		return kit.Foreign
	}}
	w := conversation{ids: kit.NewCallIDs(kit.IDRule{}), out: make([]kit.Object, 0, len(in)+1)}
	for i, m := range filter.Messages(in) {
		if err := w.add(m); err != nil {
			return nil, fmt.Errorf("message %d (role %q): %w", i, m.Role, err)
		}
	}
	w.flush()
	return w.out, nil
}

// A conversation is the messages of a request that is being written.
type conversation struct {
	ids *kit.CallIDs
	out []kit.Object
	// turn is the calls of the latest answer. Their results are held back until all are there: the server pairs calls and
	// results by order and name.
	turn []turnCall
}

// A turnCall is a call with its result.
type turnCall struct {
	schema.ToolCall
	sent   string     // the ID as the server knows it, empty if it gave none
	result kit.Object // nil until it comes
	images []string   // of the result
}

func (w *conversation) add(m *schema.Message) error {
	text, images, err := content(m)
	if err != nil {
		return err
	}
	if m.Role == schema.Tool {
		w.addResult(m, text, images)
		return nil
	}
	w.flush()
	o := kit.ObjectOf("role", string(m.Role), "content", text)
	if len(images) > 0 {
		o.Set("images", images)
	}
	if m.Role == schema.Assistant {
		o.SetText("thinking", kit.Thinking(m))
		if calls := w.toolCalls(m.ToolCalls); len(calls) > 0 {
			o.Set("tool_calls", calls)
		}
	}
	w.out = append(w.out, o)
	return nil
}

func (w *conversation) toolCalls(calls []schema.ToolCall) (out []kit.Object) {
	for _, tc := range calls {
		t := turnCall{ToolCall: tc}
		o := make(kit.Object, 0, 2)
		if sent := w.ids.Call(tc.ID); kit.ExtraText(tc.Extra, callIDKey) == tc.ID {
			t.sent = sent
			o.Set("id", sent)
		}
		o.Set("function", kit.ObjectOf("name", tc.Function.Name, "arguments", kit.ArgumentsObject(tc.Function.Arguments)))
		w.turn = append(w.turn, t)
		out = append(out, o)
	}
	return out
}

// addResult keeps a result with the first of its calls that has none.
func (w *conversation) addResult(m *schema.Message, text string, images []string) {
	for i := range w.turn {
		t := &w.turn[i]
		if t.ID != m.ToolCallID || t.result != nil {
			continue
		}
		if text == "" && len(images) > 0 {
			text = "See the images in the next user message."
		}
		t.result = kit.ObjectOf("role", "tool", "content", text, "tool_name", t.Function.Name)
		t.result.SetText("tool_call_id", t.sent)
		t.images = images
		return
	}
}

// flush writes the results of a turn in the order of its calls, and behind them their images, as the templates of
// models do not look for images in results.
func (w *conversation) flush() {
	var images []kit.Object
	for i, t := range w.turn {
		if t.result != nil {
			w.out = append(w.out, t.result)
		}
		if len(t.images) > 0 {
			images = append(images, kit.ObjectOf("role", "user",
				"content", fmt.Sprintf("Images returned by tool call %d, of %s:", i+1, t.Function.Name), "images", t.images))
		}
	}
	w.out = append(w.out, images...)
	w.turn = nil
}

// content returns the text of a message and its images, which are all the media that the API knows.
func content(m *schema.Message) (text string, images []string, err error) {
	parts, separator := kit.InputParts(m), "\n"
	if m.Role == schema.Assistant {
		parts, separator = answerParts(m), ""
	}
	var texts []string
	for i, p := range parts {
		switch {
		case p.Type == schema.ChatMessagePartTypeText:
			texts = append(texts, p.Text)
		case p.Image != nil:
			data, err := image(p.Image.MessagePartCommon)
			if err != nil {
				return "", nil, fmt.Errorf("part %d (%s): %w", i, p.Type, err)
			}
			images = append(images, data)
		default:
			return "", nil, fmt.Errorf("part %d (%s): only texts and images are taken by Ollama", i, p.Type)
		}
	}
	return strings.Join(texts, separator), images, nil
}

// answerParts returns what an answer consists of as if a user said it. Content counts instead of texts among the
// parts, and instead of audio, whose transcript it is.
func answerParts(m *schema.Message) (parts []schema.MessageInputPart) {
	if m.Content != "" {
		parts = append(parts, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: m.Content})
	}
	for _, p := range m.AssistantGenMultiContent {
		in := schema.MessageInputPart{Type: p.Type, Text: p.Text}
		switch {
		case p.Type == schema.ChatMessagePartTypeReasoning:
			continue
		case m.Content != "" && (p.Type == schema.ChatMessagePartTypeText || p.Audio != nil):
			continue
		case p.Image != nil:
			in.Image = &schema.MessageInputImage{MessagePartCommon: p.Image.MessagePartCommon}
		}
		parts = append(parts, in)
	}
	return append(parts, kit.DeprecatedParts(m)...)
}

// image returns the content of an image in base64.
func image(c schema.MessagePartCommon) (string, error) {
	value := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	media, err := kit.NewMedia(value(c.URL), value(c.Base64Data), c.MIMEType)
	switch {
	case err != nil:
		return "", err
	case media.Base64 == "":
		return "", errors.New("images are sent by content: give Base64Data in place of a URL")
	}
	return media.Base64, nil
}
