package weft

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/structured"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Question describes what a run waits for: the approval of a call, or whatever else a tool has stopped for. Its methods
// Approve, Edit, Reject and Reply make the [Reply], and Value returns what the tool has stopped with.
type Question = runs.Question

// Reply is the reply to a [Question], which its methods make.
type Reply = runs.Reply

// Answer is the result of a run.
type Answer struct {
	// Text is the agent's answer. It is empty while questions are pending.
	Text string
	// Messages are the messages of the run: the question first, then what agents and tools said, the answer last.
	Messages []*Message
	// Usage counts the tokens of all calls of models in the run.
	Usage schema.TokenUsage
	// Pending are the questions that the run waits for. Answer them with [Answer.Reply], or [Conversation.Reply] in a
	// conversation.
	Pending []Question

	// said are the messages behind the question, with their authors; earlier is what was said before the question.
	said, earlier []adk.HistoryEntry
	asked         []*Message
	// entry is the agent that the run began with, agent the one that answers the next question; "" is the one asked.
	entry, agent string
	// of is the agent that was asked, and saved its run, nil in a conversation and where nothing is pending.
	of       *Agent
	saved    []byte
	replying atomic.Bool
}

// String returns the text.
func (a *Answer) String() string { return a.Text }

// callOptions are the options of this package.
type callOptions struct {
	after *Answer
	with  []*Message
}

// After continues behind an answer: the agent sees what was said up to it, and the agent that has answered is the one
// that is asked, if others were handed over to. nil stands for none. It is not for conversations.
func After(answer *Answer) Option {
	return adk.WrapImplSpecificOptFn(func(o *callOptions) { o.after = answer })
}

// With puts messages before the question: context, pictures, a history of your own. Without a question they are it.
func With(messages ...*Message) Option {
	return adk.WrapImplSpecificOptFn(func(o *callOptions) { o.with = append(o.with, messages...) })
}

var errNoContext = errors.New("weft: the context is nil: pass context.Background() if there is none")

// asked are the messages that a question begins with. room, if not nil, is where they are put if there is only one.
func (o *callOptions) asked(ctx context.Context, question string, room *oneQuestion) ([]*Message, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if room != nil && len(o.with) == 0 && question != "" {
		room.message = *schema.UserMessage(question)
		room.list[0] = &room.message
		return room.list[:], nil
	}
	messages := slices.Grow(slices.Clone(o.with), 1)
	if question != "" {
		messages = append(messages, schema.UserMessage(question))
	}
	if len(messages) == 0 {
		return nil, errors.New("weft: there is no question: it is empty, and there are no messages of With")
	}
	return messages, nil
}

// Ask runs the agent on a question and waits for the answer. An answer may have Pending questions instead of a text.
func (a *Agent) Ask(ctx context.Context, question string, opts ...Option) (*Answer, error) {
	return whole(a.events(ctx, a.whole, question, opts))
}

// Stream runs the agent on a question, and gives what happens as it happens; the last event has the [Answer]. An error is
// the last thing, too. The run is executed by the loop that reads it: it begins with the loop, waits while the loop's body
// runs, and ends with the loop. A break cancels the run. Each range over the sequence starts a new run.
func (a *Agent) Stream(ctx context.Context, question string, opts ...Option) iter.Seq2[Event, error] {
	return a.events(ctx, a.streaming, question, opts)
}

func (a *Agent) events(ctx context.Context, runner *adk.Runner, question string, opts []Option) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t := &turn{Context: ctx, agent: a, yield: yield}
		call := adk.GetImplSpecificOptions(&t.call, opts...)
		asked, err := call.asked(ctx, question, &t.room.question)
		if err != nil {
			yield(Event{}, err)
			return
		}
		t.answer.asked, t.answer.said = asked, t.room.said[:0]
		if before := call.after; before != nil {
			if len(before.Pending) > 0 {
				yield(Event{}, errors.New("weft.After: the answer has pending questions: reply to them first"))
				return
			}
			t.answer.earlier, t.answer.entry, t.answer.agent = before.history(), before.agent, before.agent
		}
		t.run(opts, func(opts []Option) (*adk.AsyncIterator[*adk.AgentEvent], error) {
			return runner.Run(t, asked, opts...), nil
		})
	}
}

// history is everything up to the end of the answer.
func (a *Answer) history() []adk.HistoryEntry {
	all := slices.Clone(a.earlier)
	for _, m := range a.asked {
		all = append(all, adk.HistoryEntry{IsUserInput: true, Message: m})
	}
	return append(all, a.said...)
}

var (
	// inAnswer has a run saved in its answer, under an ID that does not matter.
	inAnswer = adk.WithCheckPointID("answer")
	// readHere are the options of all runs.
	readHere = []Option{adk.WithRunInLoop(), adk.WithPieces()}
	// mostRuns are the options of most runs.
	mostRuns = append(slices.Clip(readHere), inAnswer)
)

// options are the options of a run: of its caller, and what the turn needs.
func (t *turn) options(opts []Option, saved Option) []Option {
	opts = append(slices.Clip(opts), saved)
	opts = append(opts, readHere...)
	if len(t.answer.earlier) > 0 {
		opts = append(opts, adk.WithHistory(t.answer.earlier...))
	}
	if t.answer.entry != "" {
		opts = append(opts, adk.WithActiveAgent(t.answer.entry))
	}
	return opts
}

