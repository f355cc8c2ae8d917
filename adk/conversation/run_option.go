package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/turnwatch"
	"github.com/weftgo/weft/schema"
)

// RunOption has a run be the next turn of the conversation: the run is given what was said before, within the bounds, and
// begins with the agent that has answered last; what is said in it is appended when it has ended. While another turn is
// open, the run fails with an [*OpenError] before a model is called. A run that stops and is saved keeps its turn open;
// give the option to Resume, too. The option may be given to any number of runs, and to the runs of a TurnLoop.
//
// The turn has the ID of the run (adk.WithCheckPointID), so that one that is resumed after its process died, by whatever
// process, is appended once. A run that fails, or stops without being saved, is kept as far as it got. One that fails
// while its steps are saved (adk.EveryStep) keeps its turn open, to be resumed or discarded.
func (c *Conversation) RunOption(o HistoryOptions) adk.AgentRunOption {
	return adk.WrapImplSpecificOptFn(func(w *turnwatch.Options) { w.Conversation = &watched{c, o} })
}

// watched implements turnwatch.Conversation.
type watched struct {
	*Conversation
	bounds HistoryOptions
}

// Begin implements turnwatch.Conversation.
func (w *watched) Begin(ctx context.Context, run turnwatch.Run) (turnwatch.Turn, error) {
	lane, err := w.store.State(ctx, w.id, w.branch)
	if err != nil {
		return nil, err
	}
	open := lane.Open
	isOwn := open != nil && (run.ID == "" || run.ID == open.ID)
	if (run.Past == turnwatch.Underway || run.Past == turnwatch.Tried) && !isOwn {
		// Its turn may be kept: the process that did so died before it could say that the run has ended. Who asked the next
		// question since is no obstacle.
		err := w.isKept(ctx, run.ID)
		if !errors.Is(err, ErrLost) || run.Past == turnwatch.Underway && open == nil {
			return nil, err
		}
	}
	switch {
	case run.Past == turnwatch.Underway && isOwn:
		return w.watch(open)(w.take(ctx, open, w.bounds))
	case open != nil && run.Held && run.ID == open.ID: // the process that began it before has said nothing that counts
		open.Said, open.Usage, open.Agent = nil, schema.TokenUsage{}, open.Entry
		return w.watch(nil)(w.take(ctx, open, w.bounds))
	case open != nil:
		return nil, w.isOpen(open)
	}
	if run.ID == "" {
		run.ID = uuid.NewString()
	}
	asked, _ := run.Input.([]*schema.Message)
	return w.watch(nil)(w.begin(ctx, run.ID, asked, w.bounds))
}

// isKept is the error of a run that is resumed and has no open turn: none if its turn is kept.
func (w *watched) isKept(ctx context.Context, turn string) error {
	for t, err := range w.Turns(ctx) {
		if err != nil || t.ID == turn {
			return err
		}
	}
	return failed(w.id, fmt.Errorf("turn %s: %w", turn, ErrLost))
}

// watch makes a turn for the runner of one that was claimed. before is what it was, if the run is resumed.
func (w *watched) watch(before *OpenTurn) func(claim *Claim, err error) (turnwatch.Turn, error) {
	return func(claim *Claim, err error) (turnwatch.Turn, error) {
		if err != nil {
			return nil, err
		}
		claim.Turn.Partial = nil // the run says it again
		return &watchedTurn{Claim: claim, entries: claim.History.Entries(), before: before}, nil
	}
}

// watchedTurn implements turnwatch.Turn.
type watchedTurn struct {
	*Claim
	entries []adk.HistoryEntry
	// before is the turn that is resumed, nil for a new one.
	before *OpenTurn
}

// Options implements turnwatch.Turn.
func (t *watchedTurn) Options() any {
	return []adk.AgentRunOption{adk.WithHistory(t.entries...), adk.WithActiveAgent(t.Turn.Entry)}
}

// Wait implements turnwatch.Turn.
func (t *watchedTurn) Wait(ctx context.Context, s turnwatch.Stretch) error {
	info, _ := s.Interrupted.(*adk.InterruptInfo)
	return t.Claim.Wait(ctx, t.progress(s), adk.Questions(info)...)
}

// End implements turnwatch.Turn.
func (t *watchedTurn) End(ctx context.Context, s turnwatch.Stretch) error {
	p := t.progress(s)
	if len(t.Turn.Said)+len(p.Said)+len(p.Partial) == 0 {
		return t.Discard(ctx)
	}
	return t.Keep(ctx, p)
}

// Abandon implements turnwatch.Turn. The turn of a run that was resumed waits again.
func (t *watchedTurn) Abandon(ctx context.Context) {
	if t.before != nil {
		_ = t.Claim.Wait(ctx, Progress{Agent: t.Turn.Agent, Partial: t.before.Partial}, t.before.Questions...)
		return
	}
	_ = t.Discard(ctx)
}

// progress returns what a run has said that the turn does not have yet. A process that resumes a run may repeat some of it.
func (t *watchedTurn) progress(s turnwatch.Stretch) Progress {
	p := Progress{Agent: t.Turn.Agent}
	if s.Agent != "" {
		p.Agent = s.Agent
	}
	if s.Partial != "" {
		p.Partial = []adk.HistoryEntry{Incomplete(s.Speaker, s.Partial)}
	}
	before := slices.Clone(t.Turn.Said)
	said, _ := s.Said.([]adk.HistoryEntry)
	for i, e := range said {
		if s.Replayed[i] {
			same := func(b adk.HistoryEntry) bool { return b.AgentName == e.AgentName && equal(b.Message, e.Message) }
			if at := slices.IndexFunc(before, same); at >= 0 {
				before = slices.Delete(before, at, at+1)
				continue
			}
		}
		p.Said = append(p.Said, e)
		if m := e.Message; m.ResponseMeta != nil {
			p.Usage.Add(m.ResponseMeta.Usage)
		}
	}
	return p
}

// equal reports whether two messages say the same.
func equal(a, b *schema.Message) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}
