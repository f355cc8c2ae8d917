package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// The roles of contents.
const (
	roleUser  = "user"
	roleModel = "model"
)

// A content is one turn of the conversation.
type content struct {
	role  string
	parts []any
}

// contents are a conversation as it is sent. They are made in the order of its messages.
type contents struct {
	c      *call
	system []any
	turns  []content

	ids   *kit.CallIDs
	calls map[string]*sentCall // by what ids gives
	// results wait for the other results of their turn, to be sent in the order of the calls.
	results []result
	inline  int // bytes of base64 so far
}

// A sentCall is what a result must repeat of its call.
type sentCall struct {
	place    int
	id, name string // id is empty if the server gave none
}

// A result is the result of a call, with the media that the service does not take inside of it.
type result struct {
	place int
	part  kit.Object
	media []any
}

// contents returns the conversation as it is sent.
func (c *call) contents(in []*schema.AgenticMessage) (*contents, error) {
	if err := kit.CheckHistory(in); err != nil {
		return nil, err
	}
	filter := kit.Filter{
		Kinship: c.e.kinship, Thinking: c.o.ForeignThinking, Opaque: []string{signatureKey, partKey, madeUpKey},
	}
	all := &contents{c: c, ids: kit.NewCallIDs(kit.IDRule{}), calls: map[string]*sentCall{}}
	for i, m := range filter.Blocks(in) {
		if err := all.message(m); err != nil {
			return nil, &kit.HistoryError{Index: i, Reason: err.Error()}
		}
	}
	all.flush()
	last := len(in) - 1
	switch {
	case len(all.turns) == 0:
		return nil, &kit.HistoryError{Index: last, Reason: "the conversation has no content but for the system's: " +
			"add a message of the user"}
	case all.turns[0].role != roleUser:
		return nil, &kit.HistoryError{Index: 0, Reason: "the conversation begins with the model: " +
			"Gemini wants a message of the user first"}
	}
	return all, all.checkInline(last)
}

func (a *contents) checkInline(last int) error {
	limit := cmp.Or(a.c.o.MaxInline, defaultMaxInline)
	if limit < 0 || a.inline <= limit {
		return nil
	}
	return &kit.HistoryError{Index: last, Reason: fmt.Sprintf(
		"the media of the conversation have %d bytes, and the limit is %d: send large files with Upload and refer to "+
			"their URIs, or raise MaxInline", a.inline, limit)}
}

func (a *contents) list() []kit.Object {
	list := make([]kit.Object, len(a.turns))
	for i, t := range a.turns {
		list[i] = kit.Object{{Key: "role", Value: t.role}, {Key: "parts", Value: t.parts}}
	}
	return list
}

// add appends parts to the turn of a role.
func (a *contents) add(role string, parts ...any) {
	if len(parts) == 0 {
		return
	}
	if n := len(a.turns); n > 0 && a.turns[n-1].role == role {
		a.turns[n-1].parts = append(a.turns[n-1].parts, parts...)
		return
	}
	a.turns = append(a.turns, content{role: role, parts: parts})
}

// flush sends the results in the order of their calls, without which the service cannot pair calls that have no ID, and
// then their media.
func (a *contents) flush() {
	slices.SortStableFunc(a.results, func(x, y result) int { return x.place - y.place })
	for _, r := range a.results {
		a.add(roleUser, r.part)
	}
	for _, r := range a.results {
		a.add(roleUser, r.media...)
	}
	a.results = nil
}

func (a *contents) message(m *schema.AgenticMessage) error {
	switch {
	case m.Role == schema.AgenticRoleTypeAssistant:
		a.flush()
		return a.answer(m)
	case m.Role == schema.AgenticRoleTypeSystem && len(a.turns)+len(a.results) == 0:
		for _, b := range m.ContentBlocks {
			if b == nil {
				continue
			}
			if b.UserInputText == nil {
				return fmt.Errorf("a system message has text only, not %s", b.Type)
			}
			if text := b.UserInputText.Text; text != "" {
				a.system = append(a.system, textPart(text))
			}
		}
		return nil
	}
	return a.input(m)
}

