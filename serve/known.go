package serve

import (
	"context"
	"errors"
	"maps"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/schema"
)

// clientIDKey is the place where a message keeps the ID that its client has given it.
const clientIDKey = "weft.client_id"

// maxMessageID is the longest ID that a message may have.
const maxMessageID = 128

// identified returns messages with the IDs that their client knows them by, in copies.
func identified(messages []*schema.Message, ids []string) ([]*schema.Message, error) {
	if len(ids) == 0 {
		return messages, nil
	}
	if len(ids) != len(messages) {
		return nil, NewProblem(BadRequest, "there are %d messages, and %d IDs of messages", len(messages), len(ids))
	}
	all := make([]*schema.Message, len(messages))
	for i, m := range messages {
		if len(ids[i]) > maxMessageID {
			return nil, NewProblem(BadRequest, "the ID of a message is longer than %d bytes", maxMessageID)
		}
		if all[i] = m; ids[i] == "" {
			continue
		}
		named := *m
		named.Extra = maps.Clone(m.Extra)
		if named.Extra == nil {
			named.Extra = map[string]any{}
		}
		named.Extra[clientIDKey] = ids[i]
		all[i] = &named
	}
	return all, nil
}

// clientIDOf is the ID that the client of a message knows it by, "" if it has not said.
func clientIDOf(m *schema.Message) string {
	if m == nil {
		return ""
	}
	id, _ := m.Extra[clientIDKey].(string)
	return id
}

// dropKnownMessages removes messages from a job that its thread already has. A run that replaces another one is compared
// with the thread as it was before that.
func (c *Caller) dropKnownMessages(ctx context.Context, start *Start, job *dispatch.Job) error {
	if len(start.MessageIDs) == 0 || !isTurn(job.Tags) {
		return nil
	}
	known, err := c.known(ctx, job.Key, start.Replaces)
	if err != nil {
		return ProblemOf(err)
	}
	var fresh []*schema.Message
	for _, m := range job.Messages {
		if !known[clientIDOf(m)] {
			fresh = append(fresh, m)
		}
	}
	if len(fresh) == 0 && start.Replaces == "" {
		return NewProblem(BadRequest, "there is no new message: the thread has all of them")
	}
	job.Messages = fresh
	return nil
}

// known returns the IDs by which clients know what was asked in a thread before a run, "" for the end: their own IDs, and
// the IDs of [Caller.Messages].
func (c *Caller) known(ctx context.Context, key, before string) (map[string]bool, error) {
	h, err := conversation.Open(c.server.settings.conversations, key).History(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	if h.Open != nil {
		h.Turns = append(h.Turns, *h.Open)
	}
	for i := range h.Turns {
		t := &h.Turns[i]
		if before != "" && t.ID == before {
			break
		}
		for n, m := range t.Asked {
			known[clientIDOf(m)], known[messageID(t, n+1)] = true, true
		}
	}
	delete(known, "")
	return known, nil
}

// messageID is the name of a message of a turn in its thread.
func messageID(t *conversation.Turn, n int) string { return t.ID + "." + itoa(n) }

// RunOfKey returns the run that was started with an idempotency key (see Start), and false if there is none.
func (c *Caller) RunOfKey(ctx context.Context, key string) (Run, bool, error) {
	run, err := c.Run(ctx, runIDOf("key", c.principal.owner(), key))
	if p := (*Problem)(nil); errors.As(err, &p) && p.Code == NotFound {
		return Run{}, false, nil
	}
	return run, err == nil, err
}
