package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// AnsweredBefore looks for the answers of a request in the record of a run: whether it has continued with exactly them, and
// the token behind which what came of that is. A client sends answers again when it has not seen what came of them.
// answersTo are those that the request has to questions. Of several times the last one counts.
func (c *Caller) AnsweredBefore(
	ctx context.Context, run string, answersTo func([]Question) map[string]json.RawMessage,
) (behind uint64, found bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	idle := time.AfterFunc(lookFor, stop)
	defer idle.Stop()
	var points []runlog.Point
	var end uint64
	for e, err := range c.Events(ctx, run, runlog.Cursor{}) {
		if err != nil {
			break
		}
		idle.Reset(lookFor)
		switch d := e.Data.(type) {
		case *runlog.InterruptData:
			points = d.Points
		case *runlog.RunEndData:
			end = e.Token
		case *runlog.ResumeData:
			if areSame(points, d.Answers, answersTo) {
				behind, found = end, true
			}
		}
	}
	return behind, found
}

// answeredAgain returns the run that has continued with these answers before, as Answer returned it then. For other answers it
// returns late, the error of answers that come too late.
func (c *Caller) answeredAgain(ctx context.Context, info runs.Info, answers map[string]json.RawMessage, late error) (Run, error) {
	behind, found := c.AnsweredBefore(ctx, info.ID, func([]Question) map[string]json.RawMessage { return answers })
	if !found {
		return Run{}, late
	}
	run := c.server.runOf(info)
	run.Token = behind
	return run, nil
}

// areSame reports whether a run has continued with the answers of a request.
func areSame(
	points []runlog.Point, given map[string]json.RawMessage, answersTo func([]Question) map[string]json.RawMessage,
) bool {
	questions := make([]Question, len(points))
	for i, p := range points {
		questions[i] = Question{ID: p.ID, Kind: kindOf(p.Kind), Info: p.Info}
	}
	answers := answersTo(questions)
	for _, q := range questions {
		value, err := ReplyValue(runs.Question{ID: q.ID, Kind: q.Kind, Info: q.Info}, answers[q.ID])
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

// kindOf returns the kind of a question by the kind of its point.
func kindOf(k runlog.PointKind) string {
	switch k {
	case runlog.Approval:
		return adk.QuestionApproval
	case runlog.OutcomeUnknown:
		return adk.QuestionOutcome
	case runlog.ClientTool:
		return adk.QuestionClientTool
	}
	return adk.QuestionPlain
}

func sameJSON(a, b json.RawMessage) bool {
	var first, second bytes.Buffer
	return json.Compact(&first, a) == nil && json.Compact(&second, b) == nil && bytes.Equal(first.Bytes(), second.Bytes())
}
