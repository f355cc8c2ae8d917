package skill

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/internal/safe"
)

// A worker is the agent that carries out a skill. It is asked what the skill is about, whatever its caller asks, and it
// remembers what it says. One worker serves one call.
type worker[M adk.MessageType] struct {
	adk.TypedAgent[M]
	skill    string
	messages []M

	mu      sync.Mutex
	events  int
	ended   bool
	said    []M
	results []string
	failed  error
}

var _ adk.TypedResumableAgent[adk.Message] = (*worker[adk.Message])(nil)

// Name is the name of the agent, or of the skill if the agent has none: as a tool it needs one.
func (w *worker[M]) Name(ctx context.Context) string {
	if name := w.TypedAgent.Name(ctx); name != "" {
		return name
	}
	return w.skill
}

// Run starts the agent on the messages for the skill.
func (w *worker[M]) Run(
	ctx context.Context, _ *adk.TypedAgentInput[M], options ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.TypedAgentEvent[M]] {
	return w.watch(w.TypedAgent.Run(ctx, &adk.TypedAgentInput[M]{Messages: w.messages}, options...))
}

// Resume lets the agent continue.
func (w *worker[M]) Resume(
	ctx context.Context, info *adk.ResumeInfo, options ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.TypedAgentEvent[M]] {
	resumable, ok := w.TypedAgent.(adk.TypedResumableAgent[M])
	if !ok {
		w.fail(fmt.Errorf("failed to run agent event: agent '%s' does not implement ResumableAgent", w.Name(ctx)))
		return w.watch(nil)
	}
	return w.watch(resumable.Resume(ctx, info, options...))
}

// watch passes events on, and remembers what they say. A nil iterator is an error.
func (w *worker[M]) watch(
	from *adk.AsyncIterator[*adk.TypedAgentEvent[M]],
) *adk.AsyncIterator[*adk.TypedAgentEvent[M]] {
	events, out := adk.NewAsyncIteratorPair[*adk.TypedAgentEvent[M]]()
	if from == nil {
		w.fail(errors.New("failed to run agent event: the agent returned no events"))
		out.Close()
		return events
	}
	go func() {
		defer out.Close()
		defer from.Close()
		defer func() {
			if v := recover(); v != nil {
				w.fail(fmt.Errorf("failed to run agent event: %w", safe.NewPanicError(v, debug.Stack())))
			}
		}()
		for {
			event, ok := from.Next()
			if !ok {
				w.end()
				return
			}
			if event == nil {
				continue
			}
			passed := w.note(event)
			out.Send(passed)
			if passed.Err != nil {
				return
			}
		}
	}()
	return events
}

// note remembers what an event says, and returns it for others. They get it whole, so that its stream need not be read.
func (w *worker[M]) note(event *adk.TypedAgentEvent[M]) *adk.TypedAgentEvent[M] {
	passed := *event
	w.mu.Lock()
	w.events++
	w.mu.Unlock()
	if event.Err != nil {
		w.fail(fmt.Errorf("failed to run agent event: %w", event.Err))
		return &passed
	}
	if event.Output == nil || event.Output.MessageOutput == nil {
		return &passed
	}
	m, err := event.Output.MessageOutput.GetMessage()
	if err != nil {
		err = fmt.Errorf("failed to get message from event: %w", err)
		w.fail(err)
		passed.Output, passed.Err = nil, err
		return &passed
	}
	output, variant := *event.Output, *event.Output.MessageOutput
	variant.IsStreaming, variant.Message, variant.MessageStream = false, m, nil
	output.MessageOutput = &variant
	passed.Output = &output
	if typednil.Is(m) {
		return &passed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, m)
	if text := message.Text(m); text != "" {
		w.results = append(w.results, text)
	}
	return &passed
}

func (w *worker[M]) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
}

func (w *worker[M]) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// outcome returns what the agent said, all messages and the texts among them, or why it failed.
func (w *worker[M]) outcome() (said []M, results []string, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said, w.results, w.failed
}

// silent reports whether the agent ended without an event, which is no failure of a skill.
func (w *worker[M]) silent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended && w.events == 0
}
