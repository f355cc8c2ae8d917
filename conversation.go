package weft

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
)

// Store keeps conversations and runs that wait: checkpoint.NewMemoryStore and checkpoint.NewFileStore of package
// adk/checkpoint, or one of your own, which must also implement runs.Journal.
type Store = adk.CheckPointStore

// Conversation is a conversation with an agent that is kept in a store. It has no state of its own: make one where you
// need it, in any process that has the store. One question at a time is answered in a conversation; another one that
// comes meanwhile, or while questions are pending, fails with a *conversation.OpenError. A turn that fails, or whose
// reader stops reading, is kept as far as it got: what tools have done, and what the reader has seen of the answer, which is marked
// (conversation.IsIncomplete). One that fails before anything was said is dropped. It is safe for concurrent
// use.
type Conversation struct {
	agent            *Agent
	log              *conversation.Conversation
	store            Store
	whole, streaming *adk.Runner
	err              error
}

// Conversation returns the conversation with an ID, which is any string but the empty one; one that does not exist begins
// with the first question. What is wrong with the store is the error of its methods.
func (a *Agent) Conversation(store Store, id string) *Conversation {
	if isNil(store) {
		return &Conversation{err: errors.New("weft: the store of the conversation is nil: see package adk/checkpoint")}
	}
	if id == "" {
		return &Conversation{err: errors.New("weft: the ID of the conversation is empty: name the user or the chat that it belongs to; all that have none would share it")}
	}
	log, err := conversation.New(store, id)
	return &Conversation{
		agent: a, log: log, store: store, err: err, whole: a.runner(store, false), streaming: a.runner(store, true),
	}
}

// Ask asks the next question and waits for the answer.
func (c *Conversation) Ask(ctx context.Context, question string, opts ...Option) (*Answer, error) {
	return whole(c.events(ctx, c.whole, question, opts))
}

// Stream asks the next question, as [Agent.Stream] does.
func (c *Conversation) Stream(ctx context.Context, question string, opts ...Option) iter.Seq2[Event, error] {
	return c.events(ctx, c.streaming, question, opts)
}

// Reply answers pending questions, and continues the run where it waits. A question that no reply is for is asked again.
// Of several callers that reply at the same time one continues the run; the others fail with conversation.ErrNotWaiting.
func (c *Conversation) Reply(ctx context.Context, replies ...Reply) (*Answer, error) {
	return whole(c.reply(ctx, c.whole, replies))
}

// StreamReply is [Conversation.Reply] as Stream is Ask.
func (c *Conversation) StreamReply(ctx context.Context, replies ...Reply) iter.Seq2[Event, error] {
	return c.reply(ctx, c.streaming, replies)
}

// Pending returns the questions that the conversation waits for, none if it does not wait.
func (c *Conversation) Pending(ctx context.Context) ([]Question, error) {
	history, err := c.History(ctx)
	if err != nil || history.Open == nil {
		return nil, err
	}
	return history.Open.Questions, nil
}

// History returns what was said: turns, each with its question and messages, and the turn that is open, if any.
func (c *Conversation) History(ctx context.Context) (conversation.History, error) {
	if c.err != nil {
		return conversation.History{}, c.err
	}
	return c.log.History(ctx)
}

// Discard drops the question that is open: one that waits for replies, or whose process died. That none is open is no
// error.
func (c *Conversation) Discard(ctx context.Context) error {
	if c.err != nil {
		return c.err
	}
	turn, err := c.log.Discard(ctx)
	if err != nil || turn == "" {
		return err
	}
	return c.forget(ctx, turn)
}

// Delete removes the conversation, with the run that waits in it, if any.
func (c *Conversation) Delete(ctx context.Context) error {
	if err := c.Discard(ctx); err != nil {
		return err
	}
	return c.log.Delete(ctx)
}

// forget removes the checkpoint of a turn.
func (c *Conversation) forget(ctx context.Context, turn string) error {
	deleter, ok := c.store.(adk.CheckPointDeleter)
	if !ok {
		return nil
	}
	if err := deleter.Delete(ctx, turn); err != nil {
		return fmt.Errorf("weft: conversation %q: removing the run of a turn that has ended: %w", c.log.ID(), err)
	}
	return nil
}

