package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// AnsweredBefore looks for the answers of a request in the record of a run: whether it has continued with exactly them, and
// the token behind which what came of that is. A client sends answers again when it has not seen what came of them.
// answersTo are those that the request has to questions. Of several times the last one counts.
func (c *Caller) RepliedBefore(
	ctx context.Context, run string, answersTo func([]runs.Question) map[string]json.RawMessage,
) (behind uint64, found bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	idle := time.AfterFunc(lookFor, stop)
	defer idle.Stop()
	var questions []runs.Question
	var end uint64
	for e, err := range c.Watch(ctx, run, runs.Cursor{}) {
		if err != nil {
			break
		}
		idle.Reset(lookFor)
		switch d := e.Data.(type) {
		case *runlog.WaitingData:
			questions = d.Questions
		case *runlog.RunEndData:
			end = e.Token
		case *runlog.RepliesData:
			if areSame(questions, d.Replies, answersTo) {
				behind, found = end, true
			}
		}
	}
	return behind, found
}

// answeredAgain returns the run that has continued with these answers before, as Answer returned it then. For other answers it
// returns late, the error of answers that come too late.
func (c *Caller) answeredAgain(ctx context.Context, info runs.Info, answers map[string]json.RawMessage, late error) (Run, error) {
	behind, found := c.RepliedBefore(ctx, info.ID, func([]runs.Question) map[string]json.RawMessage { return answers })
	if !found {
		return Run{}, late
	}
	run := c.server.runOf(info)
	run.Token = behind
	return run, nil
}

// areSame reports whether a run has continued with the answers of a request.
func areSame(
	questions []runs.Question, given map[string]json.RawMessage, answersTo func([]runs.Question) map[string]json.RawMessage,
) bool {
	answers := answersTo(questions)
	for _, q := range questions {
		value, err := ReplyValue(q, answers[q.ID])
		if err != nil {
			return false
		}
		data, err := json.Marshal(value)
		if err != nil || !sameJSON(data, given[q.ID]) {
			return false
		}
	}
	return len(questions) > 0
}

func sameJSON(a, b json.RawMessage) bool {
	var first, second bytes.Buffer
	return json.Compact(&first, a) == nil && json.Compact(&second, b) == nil && bytes.Equal(first.Bytes(), second.Bytes())
}
