package conversation

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

type contextKey struct{}

// FromContext returns the conversation that the run of a context is a turn of, nil if it belongs to none: the
// conversation of its [Conversation.RunOption].
func FromContext(ctx context.Context) *Conversation {
	t, _ := ctx.Value(contextKey{}).(*watchedTurn)
	if t == nil {
		return nil
	}
	return t.conversation
}

// Context implements turnwatch.Turn.
func (t *watchedTurn) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// KeepSummary appends the summary that an agent has made in a run, so that the next turn does not make it again. It is for
// the field Callback of a summarization.Config (adk/middlewares/summarization). The summary stands for the turns before the
// one in which it is made; that one follows it, whole. Of several runs that summarize at the same time the first one
// counts. In a run that belongs to no conversation it does nothing.
func KeepSummary(ctx context.Context, before, after adk.ChatModelAgentState) error {
	t, _ := ctx.Value(contextKey{}).(*watchedTurn)
	if t == nil || t.Turn.Position == 0 {
		return nil
	}
	var summary []*schema.Message
	for _, m := range after.Messages {
		if m.Role != schema.System && !slices.Contains(before.Messages, m) {
			summary = append(summary, m)
		}
	}
	if len(summary) == 0 {
		return nil
	}
	c := t.conversation
	lane, err := c.store.State(ctx, c.id, c.branch)
	if err != nil || lane.Compacted > t.Turn.Position { // another process was faster
		return err
	}
	_, err = c.Compact(ctx, lane.Head, t.Turn.Position, summary...)
	if errors.As(err, new(*HeadMovedError)) {
		return nil
	}
	return err
}
