package kit

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// CutCallError is returned for an answer that ended inside the arguments of a tool call although its server says that the
// answer is complete: a part of it was lost, or the model did not write it. It wraps io.ErrUnexpectedEOF, as an answer
// that was cut off does, and the same request may succeed.
type CutCallError struct {
	// Provider is the adapter that asked.
	Provider string
	// Tool and CallID name the tool and the call.
	Tool, CallID string
	// Reason is the provider's word for why the answer ended.
	Reason string
}

// Error implements error.
func (e *CutCallError) Error() string {
	return fmt.Sprintf("%s: the answer ended (%s) inside the arguments of call %q of tool %q: send the request again: %v",
		cmp.Or(e.Provider, "model"), cmp.Or(e.Reason, "without a reason"), e.CallID, e.Tool, io.ErrUnexpectedEOF)
}

// Unwrap returns io.ErrUnexpectedEOF.
func (e *CutCallError) Unwrap() error { return io.ErrUnexpectedEOF }

// Retryable returns true. Package adk/dispatch asks it.
func (e *CutCallError) Retryable() bool { return true }

// ErrorType is the class of the error, for traces and logs: see adk.ErrorType.
func (e *CutCallError) ErrorType() string { return "call_cut_off" }

// A callWatch follows the tool calls of an answer, for what only its end decides:
//
//   - A call without arguments has the arguments {}. They are given when the answer has ended, and not in one that was
//     cut off, where nothing is no object: an agent that starts tools early would execute a call of which the arguments
//     were still to come.
//   - A call that is in the middle of its arguments when a good answer ends is a [CutCallError].
//
// Every model of this package has one for each answer, so adapters need not do either.
type callWatch struct {
	calls  []watchedCall
	reason string // the provider's word for the end, "" before that
}

type watchedCall struct {
	at       int // the index that its chunks have, -1 without one
	id, tool string
	whole    bool // it is marked
	args     argumentScan
}

// add takes a chunk of the answer, or all of it. Arguments that are null are taken out of it: they are none.
func (w *callWatch) add(m any) {
	switch m := m.(type) {
	case *schema.Message:
		if m.ResponseMeta != nil && m.ResponseMeta.FinishReason != "" {
			w.reason = m.ResponseMeta.FinishReason
		}
		for i := range m.ToolCalls {
			c := &m.ToolCalls[i]
			at := -1
			if c.Index != nil {
				at = *c.Index
			}
			w.call(at, c.ID, c.Function.Name, &c.Function.Arguments, c.Extra)
		}
	case *schema.AgenticMessage:
		if m.Extra != nil {
			w.reason = cmp.Or(model.FinishWord(m), w.reason)
		}
		for _, b := range m.ContentBlocks {
			if b == nil || b.FunctionToolCall == nil {
				continue
			}
			at := -1
			if b.StreamingMeta != nil {
				at = b.StreamingMeta.Index
			}
			w.call(at, b.FunctionToolCall.CallID, b.FunctionToolCall.Name, &b.FunctionToolCall.Arguments, b.Extra)
		}
	}
}

func (w *callWatch) call(at int, id, tool string, arguments *string, extra map[string]any) {
	c := w.at(at)
	c.id, c.tool = cmp.Or(c.id, id), cmp.Or(c.tool, tool)
	c.whole = c.whole || extra != nil && model.IsWholeCall(extra)
	if !c.args.begun && strings.TrimSpace(*arguments) == "null" {
		*arguments = ""
	}
	c.args.write(*arguments)
	if at < 0 && w.reason != "" && w.empty(len(w.calls)-1) { // no later chunk can name it
		*arguments = noArguments
		c.args.begun = true
	}
}

// at returns the call with an index. Every call without one is a call of its own.
func (w *callWatch) at(index int) *watchedCall {
	for i := len(w.calls) - 1; i >= 0 && index >= 0; i-- { // nearly always the last one
		if w.calls[i].at == index {
			return &w.calls[i]
		}
	}
	w.calls = append(w.calls, watchedCall{at: index})
	return &w.calls[len(w.calls)-1]
}

// end is called behind the last chunk. It returns the error of a call that ends in the middle.
func (w *callWatch) end(provider string) error {
	if model.FinishOf(w.reason).CutOff() {
		return nil
	}
	for i := range w.calls {
		if c := &w.calls[i]; c.args.open() {
			return &CutCallError{Provider: provider, Tool: c.tool, CallID: c.id, Reason: w.reason}
		}
	}
	return nil
}

// empty reports whether the i-th call has ended without arguments.
func (w *callWatch) empty(i int) bool {
	c := &w.calls[i]
	return !c.args.begun && (c.whole || !model.FinishOf(w.reason).CutOff())
}

const noArguments = "{}"

// fillChunk returns the chunk with the arguments of calls that have none, and false if there are no such calls.
func fillChunk[M Message](w *callWatch) (m M, any bool) {
	for i := range w.calls {
		if w.calls[i].at < 0 || !w.empty(i) {
			continue
		}
		if !any {
			m, any = newMessage[M](), true
		}
		addArguments(m, w.calls[i].at)
	}
	return m, any
}

func newMessage[M Message]() M {
	var m any = &schema.Message{Role: schema.Assistant}
	if _, agentic := any(*new(M)).(*schema.AgenticMessage); agentic {
		m = &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	}
	return m.(M)
}

// addArguments adds the arguments {} of the call with an index to a chunk.
func addArguments[M Message](m M, at int) {
	switch m := any(m).(type) {
	case *schema.Message:
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			Index: &at, Function: schema.FunctionCall{Arguments: noArguments},
		})
	case *schema.AgenticMessage:
		m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlockChunk(
			&schema.FunctionToolCall{Arguments: noArguments}, &schema.StreamingMeta{Index: at}))
	}
}

// endCalls is callWatch for an answer that is there as a whole.
func endCalls[M Message](m M, provider string) error {
	var w callWatch
	w.add(m)
	if err := w.end(provider); err != nil {
		return err
	}
	n := 0
	fill := func(arguments *string) {
		if w.empty(n) {
			*arguments = noArguments
		}
		n++
	}
	switch m := any(m).(type) {
	case *schema.Message:
		for i := range m.ToolCalls {
			fill(&m.ToolCalls[i].Function.Arguments)
		}
	case *schema.AgenticMessage:
		for _, b := range m.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				fill(&b.FunctionToolCall.Arguments)
			}
		}
	}
	return nil
}

// An argumentScan finds out whether arguments that come in pieces are in the middle of a JSON value. It keeps no text.
type argumentScan struct {
	depth           int
	quoted, escaped bool // inside a string, and behind a backslash in one
	begun           bool // there was more than white space
}

func (s *argumentScan) write(piece string) {
	for i := range len(piece) {
		b := piece[i]
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = b == '\\', b != '"'
		case b == '"':
			s.quoted, s.begun = true, true
		case b == '{', b == '[':
			s.depth++
			s.begun = true
		case b == '}', b == ']':
			s.depth--
			s.begun = true
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			s.begun = true
		}
	}
}

// open reports whether a string, an object or a list has begun and not ended.
func (s *argumentScan) open() bool { return s.quoted || s.depth > 0 }