// input adds what is said to the model.
func (a *contents) input(m *schema.AgenticMessage) error {
	var rest []any
	for _, b := range m.ContentBlocks {
		switch {
		case b == nil:
		case b.FunctionToolResult != nil:
			r, err := a.result(b)
			if err != nil {
				return err
			}
			a.results = append(a.results, r)
		case b.UserInputText != nil:
			if b.UserInputText.Text != "" {
				rest = append(rest, textPart(b.UserInputText.Text))
			}
		default:
			part, err := a.mediaPart(b)
			if err != nil {
				return fmt.Errorf("%s: %w", b.Type, err)
			}
			rest = append(rest, part)
		}
	}
	if len(rest) > 0 {
		a.flush()
	}
	a.add(roleUser, rest...)
	return nil
}

// answer adds what the model said.
func (a *contents) answer(m *schema.AgenticMessage) error {
	own := a.c.e.kinship(kit.OriginOf(m.Extra)) == kit.Own
	var parts []any
	var calls []int // places in parts
	signed := false
	for _, b := range m.ContentBlocks {
		part, err := a.answerPart(b, own)
		if err != nil {
			return fmt.Errorf("%s: %w", b.Type, err)
		}
		if part == nil {
			continue
		}
		if b.FunctionToolCall != nil {
			calls = append(calls, len(parts))
			signed = signed || kit.ExtraText(b.Extra, signatureKey) != ""
		}
		parts = append(parts, part)
	}
	if v := versionOf(a.c.model); v.major >= 3 && len(calls) > 0 && !signed {
		first := parts[calls[0]].(kit.Object)
		first.Set(signatureField, bypassSignature)
		parts[calls[0]] = first
	}
	a.add(roleModel, parts...)
	return nil
}

// bypassSignature is the signature that Google documents for calls of other models, which Gemini 3 otherwise refuses.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const bypassSignature = "skip_thought_signature_validator"

// answerPart returns the part that a block came in, nil if it is not sent back.
func (a *contents) answerPart(b *schema.ContentBlock, own bool) (any, error) {
	if b == nil {
		return nil, nil
	}
	if raw := kit.ExtraText(b.Extra, partKey); raw != "" {
		if !json.Valid([]byte(raw)) {
			return nil, fmt.Errorf("the value of Extra[%q] is no JSON: leave it as the model gave it", partKey)
		}
		return json.RawMessage(raw), nil
	}
	signature := kit.ExtraText(b.Extra, signatureKey)
	var part kit.Object
	switch {
	case b.AssistantGenText != nil:
		if b.AssistantGenText.Text == "" && signature == "" {
			return nil, nil
		}
		part = textPart(b.AssistantGenText.Text)
	case b.Reasoning != nil:
		if signature = b.Reasoning.Signature; signature == "" {
			return nil, nil // the service does not want it
		}
		part = textPart(b.Reasoning.Text)
		part.Set("thought", true)
	case b.FunctionToolCall != nil:
		part = a.call(b, own)
	case b.UserInputText != nil:
		part = textPart(b.UserInputText.Text)
	case b.ServerToolCall != nil, b.ServerToolResult != nil:
		return nil, nil // made by hand: the service knows only its own
	default:
		media, err := a.mediaPart(b)
		if err != nil {
			return nil, err
		}
		part = media
	}
	part.SetText(signatureField, signature)
	return part, nil
}

// call returns a call of a function. Its ID is sent back only to the server that gave it.
func (a *contents) call(b *schema.ContentBlock, own bool) kit.Object {
	call := b.FunctionToolCall
	key := a.ids.Call(call.CallID)
	sent := &sentCall{place: len(a.calls), name: call.Name}
	if own && kit.ExtraText(b.Extra, madeUpKey) == "" {
		sent.id = key
	}
	a.calls[key] = sent
	var f kit.Object
	f.SetText("id", sent.id)
	f.Set("name", call.Name)
	f.Set("args", kit.ArgumentsObject(call.Arguments))
	return kit.Object{{Key: "functionCall", Value: f}}
}

func textPart(text string) kit.Object { return kit.Object{{Key: "text", Value: text}} }