// Reply answers pending questions, and continues the run where it waits. A question that no reply is for is asked again.
// An answer can be replied to once; it must not be one of a conversation, which has a Reply of its own.
func (a *Answer) Reply(ctx context.Context, replies ...Reply) (*Answer, error) {
	return whole(a.reply(ctx, false, replies))
}

// StreamReply is [Answer.Reply] as [Agent.Stream] is Ask.
func (a *Answer) StreamReply(ctx context.Context, replies ...Reply) iter.Seq2[Event, error] {
	return a.reply(ctx, true, replies)
}

func (a *Answer) reply(ctx context.Context, streaming bool, replies []Reply) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		switch {
		case ctx == nil:
			yield(Event{}, errNoContext)
			return
		case len(a.Pending) == 0:
			yield(Event{}, errors.New("weft: the answer has no pending questions"))
			return
		case a.of == nil:
			yield(Event{}, errors.New("weft: the answer is one of a conversation: use Conversation.Reply"))
			return
		case !a.replying.CompareAndSwap(false, true):
			yield(Event{}, errors.New("weft: the answer was replied to already"))
			return
		}
		targets, err := targetsOf(a.Pending, replies)
		if err != nil {
			a.replying.Store(false)
			yield(Event{}, err)
			return
		}
		runner := a.of.whole
		if streaming {
			runner = a.of.streaming
		}
		t := &turn{Context: ctx, agent: a.of, yield: yield}
		t.continues(a)
		t.run(nil, func(opts []Option) (*adk.AsyncIterator[*adk.AgentEvent], error) {
			return runner.ResumeWithParams(t, "answer", &adk.ResumeParams{Targets: targets}, opts...)
		})
	}
}

// continues has the answer of a turn begin with what an interrupted one has.
func (t *turn) continues(a *Answer) {
	t.answer.asked, t.answer.earlier, t.answer.Usage = a.asked, a.earlier, a.Usage
	t.answer.entry, t.answer.agent, t.answer.saved = a.entry, a.agent, a.saved
	t.answer.said = slices.Clip(a.said)
}

// targetsOf are replies by the questions that they answer.
func targetsOf(pending []Question, replies []Reply) (map[string]any, error) {
	targets := make(map[string]any, len(replies))
	for _, r := range replies {
		if !slices.ContainsFunc(pending, func(q Question) bool { return q.ID == r.To }) {
			return nil, fmt.Errorf("weft: there is no pending question %q", r.To)
		}
		value, err := r.Decoded()
		if err != nil {
			return nil, fmt.Errorf("weft: %w", err)
		}
		targets[r.To] = value
	}
	return targets, nil
}

// inAnswers is the store of runs that are not part of a conversation: each is kept with its answer, which is in the
// context of the run.
type inAnswers struct{}

func (inAnswers) Get(ctx context.Context, _ string) ([]byte, bool, error) {
	t := turnIn(ctx)
	return t.answer.saved, len(t.answer.saved) > 0, nil
}

func (inAnswers) Set(ctx context.Context, _ string, saved []byte) error {
	turnIn(ctx).answer.saved = slices.Clone(saved)
	return nil
}

// typedAgent is an agent that ends with a value.
type typedAgent[T any] struct {
	once   sync.Once
	agent  *Agent
	output *structured.Output[T]
	err    error
}

// Ask runs the agent on a question and returns the answer as a value of type T: a struct, or anything else that has a JSON
// schema; see [Func] for the tags. An answer that does not fit is sent back to the model, twice at most; if that did not
// help, the error wraps a *structured.InvalidError (package adk/middlewares/structured). It is not for agents of [Wrap].
func Ask[T any](ctx context.Context, agent *Agent, question string, opts ...Option) (value T, err error) {
	kept, _ := agent.typed.LoadOrStore(reflect.TypeFor[T](), new(typedAgent[T]))
	typed := kept.(*typedAgent[T])
	typed.once.Do(func() { typed.make(agent) })
	if typed.err != nil {
		return value, typed.err
	}
	answer, err := typed.agent.Ask(ctx, question, opts...)
	if err != nil {
		return value, err
	}
	if len(answer.Pending) > 0 {
		return value, fmt.Errorf("weft.Ask: the agent waits for a reply to %d questions (%s): use Agent.Ask for agents that ask",
			len(answer.Pending), answer.Pending[0].Text)
	}
	value, err = typed.output.Parse(ctx, answer.Text)
	return value, oneLine(err)
}

func (t *typedAgent[T]) make(agent *Agent) {
	if agent.wrapped != nil {
		t.err = errors.New("weft.Ask: the agent is one of Wrap: give it the middleware of package structured")
		return
	}
	if t.output, t.err = structured.New[T](nil); t.err != nil {
		t.err = fmt.Errorf("weft.Ask: %w", t.err)
		return
	}
	config := agent.config
	config.Middlewares = append(slices.Clip(config.Middlewares), t.output.Handler())
	t.agent, t.err = New(config)
}
