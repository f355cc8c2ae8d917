package adk

import (
	"time"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func init() {
	schema.RegisterName[runs.JSONReply]("_weft_adk_json_answer")
	schema.RegisterName[*runs.Expired]("_weft_adk_answer_expired")
}

// Questions returns what an interrupted run waits for, each with its Info ([runs.Question.Value]). The last event of
// the run has the info; nil has no questions.
func Questions(info *InterruptInfo) (questions []runs.Question) {
	if info == nil {
		return nil
	}
	for _, c := range info.InterruptContexts {
		if c != nil && c.IsRootCause {
			questions = append(questions, questionAt(c))
		}
	}
	return questions
}

// questionAt returns the question of an interrupt, with its place in the run.
func questionAt(c *InterruptCtx) runs.Question {
	q := runs.NewQuestion(c.ID, c.Info)
	q.Address = c.Address.String()
	var tool, call string
	for _, s := range c.Address {
		switch s.Type {
		case AddressSegmentAgent:
			q.Agent = s.ID
		case AddressSegmentTool:
			tool, call = s.ID, s.SubID
		}
	}
	if q.Tool == "" {
		q.Tool, q.Call = tool, call
	}
	return q
}

// waitingFor returns the questions of a run that stopped, as its store keeps them, and the Infos by their IDs.
func waitingFor(signal *InterruptSignal, since time.Time) (questions []runs.Question, infos map[string]any) {
	infos = map[string]any{}
	for _, c := range interruptContexts(signal) {
		if !c.IsRootCause {
			continue
		}
		q := questionAt(c).Listed()
		q.Since = since
		questions, infos[c.ID] = append(questions, q), c.Info
	}
	return questions, infos
}

// IsCancelPoint reports whether an interrupt is where a cancelled run stopped, and no question of anybody.
func IsCancelPoint(point *InterruptCtx) bool {
	switch info := point.Info.(type) {
	case string:
		return info == infoStopped || info == infoAfterChatModel || info == infoAfterToolCalls
	case *compose.ToolsInterruptAndRerunExtra: // calls that were given up, none of which asks
		return true
	}
	return false
}
