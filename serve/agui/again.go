package agui

import (
	"context"
	"iter"
	"slices"

	"github.com/weftgo/weft/serve"
)

// replaced is the run of a thread in whose place a request asks, "" if it asks behind the end. A client sends the messages
// that its page shows. If the last of them is a question that the thread has, it is to be answered again; if the page has
// left out what the thread has behind its last known message, the new question is asked in that place, and what the page
// does not show is left out of the thread. A request without any message that the thread knows asks behind the end.
func (h *handler) replaced(ctx context.Context, c *serve.Caller, in *input) (run string, err error) {
	if h.conf.TrustHistory || !h.server.KeepsThreads() {
		return "", nil
	}
	var t asked
	if err := t.read(c.Messages(ctx, in.ThreadID)); err != nil {
		return "", err
	}
	last, shown := "", -1
	for i := range in.Messages {
		m := &in.Messages[i]
		if at := t.turnOf(m.ID); at >= 0 {
			shown = max(shown, at)
			if i == len(in.Messages)-1 && m.isUser() {
				last = t.runs[at]
			}
		}
	}
	switch {
	case last != "":
		return last, nil
	case shown >= 0 && shown+1 < len(t.runs):
		return t.runs[shown+1], nil
	}
	return "", nil
}

// asked are the turns of a thread: their runs, in order, and the turn of each question, by the IDs that clients know it by.
type asked struct {
	runs  []string
	turns map[string]int
}

func (t *asked) read(thread iter.Seq2[serve.ThreadMessage, error]) error {
	t.turns = map[string]int{}
	for m, err := range thread {
		if err != nil {
			return err
		}
		if m.Run == "" {
			continue
		}
		at := slices.Index(t.runs, m.Run)
		if at < 0 {
			at, t.runs = len(t.runs), append(t.runs, m.Run)
		}
		if m.Agent == "" {
			t.turns[m.ID], t.turns[m.ClientID] = at, at
		}
	}
	delete(t.turns, "")
	return nil
}

// turnOf is the turn that a message was asked in, -1 if the thread has no question with the ID.
func (t *asked) turnOf(id string) int {
	if at, known := t.turns[id]; known {
		return at
	}
	return -1
}
