package conversation

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// A Claim is the right to end a turn: of the caller whose Begin or Resume came first. It is for one goroutine.
type Claim struct {
	// Turn is the turn as it was when it was claimed, History what was kept before it.
	Turn    Turn
	History History

	conversation *Conversation
	key          string
}

// Progress describes a run since its turn was claimed.
type Progress struct {
	Said []adk.HistoryEntry
	// Partial is the unfinished answer of an agent when the run stopped: see [Incomplete].
	Partial []adk.HistoryEntry
	Agent   string
	Usage   schema.TokenUsage
}

// Wait says that the run of the turn was interrupted: what it has said since it was claimed is kept with the open turn,
// with the questions that it waits for, for the process that resumes it. The claim ends with it.
func (c *Claim) Wait(ctx context.Context, p Progress, questions ...runs.Question) error {
	open := &OpenTurn{Turn: c.with(p), Key: uuid.NewString()}
	open.Status, open.Questions = Waiting, questions
	return c.conversation.store.SetOpen(ctx, c.conversation.id, c.conversation.branch, c.key, open)
}

// Keep appends the turn to the conversation. The claim ends with it. A call or a result without the other, where the turn
// broke off, is left out, and a text that broke off is kept as far as it came: what is kept is always a history that models
// accept.
func (c *Claim) Keep(ctx context.Context, p Progress) error {
	turn := c.with(p)
	turn.Said, turn.Partial = append(settled(turn.Said), turn.Partial...), nil
	_, err := c.conversation.store.Append(ctx, c.conversation.id, c.conversation.branch,
		NewTurn{Turn: turn, Head: c.Turn.Position, Key: c.key})
	return err
}

// Discard drops the turn. The claim ends with it.
func (c *Claim) Discard(ctx context.Context) error {
	return c.conversation.store.SetOpen(ctx, c.conversation.id, c.conversation.branch, c.key, nil)
}

// with is the turn with what was said since it was claimed.
func (c *Claim) with(p Progress) Turn {
	turn := c.Turn
	turn.Said = slices.Clip(turn.Said)
	for _, e := range p.Said {
		turn.Said = adk.AppendHistory(turn.Said, e)
	}
	turn.Partial = append(slices.Clip(turn.Partial), p.Partial...)
	turn.Agent, turn.Changed = p.Agent, time.Now().UTC()
	turn.Usage.Add(&p.Usage)
	return turn
}

// settled leaves out calls without a result and results without a call, where what agents said broke off. The results of
// a message are those that its author has up to its next message: agents may speak beside each other.
func settled(said []adk.HistoryEntry) []adk.HistoryEntry {
	results := make([]bool, len(said)) // that belong to a call
	whole := slices.Clone(said)
	for i, e := range said {
		if m := e.Message; m != nil && m.Role != schema.Tool && len(m.ToolCalls) > 0 {
			whole[i].Message = paired(m, said, i, results)
		}
	}
	kept := make([]adk.HistoryEntry, 0, len(said))
	for i, e := range whole {
		if e.Message != nil && (e.Message.Role != schema.Tool || results[i]) {
			kept = append(kept, e)
		}
	}
	return kept
}

// paired returns a message with only the calls that have results behind it, and marks the results. It is nil if nothing
// is left.
func paired(m *schema.Message, said []adk.HistoryEntry, at int, results []bool) *schema.Message {
	var calls []schema.ToolCall
	for place, call := range m.ToolCalls {
		label := callorder.Label(place, func(i int) string { return m.ToolCalls[i].ID })
		if i := resultOf(label, said, at, results); i >= 0 {
			results[i], calls = true, append(calls, call)
		}
	}
	switch {
	case len(calls) == len(m.ToolCalls):
		return m
	case len(calls) == 0 && m.Content == "" && len(m.AssistantGenMultiContent) == 0:
		return nil
	}
	part := *m
	part.ToolCalls = calls
	return &part
}

// resultOf finds the result of a call, -1 if there is none.
func resultOf(label string, said []adk.HistoryEntry, at int, taken []bool) int {
	for i := at + 1; i < len(said); i++ {
		m := said[i].Message
		switch {
		case m == nil || said[i].AgentName != said[at].AgentName:
		case m.Role != schema.Tool:
			return -1
		case callorder.LabelOf(m) == label && !taken[i]:
			return i
		}
	}
	return -1
}
