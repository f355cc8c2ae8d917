package adktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
)

// Event is an event that was read to its end.
type Event[M adk.MessageType] struct {
	*adk.TypedAgentEvent[M]
	// Message is the message of the event; of a stream, what its chunks join to. Nil if the event has none.
	Message M
	// Chunks are the chunks of a stream.
	Chunks []M
	// Broken is the error that ended the stream.
	Broken error
}

// String returns the event as a line: the line of its message (see [Line]), or one of
//
//	error: …
//	interrupt: … (the info of each point that waits, with ", " between them)
//	transfer to …
//	exit
//	break loop
//	action: …
//	output: …
//
// An event of several of these has them one after the other, with "; " between them. A stream that broke off ends with
// "(broken: …)".
func (e Event[M]) String() string {
	var all []string
	if e.Output != nil && e.Output.MessageOutput != nil {
		line := Line(e.Message)
		if e.Broken != nil {
			line = strings.TrimPrefix(line+" (broken: "+e.Broken.Error()+")", "nil: ")
		}
		all = append(all, line)
	}
	if e.Output != nil && e.Output.CustomizedOutput != nil {
		all = append(all, fmt.Sprintf("output: %v", e.Output.CustomizedOutput))
	}
	all = append(all, actions(e.Action)...)
	if e.Err != nil {
		all = append(all, "error: "+e.Err.Error())
	}
	return strings.Join(all, "; ")
}

func actions(a *adk.AgentAction) (all []string) {
	if a == nil {
		return nil
	}
	if a.Interrupted != nil {
		all = append(all, "interrupt: "+asked(a.Interrupted))
	}
	if a.TransferToAgent != nil {
		all = append(all, "transfer to "+a.TransferToAgent.DestAgentName)
	}
	if a.Exit {
		all = append(all, "exit")
	}
	if a.BreakLoop != nil {
		all = append(all, "break loop")
	}
	if a.CustomizedAction != nil {
		all = append(all, fmt.Sprintf("action: %v", a.CustomizedAction))
	}
	return all
}

// asked returns what the points of an interrupt want to know. Data is the saved run, which cannot be compared.
func asked(stopped *adk.InterruptInfo) string {
	if len(stopped.InterruptContexts) == 0 {
		return fmt.Sprint(stopped.Data)
	}
	var all []string
	for _, point := range stopped.InterruptContexts {
		if point != nil {
			all = append(all, fmt.Sprint(point.Info))
		}
	}
	return strings.Join(all, ", ")
}

// Events are the events of one run. Next, Wait and Until read them as they come; all other methods read to the end of
// the run first. Events belong to one goroutine.
type Events[M adk.MessageType] struct {
	t    TB
	from *adk.AsyncIterator[*adk.TypedAgentEvent[M]]
	read []Event[M]
}

// Ask runs an agent through a runner on one user message, and reads all of its events.
func Ask[M adk.MessageType](
	ctx context.Context, t TB, agent adk.TypedAgent[M], query string, opts ...adk.AgentRunOption,
) *Events[M] {
	t.Helper()
	return Collect(t, adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent}).Query(ctx, query, opts...))
}

// AskStreaming is [Ask] with streaming.
func AskStreaming[M adk.MessageType](
	ctx context.Context, t TB, agent adk.TypedAgent[M], query string, opts ...adk.AgentRunOption,
) *Events[M] {
	t.Helper()
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: true})
	return Collect(t, runner.Query(ctx, query, opts...))
}

// Collect reads all events of a run.
func Collect[M adk.MessageType](t TB, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) *Events[M] {
	t.Helper()
	e := Watch(t, events)
	e.All()
	return e
}

// Watch reads the events of a run as they are asked for. What is not read is dropped at the end of the test.
func Watch[M adk.MessageType](t TB, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) *Events[M] {
	t.Cleanup(events.Close)
	return &Events[M]{t: t, from: events}
}

// Next waits for the next event and reads it, with its stream, to the end. It returns false at the end of the run.
func (e *Events[M]) Next() (Event[M], bool) {
	for {
		next, ok := e.from.Next()
		if !ok {
			return Event[M]{TypedAgentEvent: new(adk.TypedAgentEvent[M])}, false
		}
		if next != nil {
			e.read = append(e.read, e.whole(next))
			return e.read[len(e.read)-1], true
		}
	}
}

// whole reads the stream of an event.
func (e *Events[M]) whole(event *adk.TypedAgentEvent[M]) Event[M] {
	e.t.Helper()
	read := Event[M]{TypedAgentEvent: event}
	if event.Output == nil || event.Output.MessageOutput == nil {
		return read
	}
	v := event.Output.MessageOutput
	if !v.IsStreaming || v.MessageStream == nil {
		read.Message = v.Message
		return read
	}
	defer v.MessageStream.Close()
	for {
		chunk, err := v.MessageStream.Recv()
		if err != nil {
			if err != io.EOF {
				read.Broken = err
			}
			break
		}
		read.Chunks = append(read.Chunks, chunk)
	}
	if len(read.Chunks) == 0 {
		return read
	}
	var err error
	if read.Message, err = join(read.Chunks); err != nil {
		e.t.Errorf("adktest: the chunks of an event do not join: %v", err)
	}
	return read
}

