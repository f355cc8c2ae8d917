package serve

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Thread is a conversation of a principal.
type Thread struct {
	ID      string    `json:"id"`
	Title   string    `json:"title,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// cursor is the place where a list continues behind it.
	cursor string
}

// Cursor returns the position behind the thread, for the After of a list.
func (t *Thread) Cursor() string { return t.cursor }

// ThreadMessage is a message of a thread.
type ThreadMessage struct {
	// ID names the message in the thread.
	ID string `json:"id"`
	// ClientID is the ID that the client has given it, if it has.
	ClientID string `json:"client_id,omitempty"`
	// Run is the run that it was said in, "" for notes.
	Run string `json:"run,omitempty"`
	// Agent names the agent that said it, "" for the user's messages.
	Agent   string         `json:"agent,omitempty"`
	Message runlog.Message `json:"message"`
	// Open: the turn has not ended. What is said in it is not there before it waits or ends.
	Open bool `json:"open,omitempty"`
	// Incomplete: the run of the turn was stopped or has failed. What was said up to then is there.
	Incomplete bool `json:"incomplete,omitempty"`
}

// ConversationID is the ID of a thread of a principal in Config.Conversations, for programs that read or write threads
// beside the server.
func ConversationID(p Principal, thread string) string { return p.owner() + "/" + thread }

// TakesClientTools reports whether clients may bring tools.
func (s *Server) TakesClientTools() bool { return s.settings.allowClientTools }

// KeepsThreads reports whether the server keeps threads.
func (s *Server) KeepsThreads() bool { return s.settings.conversations != nil }

// threadKey is the key of the runs of a thread, which is also the ID of its conversation, if it has one.
func threadKey(p Principal, thread string) (string, error) {
	if !clientID.MatchString(thread) {
		return "", NewProblem(BadRequest, `a thread is named by up to 128 letters, digits, and any of "._:-"`)
	}
	return ConversationID(p, thread), nil
}

// conversationOf is the ID of the conversation of a thread.
func (s *Server) conversationOf(p Principal, thread string) (string, error) {
	if !s.KeepsThreads() {
		return "", NewProblem(BadRequest, "this server keeps no threads")
	}
	return threadKey(p, thread)
}

// runsOf returns a query for the runs of a thread of a principal, of all its threads if thread is "": they are found by
// their tags, wherever the history is kept.
func runsOf(p Principal, thread string) (q runs.Query, err error) {
	q.Tags = map[string]string{tagOwner: p.owner()}
	if thread != "" {
		q.Tags[tagThread] = thread
		_, err = threadKey(p, thread)
	}
	return q, err
}

// makeThread makes the conversation that a run is a turn of, if there is none.
func (s *Server) makeThread(ctx context.Context, p Principal, job *dispatch.Job) error {
	key := job.Key
	if !isTurn(job.Tags) {
		return nil
	}
	_, exists, err := s.settings.conversations.Get(ctx, key)
	if err != nil || exists {
		return err
	}
	_, err = s.settings.conversations.Create(ctx, conversation.Info{ID: key, User: p.owner()})
	if errors.Is(err, conversation.ErrExists) {
		return nil
	}
	return err
}

// Threads lists the threads of the principal, the one that changed last first. after is the Cursor of the last one that
// was seen; limit is up to 100, 0 is 20.
func (c *Caller) Threads(ctx context.Context, after string, limit int) ([]Thread, error) {
	threads := []Thread{}
	if c.server.settings.conversations == nil {
		return threads, nil
	}
	if err := c.authorize(ctx, Action{Verb: ReadThread}); err != nil {
		return nil, err
	}
	if !isCursor(after) {
		return nil, badCursor()
	}
	if limit <= 0 {
		limit = 20
	}
	owner := c.principal.owner()
	q := conversation.Query{User: owner, After: after, Limit: min(limit, 100)}
	for info, err := range c.server.settings.conversations.List(ctx, q) {
		if err != nil {
			return nil, ProblemOf(err)
		}
		if name, ours := strings.CutPrefix(info.ID, owner+"/"); ours {
			threads = append(threads, threadOf(&info, name))
		}
	}
	return threads, nil
}

// Thread returns a thread of the principal.
func (c *Caller) Thread(ctx context.Context, thread string) (Thread, error) {
	key, err := c.server.conversationOf(c.principal, thread)
	if err == nil {
		err = c.authorize(ctx, Action{Verb: ReadThread, Thread: thread})
	}
	if err != nil {
		return Thread{}, err
	}
	info, exists, err := c.server.settings.conversations.Get(ctx, key)
	switch {
	case err != nil:
		return Thread{}, ProblemOf(err)
	case !exists:
		return Thread{}, NewProblem(NotFound, "there is no such thread")
	}
	return threadOf(&info, thread), nil
}

// threadOf is a thread for clients.
func threadOf(info *conversation.Info, name string) Thread {
	return Thread{ID: name, Title: info.Title, Created: info.Created, Updated: info.Updated, cursor: info.Cursor()}
}

// Messages yields the messages of a thread, oldest first, with the messages of the open turn last. What another run was
// started instead of is not among them, nor are summaries. An error is the last item. A thread that there is not has
// none.
func (c *Caller) Messages(ctx context.Context, thread string) iter.Seq2[ThreadMessage, error] {
	return func(yield func(ThreadMessage, error) bool) {
		key, err := c.server.conversationOf(c.principal, thread)
		if err == nil {
			err = c.authorize(ctx, Action{Verb: ReadThread, Thread: thread})
		}
		if err != nil {
			yield(ThreadMessage{}, err)
			return
		}
		h, err := conversation.Open(c.server.settings.conversations, key).History(ctx)
		if err != nil {
			yield(ThreadMessage{}, ProblemOf(err))
			return
		}
		for i := range h.Turns {
			if !yieldTurn(&h.Turns[i], false, yield) {
				return
			}
		}
		if h.Open != nil {
			yieldTurn(h.Open, true, yield)
		}
	}
}

// yieldTurn yields the messages of a turn.
func yieldTurn(t *conversation.Turn, open bool, yield func(ThreadMessage, error) bool) bool {
	run := ""
	switch t.Kind {
	case conversation.Compaction:
		return true
	case conversation.Exchange:
		run = t.ID
	}
	n := 0
	one := func(agent string, m *schema.Message) bool {
		n++
		shown := ThreadMessage{ID: messageID(t, n), ClientID: clientIDOf(m), Run: run, Agent: agent, Open: open,
			Incomplete: t.Tags[turnIncomplete] != "" || conversation.IsIncomplete(m), Message: *publicMessage(&runlog.Message{Chat: m})}
		return m == nil || yield(shown, nil)
	}
	for _, m := range t.Asked {
		if !one("", m) {
			return false
		}
	}
	for _, said := range slices.Concat(t.Said, t.Partial) {
		if !one(said.AgentName, said.Message) {
			return false
		}
	}
	return true
}

// DeleteThread stops the runs of a thread and removes it: what was said in it, its runs, and forks of them. Where others
// execute the runs and cannot remove any, they are there no more for clients while the thread is not.
func (c *Caller) DeleteThread(ctx context.Context, thread string) error {
	key, err := threadKey(c.principal, thread)
	if err == nil {
		err = c.authorize(ctx, Action{Verb: DeleteThread, Thread: thread})
	}
	if err != nil {
		return err
	}
	for _, tag := range []string{tagThread, tagTurnThread} {
		q := runs.Query{Tags: map[string]string{tagOwner: c.principal.owner(), tag: thread}}
		if err := c.removeRuns(ctx, q); err != nil {
			return ProblemOf(err)
		}
	}
	if c.server.KeepsThreads() {
		err = c.server.settings.conversations.Delete(ctx, key)
	}
	if err != nil {
		return ProblemOf(err)
	}
	return nil
}

// removeRuns stops runs, and removes them if the Front can.
func (c *Caller) removeRuns(ctx context.Context, q runs.Query) error {
	stop := runs.StopRequest{Immediate: true, Reason: "the thread is deleted", By: c.principal.ID, Children: true}
	var ids []string // before any is removed: a list need not be of one moment
	for info, err := range c.server.runs.List(ctx, q) {
		if err != nil {
			return err
		}
		ids = append(ids, info.ID)
	}
	for _, id := range ids {
		err := c.server.runs.Stop(ctx, id, stop)
		if err != nil && !errors.Is(err, runs.ErrEnded) && !errors.Is(err, runs.ErrNotFound) {
			return err
		}
		if c.server.remover != nil {
			if err := c.server.remover.Remove(ctx, id, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// isDeleted reports whether a run is of a thread that was deleted. Where runs are removed with their thread, none is.
func (s *Server) isDeleted(ctx context.Context, info *runs.Info) bool {
	if s.remover != nil || !s.KeepsThreads() || !isTurn(info.Tags) || info.Key == "" {
		return false
	}
	_, exists, err := s.settings.conversations.Get(ctx, info.Key)
	return err == nil && !exists
}
