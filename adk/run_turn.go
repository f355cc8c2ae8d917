package adk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk/internal/turnwatch"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// watchedTurn is the turn of a conversation that a run belongs to. It is used by the goroutine of the run.
type watchedTurn[M MessageType] struct {
	turn turnwatch.Turn
	// said holds what the events had, and replayed the part of it that earlier processes have said.
	said     []*historyItem[M]
	replayed map[int]bool
	agent    string
	// ended: the conversation knows how the turn ended, or a loop is to tell it (see runOutcome).
	ended bool
}

// beginTurn opens the turn of the run in its conversation, if it has one, and lets the run begin where that ends.
func (run *runnerRun[M]) beginTurn(opts []AgentRunOption) error {
	if !hasImplSpecificOptions[turnwatch.Options](opts) {
		return nil
	}
	kept := GetImplSpecificOptions(&turnwatch.Options{}, opts...).Conversation
	if _, ordinary := any(run.input.Messages).([]*schema.Message); !ordinary {
		return errors.New("runner: conversations are of ordinary messages: leave the option out")
	}
	begins := turnwatch.Run{Past: run.past.turn, Held: run.held != nil || run.root.options.restart}
	if id := run.root.options.checkPointID; id != nil && run.root.options.outcome == nil && !isNilStore(run.store) {
		begins.ID = *id
	}
	if begins.Past != turnwatch.Underway {
		begins.Input = run.input.Messages
	}
	turn, err := kept.Begin(run.exec.Context, begins)
	if err != nil || turn == nil {
		return err
	}
	run.turn = &watchedTurn[M]{turn: turn}
	run.exec.Context = turn.Context(run.exec.Context)
	GetImplSpecificOptions(&run.root.options, turn.Options().([]AgentRunOption)...)
	return nil
}

// abandonTurn is for a run that could not begin.
func (run *runnerRun[M]) abandonTurn() {
	if run.turn == nil || run.turn.ended {
		return
	}
	run.turn.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	run.turn.turn.Abandon(ctx)
}

// note keeps the message of an event. A stream is split.
func (w *watchedTurn[M]) note(e *TypedAgentEvent[M]) {
	if w == nil || e.Err != nil || e.origin == originInner || e.origin == originPiece || e.origin == originReplayedHistory {
		return
	}
	if a := e.Action; a != nil && a.TransferToAgent != nil {
		w.agent = a.TransferToAgent.DestAgentName
	}
	if e.Output == nil || e.Output.MessageOutput == nil {
		return
	}
	v := e.Output.MessageOutput
	item := &historyItem[M]{agent: e.AgentName, message: v.Message}
	if v.IsStreaming && v.MessageStream != nil {
		item.stream = v.split()
	}
	if e.origin == originReplayedSteps {
		if w.replayed == nil {
			w.replayed = map[int]bool{}
		}
		w.replayed[len(w.said)] = true
	}
	w.said = append(w.said, item)
}

// stretch returns how far the run has got. Of messages that broke off it has the text of the last one, if nothing came
// behind it: an attempt that is made again is not the last.
func (w *watchedTurn[M]) stretch(ctx context.Context) turnwatch.Stretch {
	s := turnwatch.Stretch{Agent: w.agent, Replayed: map[int]bool{}}
	said := make([]HistoryEntry, 0, len(w.said))
	for i, item := range w.said {
		whole, err := item.whole(ctx)
		m, _ := any(whole).(*schema.Message)
		if s.Partial, s.Speaker = "", ""; err != nil && m != nil && m.Role != schema.Tool && !errors.As(err, new(*WillRetryError)) {
			if strings.TrimSpace(m.Content) != "" {
				s.Partial, s.Speaker = m.Content, item.agent
			}
		}
		if err != nil || m == nil {
			continue
		}
		if w.replayed[i] {
			s.Replayed[len(said)] = true
		}
		said = append(said, HistoryEntry{AgentName: item.agent, Message: m})
	}
	s.Said = said
	return s
}

// waitTurn says to the conversation that the run is going to be saved where it stopped. A loop decides later whether it
// can be resumed.
func (run *runnerRun[M]) waitTurn(signal *InterruptSignal, as runs.Status) error {
	w := run.turn
	if w == nil || w.ended {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	s := w.stretch(ctx)
	if as == runs.Waiting {
		s.Interrupted = &InterruptInfo{InterruptContexts: interruptContexts(signal)}
	}
	if o := run.root.options.outcome; o != nil {
		w.ended = true
		o.endTurn = func(ctx context.Context, resumable bool) error {
			if resumable {
				return w.turn.Wait(ctx, s)
			}
			return w.turn.End(ctx, s)
		}
		return nil
	}
	if err := w.turn.Wait(ctx, s); err != nil {
		return err
	}
	w.ended = true
	return nil
}

// endTurn says to the conversation that the run is over, before the store of runs knows it: if the process dies in
// between, the run is resumed, and its turn, which is there, stays as it is. A run that can be resumed after its last
// step keeps its turn open: the steps have what was said.
func (run *runnerRun[M]) endTurn() {
	w := run.turn
	if w == nil || w.ended || run.held.isLost() {
		return
	}
	w.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	if run.held.isHeld() { // who has lost the run without knowing it must not add to the conversation
		if _ = run.held.Renew(ctx); run.held.isLost() {
			return
		}
	}
	var err error
	if run.end == runFailed && run.root.journal != nil {
		err = w.turn.Wait(ctx, w.stretch(ctx))
	} else {
		err = w.turn.End(ctx, w.stretch(ctx))
	}
	if err == nil {
		return
	}
	err = fmt.Errorf("failed to keep the turn of the run: %w", err)
	run.end.become(runFailed)
	if run.failed == nil {
		run.failed = err
	}
	run.hub.send(&TypedAgentEvent[M]{Err: err})
}