// Wait waits for the n-th event of the run, counted from 1, and returns it. A run that ends before fails the test, and
// the event is empty.
func (e *Events[M]) Wait(n int) Event[M] {
	e.t.Helper()
	for len(e.read) < n {
		last, ok := e.Next()
		if !ok {
			e.t.Errorf("adktest: the run ended after %d events; want event %d%s", len(e.read), n,
				listed("the events", e.lines()))
			return last
		}
	}
	return e.read[n-1]
}

// Until waits for the first event whose line (see [Event.String]) has a text in it, and returns it. A run that ends
// before fails the test, and the event is empty.
func (e *Events[M]) Until(text string) Event[M] {
	e.t.Helper()
	for _, old := range e.read {
		if strings.Contains(old.String(), text) {
			return old
		}
	}
	for {
		next, ok := e.Next()
		if !ok {
			e.t.Errorf("adktest: the run ended without an event that has %q in it%s", text, listed("the events", e.lines()))
			return next
		}
		if strings.Contains(next.String(), text) {
			return next
		}
	}
}

// All are all events of the run.
func (e *Events[M]) All() []Event[M] {
	e.t.Helper()
	for {
		if _, ok := e.Next(); !ok {
			return slices.Clone(e.read)
		}
	}
}

// Lines are all events as lines. See [Event.String].
func (e *Events[M]) Lines() []string {
	e.t.Helper()
	e.All()
	return e.lines()
}

func (e *Events[M]) lines() []string {
	lines := make([]string, len(e.read))
	for i, r := range e.read {
		lines[i] = r.String()
	}
	return lines
}

// Text is the text of the run's last message of a model.
func (e *Events[M]) Text() string {
	e.t.Helper()
	e.All()
	for _, r := range slices.Backward(e.read) {
		if p := partsOf(r.Message); p.role == "assistant" {
			return p.text
		}
	}
	return ""
}

// ToolCalls are the tool calls of all messages of models.
func (e *Events[M]) ToolCalls() []ToolCall {
	e.t.Helper()
	var calls []ToolCall
	for _, r := range e.All() {
		calls = append(calls, partsOf(r.Message).calls...)
	}
	return calls
}

// Err is the first error among the events.
func (e *Events[M]) Err() error {
	e.t.Helper()
	for _, r := range e.All() {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// Expect fails the test unless the lines of the events are these. The results of tools that run side by side come in
// the order in which the tools end: let one wait (see [Answer.After]) where the order counts. It returns e, like all
// that expect.
func (e *Events[M]) Expect(lines ...string) *Events[M] {
	e.t.Helper()
	if got := e.Lines(); !slices.Equal(got, lines) {
		e.t.Errorf("adktest: the run has other events than expected%s", drift(got, lines))
	}
	return e
}

// ExpectText fails the test unless the run ended without an error and with this text.
func (e *Events[M]) ExpectText(text string) *Events[M] {
	e.t.Helper()
	if err := e.Err(); err != nil {
		e.t.Errorf("adktest: the run failed: %v; want the text %q%s", err, text, listed("the events", e.lines()))
	} else if got := e.Text(); got != text {
		e.t.Errorf("adktest: the run ended with the text %q; want %q%s", got, text, listed("the events", e.lines()))
	}
	return e
}

// ExpectToolCalls fails the test unless models called the tools with these names, in this order.
func (e *Events[M]) ExpectToolCalls(names ...string) *Events[M] {
	e.t.Helper()
	var got []string
	for _, c := range e.ToolCalls() {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, names) {
		e.t.Errorf("adktest: other tools were called than expected%s", drift(got, names))
	}
	return e
}

// ExpectError fails the test unless the run failed with an error that is target (errors.Is); with any error if target
// is nil.
func (e *Events[M]) ExpectError(target error) *Events[M] {
	e.t.Helper()
	switch err := e.Err(); {
	case err == nil:
		e.t.Errorf("adktest: the run did not fail; want an error%s", listed("the events", e.lines()))
	case target != nil && !errors.Is(err, target):
		e.t.Errorf("adktest: the run failed with %q; want %q", err, target)
	}
	return e
}

// ExpectNoError fails the test if the run failed.
func (e *Events[M]) ExpectNoError() *Events[M] {
	e.t.Helper()
	if err := e.Err(); err != nil {
		e.t.Errorf("adktest: the run failed: %v%s", err, listed("the events", e.lines()))
	}
	return e
}
