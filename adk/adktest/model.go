package adktest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// Model is a model that follows a script: one [Answer] a call, in the order in which calls come. It is safe for
// concurrent use. A call that the script does not expect fails the test, and so does a script that was not used up.
type Model[M adk.MessageType] struct {
	report *reporter
	script []Answer
	// recalls: the messages of a call decide which reply is due.
	recalls bool

	mu        sync.Mutex
	calls     []ModelCall[M]
	toolCalls int // how many were numbered
}

var (
	_ model.BaseModel[*schema.Message]        = (*Model[*schema.Message])(nil)
	_ model.BaseModel[*schema.AgenticMessage] = (*Model[*schema.AgenticMessage])(nil)
)

// ModelCall is one call of a [Model].
type ModelCall[M adk.MessageType] struct {
	Messages []M
	// Lines are the messages as they were at the time of the call. See [Line].
	Lines []string
	// Options are the common options, never nil. Implementation has all options, for GetImplSpecificOptions.
	Options        *model.Options
	Implementation []model.Option
	Streaming      bool
}

// Tools are the names of the tools that were offered.
func (c *ModelCall[M]) Tools() []string {
	names := make([]string, 0, len(c.Options.Tools))
	for _, info := range c.Options.Tools {
		if info != nil {
			names = append(names, info.Name)
		}
	}
	return names
}

// NewModel makes a model of ordinary messages.
func NewModel(t TB, script ...Answer) *Model[*schema.Message] {
	t.Helper()
	return NewTypedModel[*schema.Message](t, script...)
}

// NewTypedModel is [NewModel] for any kind of message. It panics if the script has a reply that no model of that kind
// gives, or one after a repeated one.
func NewTypedModel[M adk.MessageType](t TB, script ...Answer) *Model[M] {
	t.Helper()
	m := newModel[M](t, script)
	// Cleanups run last in, first out: this one can still report.
	t.Cleanup(func() {
		t.Helper()
		m.usedUp()
	})
	return m
}

// NewRecallingModel is [NewTypedModel] of a model that finds from the messages how far it has come: to messages with n
// answers of a model it gives reply n+1. So it continues where another with the same script was interrupted, or died.
// Its tool calls are numbered by reply: call_1_1, call_1_2, call_2_1, … A script that is not used up is no failure.
func NewRecallingModel[M adk.MessageType](t TB, script ...Answer) *Model[M] {
	t.Helper()
	m := newModel[M](t, script)
	m.recalls = true
	return m
}

func newModel[M adk.MessageType](t TB, script []Answer) *Model[M] {
	t.Helper()
	for i, r := range script {
		for _, c := range r.chunks {
			if _, ok := c.raw.(M); c.raw != nil && !ok {
				panic(fmt.Sprintf("adktest: reply %d of the script of a model of %T is a %T", i+1, *new(M), c.raw))
			}
		}
		if r.repeated && i < len(script)-1 {
			panic(fmt.Sprintf("adktest: reply %d of the script is repeated, so reply %d is never given", i+1, i+2))
		}
	}
	return &Model[M]{report: newReporter(t), script: slices.Clone(script)}
}

func (m *Model[M]) usedUp() {
	m.report.t.Helper()
	used := len(m.Calls())
	if used < len(m.script) && !m.script[used].repeated {
		m.report.errorf("adktest: the model was called %s, and its script has %d replies", times(used), len(m.script))
	}
}

// Calls are the calls until now.
func (m *Model[M]) Calls() []ModelCall[M] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// Generate gives the next reply at once.
func (m *Model[M]) Generate(ctx context.Context, messages []M, opts ...model.Option) (none M, err error) {
	r, ids, err := m.next(messages, opts, false)
	if err != nil {
		return none, err
	}
	chunks, err := r.begin(ctx, input(messages))
	if err != nil {
		return none, err
	}
	if err := r.whole(ctx, len(chunks)); err != nil {
		return none, err
	}
	if chunks[0].raw == nil {
		return atOnce[M](chunks, ids), nil
	}
	messages = converted[M](chunks, ids)
	if len(messages) == 1 {
		return messages[0], nil
	}
	return join(messages)
}