func (c *Conversation) events(
	ctx context.Context, runner *adk.Runner, question string, opts []Option,
) iter.Seq2[Event, error] {
	return c.sequence(func(yield func(Event, error) bool) error {
		call := adk.GetImplSpecificOptions(&callOptions{}, opts...)
		if call.after != nil {
			return errors.New("weft: After is not for conversations: they continue by themselves")
		}
		asked, err := call.asked(ctx, question, nil)
		if err != nil {
			return err
		}
		claim, err := c.log.Begin(ctx, asked)
		if err != nil {
			return err
		}
		return c.run(ctx, claim, yield, func(needed []Option) (*adk.AsyncIterator[*adk.AgentEvent], error) {
			return runner.Run(ctx, asked, append(slices.Clip(opts), needed...)...), nil
		})
	})
}

func (c *Conversation) reply(ctx context.Context, runner *adk.Runner, replies []Reply) iter.Seq2[Event, error] {
	return c.sequence(func(yield func(Event, error) bool) error {
		if ctx == nil {
			return errNoContext
		}
		pending, err := c.Pending(ctx)
		if err != nil {
			return err
		}
		targets, err := targetsOf(pending, replies)
		if err != nil && len(pending) > 0 {
			return err
		}
		claim, err := c.log.Resume(ctx)
		if err != nil {
			return err
		}
		return c.run(ctx, claim, yield, func(opts []Option) (*adk.AsyncIterator[*adk.AgentEvent], error) {
			return runner.ResumeWithParams(ctx, claim.Turn.ID, &adk.ResumeParams{Targets: targets}, opts...)
		})
	})
}

// sequence makes a sequence of events of what emits them, and returns the error that it ends with.
func (c *Conversation) sequence(emit func(yield func(Event, error) bool) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if c.err != nil {
			yield(Event{}, c.err)
			return
		}
		over := false
		err := emit(func(e Event, err error) bool {
			over = !yield(e, err) || err != nil
			return !over
		})
		if err != nil && !over {
			yield(Event{}, oneLine(err))
		}
	}
}

// run reads the run of a turn and ends the turn with it. One that does not come to an answer is kept as far as it got, if
// it got anywhere: what tools have done is done. What ends the turn does not depend on the context of the run, which may
// have ended.
func (c *Conversation) run(
	ctx context.Context, claim *conversation.Claim, yield func(Event, error) bool,
	start func(opts []Option) (*adk.AsyncIterator[*adk.AgentEvent], error),
) (err error) {
	t := &turn{Context: ctx, agent: c.agent, yield: yield, keeps: true}
	claim.Turn.Partial = nil // the run says it again
	t.inTurn(claim)
	ended := false
	defer func() {
		if !ended {
			err = errors.Join(err, c.end(ctx, claim, t, false))
		}
	}()
	events, err := start(t.options(nil, adk.WithCheckPointID(claim.Turn.ID)))
	if err != nil {
		return err
	}
	answered := t.read(events)
	ended = true
	if err := c.end(ctx, claim, t, answered); err != nil {
		return err
	}
	if answered {
		t.emit(Event{Answer: &t.answer})
	}
	return nil
}

// end ends a turn with the outcome of its run. Of a text that broke off what was shown is kept.
func (c *Conversation) end(ctx context.Context, claim *conversation.Claim, t *turn, answered bool) (err error) {
	ctx = context.WithoutCancel(ctx)
	a := &t.answer
	progress := conversation.Progress{Said: saidSince(claim, a), Agent: a.agent, Usage: a.Usage}
	if shown := t.shown.String(); strings.TrimSpace(shown) != "" && !answered {
		progress.Partial = []adk.HistoryEntry{conversation.Incomplete(t.speaker, shown)}
	}
	switch {
	case answered && len(a.Pending) > 0:
		return claim.Wait(ctx, progress, a.Pending...)
	case len(a.said)+len(progress.Partial) > 0:
		err = claim.Keep(ctx, progress)
	default:
		err = claim.Discard(ctx)
	}
	if err != nil {
		return err
	}
	return c.forget(ctx, claim.Turn.ID)
}

// saidSince returns what was said since a turn was claimed. A result may have its place among the entries that were there
// before.
func saidSince(claim *conversation.Claim, a *Answer) []adk.HistoryEntry {
	before := claim.Turn.Said
	return slices.DeleteFunc(slices.Clone(a.said), func(e adk.HistoryEntry) bool {
		return slices.ContainsFunc(before, func(b adk.HistoryEntry) bool { return b.Message == e.Message })
	})
}

// inTurn has the answer begin with what was said in a turn before it was claimed.
func (t *turn) inTurn(claim *conversation.Claim) {
	of := &claim.Turn
	t.answer.earlier, t.answer.entry, t.answer.agent = claim.History.Entries(), of.Entry, of.Agent
	t.answer.asked, t.answer.said = of.Asked, slices.Clip(of.Said)
}
