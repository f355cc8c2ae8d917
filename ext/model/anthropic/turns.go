package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
)

// emptyTurn stands for an answer without anything that can be sent, as turns alternate.
const emptyTurn = "(no content)"

// A turn is a message as it is sent: neighbours of one role are one.
type turn struct {
	role string
	// results come first in a turn of the user, in the order of their calls.
	results, rest []*piece
}

func (t *turn) all() []*piece { return append(t.results[:len(t.results):len(t.results)], t.rest...) }

func (t *turn) beginsWithThinking() bool { return len(t.rest) > 0 && t.rest[0].isThinking() }

// turn returns the turn to add to: the last one, if it has the role.
func (b *builder) turn(role string) *turn {
	if n := len(b.turns); n > 0 && b.turns[n-1].role == role {
		return b.turns[n-1]
	}
	t := &turn{role: role}
	if role == roleUser {
		t.rest, b.carried = b.carried, nil
	}
	b.turns = append(b.turns, t)
	return t
}

// addMessages adds a conversation.
func (b *builder) addMessages(in []*schema.AgenticMessage) error {
	leading := true
	for i, m := range in {
		leading = leading && m.Role == schema.AgenticRoleTypeSystem
		var err error
		switch {
		case leading:
			err = b.addLeadingSystem(m)
		case m.Role == schema.AgenticRoleTypeSystem:
			err = b.addLaterSystem(m)
		case m.Role == schema.AgenticRoleTypeUser:
			err = b.addUser(m)
		default:
			err = b.addAnswer(m)
		}
		if err != nil {
			return fault(i, err)
		}
	}
	b.finishTurns()
	if len(b.turns) == 0 {
		return &kit.HistoryError{Index: len(in) - 1, Reason: "the conversation has nothing to answer: add a message " +
			"of the user with text"}
	}
	if b.turns[0].role == roleAssistant {
		return &kit.HistoryError{Index: len(b.system), Reason: "the conversation begins with an answer: the API wants a " +
			"message of the user before it"}
	}
	return nil
}

// finishTurns sees to turns without content, and to how the last one ends.
func (b *builder) finishTurns() {
	if len(b.carried) > 0 {
		b.turn(roleUser)
	}
	last := len(b.turns) - 1
	for i, t := range b.turns {
		if t.role != roleAssistant {
			continue
		}
		for len(t.rest) > 0 && t.rest[len(t.rest)-1].isThinking() { // the API refuses it at the end of an answer
			t.rest = t.rest[:len(t.rest)-1]
		}
		if i == last {
			trimEnd(t)
		}
		if len(t.rest) == 0 && i > 0 && i < last {
			t.rest = []*piece{textPiece(emptyTurn)}
		}
	}
	b.turns = slices.DeleteFunc(b.turns, func(t *turn) bool { return len(t.results)+len(t.rest) == 0 })
}

// trimEnd takes white space off the end of an answer that the model is to continue.
func trimEnd(t *turn) {
	for len(t.rest) > 0 {
		p := t.rest[len(t.rest)-1]
		text, ok := p.fields.Get("text").(string)
		if !ok || p.kind() != "text" {
			return
		}
		if text = strings.TrimRight(text, " \t\r\n"); text != "" {
			p.fields.Set("text", text)
			return
		}
		t.rest = t.rest[:len(t.rest)-1]
	}
}

// addLeadingSystem adds a message to the system prompt, which is a list of texts.
func (b *builder) addLeadingSystem(m *schema.AgenticMessage) error {
	pieces, err := systemPieces(m)
	b.system = append(b.system, pieces...)
	return err
}

// addLaterSystem adds a system message that stands behind others.
func (b *builder) addLaterSystem(m *schema.AgenticMessage) error {
	pieces, err := systemPieces(m)
	if err != nil || len(pieces) == 0 {
		return err
	}
	role := roleSystem
	if b.o.SystemInline == SystemInlineUser {
		role = roleUser
	}
	t := b.turn(role)
	t.rest = append(t.rest, pieces...)
	return nil
}

func systemPieces(m *schema.AgenticMessage) ([]*piece, error) {
	var pieces []*piece
	for _, block := range m.ContentBlocks {
		switch {
		case block == nil:
		case block.UserInputText == nil:
			return nil, fmt.Errorf("a system message has a block of type %q: the API takes text only", block.Type)
		case !isBlank(block.UserInputText.Text):
			pieces = append(pieces, withExtra(textPiece(block.UserInputText.Text), block.Extra))
		}
	}
	markLast(pieces, m.Extra)
	return pieces, nil
}

// markLast puts the mark of a message on its last piece.
func markLast(pieces []*piece, extra map[string]any) {
	if ttl := ttlOf(extra); ttl != "" && len(pieces) > 0 {
		pieces[len(pieces)-1].cache = ttl
	}
}

// addUser adds a message of the user, which is where results of tools are, too.
func (b *builder) addUser(m *schema.AgenticMessage) error {
	var results, rest []*piece
	for _, block := range m.ContentBlocks {
		if block == nil {
			continue
		}
		p, err := b.inputPiece(block)
		switch {
		case err != nil:
			return err
		case p == nil:
		case p.kind() == "tool_result":
			results = append(results, p)
		default:
			rest = append(rest, p)
		}
	}
	if len(results)+len(rest) == 0 {
		return nil
	}
	if len(rest) > 0 {
		markLast(rest, m.Extra)
	} else {
		markLast(results, m.Extra)
	}
	t := b.turn(roleUser)
	t.results = append(t.results, results...)
	slices.SortStableFunc(t.results, func(x, y *piece) int { return b.place(x) - b.place(y) })
	t.rest = append(t.rest, rest...)
	return nil
}

// place returns the place of the call that a result is of.
func (b *builder) place(result *piece) int {
	id, _ := result.fields.Get("tool_use_id").(string)
	return slices.Index(b.calls, id)
}

// addAnswer adds a message of the model.
func (b *builder) addAnswer(m *schema.AgenticMessage) error {
	t := b.turn(roleAssistant)
	if len(t.rest) == 0 {
		b.calls, b.container = nil, ""
	}
	start := len(t.rest)
	for _, block := range m.ContentBlocks {
		if block == nil {
			continue
		}
		p, err := b.outputPiece(block, m)
		if err != nil {
			return err
		}
		if p != nil {
			t.rest = append(t.rest, p)
		}
	}
	markLast(t.rest[start:], m.Extra)
	return nil
}