// Stream gives the next reply in chunks.
func (m *Model[M]) Stream(ctx context.Context, messages []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	r, ids, err := m.next(messages, opts, true)
	if err != nil {
		return nil, err
	}
	chunks, err := r.begin(ctx, input(messages))
	if err != nil {
		return nil, err
	}
	return stream(ctx, r, converted[M](chunks, ids)), nil
}

// next records a call, checks it and finds the reply, with how its tool calls are numbered.
func (m *Model[M]) next(messages []M, opts []model.Option, streaming bool) (*Answer, numbering, error) {
	call := ModelCall[M]{
		Messages:       slices.Clone(messages),
		Lines:          Lines(messages),
		Options:        model.GetCommonOptions(nil, opts...),
		Implementation: opts,
		Streaming:      streaming,
	}
	m.mu.Lock()
	turn := len(m.calls)
	m.calls = append(m.calls, call)
	m.mu.Unlock()
	ids := m.numbered
	if m.recalls {
		turn = answersIn(messages)
		ids = numberedBy(turn)
	}

	last := len(m.script) - 1
	if turn > last && (last < 0 || !m.script[last].repeated) {
		err := fmt.Errorf("adktest: call %d of the model is one too many: its script has %d replies", turn+1, len(m.script))
		m.report.errorf("%v%s", err, listed("it was asked", call.Lines))
		return nil, nil, err
	}
	r := &m.script[min(turn, last)]
	m.check(turn, r, &call)
	return r, ids, nil
}

// answersIn counts the answers of models among messages.
func answersIn[M adk.MessageType](messages []M) (n int) {
	for _, m := range messages {
		if partsOf(m).role == "assistant" {
			n++
		}
	}
	return n
}

// check reports what a reply did not expect. The model replies all the same: the run should come to its end.
func (m *Model[M]) check(turn int, r *Answer, call *ModelCall[M]) {
	if r.seeingOf != nil {
		if got := r.seeingOf(call.Lines); !slices.Equal(got, r.seeing) {
			m.report.errorf("adktest: call %d of the model has other messages than expected%s", turn+1, drift(got, r.seeing))
		}
	}
	if got := call.Tools(); r.anyTools && !slices.Equal(got, r.offered) {
		m.report.errorf("adktest: call %d of the model offers other tools than expected%s", turn+1, drift(got, r.offered))
	}
}

// numbering gives IDs to calls that have none. It is for the chunks of one reply, in their order.
type numbering func(calls []ToolCall) []ToolCall

func numberedBy(turn int) numbering {
	n := 0
	return func(calls []ToolCall) []ToolCall {
		calls = slices.Clone(calls)
		for i := range calls {
			n++
			if calls[i].ID == "" {
				calls[i].ID = fmt.Sprintf("call_%d_%d", turn+1, n)
			}
		}
		return calls
	}
}

// numbered numbers all calls of the model.
func (m *Model[M]) numbered(calls []ToolCall) []ToolCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls = slices.Clone(calls)
	for i := range calls {
		m.toolCalls++
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d", m.toolCalls)
		}
	}
	return calls
}

// converted makes messages of chunks.
func converted[M adk.MessageType](chunks []chunk, ids numbering) []M {
	out := make([]M, len(chunks))
	block := 1
	for i, c := range chunks {
		if c.raw != nil {
			out[i] = c.raw.(M)
			continue
		}
		out[i] = finished(answer[M](c.text, ids(c.calls), true, block), c.finish)
		block += len(c.calls)
	}
	return out
}

// atOnce makes one message of chunks that are no messages.
func atOnce[M adk.MessageType](chunks []chunk, ids numbering) M {
	var text, finish string
	var calls []ToolCall
	for _, c := range chunks {
		text += c.text
		calls = append(calls, c.calls...)
		finish += c.finish
	}
	return finished(answer[M](text, ids(calls), false, 0), finish)
}

// finished notes in an answer why it ended, if a word for that is given.
func finished[M adk.MessageType](m M, word string) M {
	if word == "" {
		return m
	}
	switch m := any(m).(type) {
	case *schema.Message:
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: word}
	case *schema.AgenticMessage:
		m.Extra = map[string]any{model.FinishWordKey: word}
	}
	return m
}

// input returns the part of a model's call that a [Does] gets.
func input[M adk.MessageType](messages []M) string {
	if len(messages) == 0 {
		return ""
	}
	return partsOf(messages[len(messages)-1]).text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
