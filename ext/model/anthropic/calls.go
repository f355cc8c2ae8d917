package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// isCutOff reports whether the answer ended before the model was done with it.
func (e *ending) isCutOff() bool { return model.FinishOf(e.StopReason).CutOff() }

// isCall reports whether the block is a call of the application, or the answer in the form of one.
func (b *answerBlock) isCall() bool { return b.Type == "tool_use" }

// endedWithout returns the arguments of the latest call if that has ended without any. It is asked when another block
// begins: an answer that is cut off in a call ends in the same way.
func (r *reader) endedWithout() *schema.AgenticMessage {
	if len(r.calls) == 0 {
		return nil
	}
	b := r.calls[len(r.calls)-1]
	if !b.stopped || b.said || b.isAnswer {
		return nil
	}
	b.said = true
	return r.chunk(schema.NewContentBlock(&schema.FunctionToolCall{Arguments: noInput}), b.at)
}

// endCalls says of the calls what only the end of the answer decides. In one that was cut off those are marked that
// another block followed: the model was done with them. In any other a call that got no arguments has none.
func (r *reader) endCalls(out *schema.AgenticMessage) {
	cutOff := r.end.isCutOff()
	for _, b := range r.calls {
		whole := !cutOff || b.nth < r.count && json.Valid([]byte(b.arguments()))
		if whole && !b.said {
			r.sayNothing(out, b)
		}
		if whole && cutOff && !b.isAnswer {
			r.markCall(out, b)
		}
	}
}

// sayNothing gives a call the arguments {}.
func (r *reader) sayNothing(out *schema.AgenticMessage, b *answerBlock) {
	switch {
	case b.isAnswer:
		r.addBlock(out, schema.NewContentBlock(&schema.AssistantGenText{Text: noInput}), b.at)
	case b.whole != nil:
		b.whole.FunctionToolCall.Arguments = noInput
	default:
		r.addBlock(out, schema.NewContentBlock(&schema.FunctionToolCall{Arguments: noInput}), b.at)
	}
}

// markCall marks a call as complete: in its block, or in one more chunk of it.
func (r *reader) markCall(out *schema.AgenticMessage, b *answerBlock) {
	block := b.whole
	if block == nil {
		block = schema.NewContentBlock(&schema.FunctionToolCall{})
		r.addBlock(out, block, b.at)
	}
	model.MarkWholeCall(&block.Extra)
}

func (r *reader) addBlock(out *schema.AgenticMessage, block *schema.ContentBlock, at int) {
	out.ContentBlocks = append(out.ContentBlocks, r.chunk(block, at).ContentBlocks...)
}

// A stray is where pieces come that have no place in the block with their index.
type stray struct {
	index int
	kind  string
}

// stray shows a text or thinking that the server sent in a block of another kind, which is b, or in one that it did not
// begin: in a block of its own. Other pieces have no meaning without their block; arguments are an error then, as a call
// would be missing.
func (r *reader) stray(e *wireEvent, b *answerBlock) (*schema.AgenticMessage, error) {
	var kind, text string
	switch d := &e.Delta; d.Type {
	case "text_delta":
		kind, text = "text", d.Text
	case "thinking_delta":
		kind, text = "thinking", d.Thinking
	case "input_json_delta":
		if b == nil && strings.TrimSpace(d.PartialJSON) != "" {
			return nil, r.Response().NotUnderstood([]byte(d.PartialJSON), errors.New("the arguments of a call that did not begin"))
		}
	}
	if text == "" {
		return nil, nil
	}
	own := r.strays[stray{e.Index, kind}]
	if own == nil {
		own = &answerBlock{wireBlock: wireBlock{Type: kind}, keep: r.call.mayPause(), at: r.place(-1)}
		if own.keep {
			own.raw = json.RawMessage(`{"type":"` + kind + `"}`)
		}
		if r.strays == nil {
			r.strays = map[stray]*answerBlock{}
		}
		r.strays[stray{e.Index, kind}] = own
	}
	return r.chunk(own.add(&e.Delta, nil), own.at), nil
}
