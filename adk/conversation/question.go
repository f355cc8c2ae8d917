package conversation

import (
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/internal/serialization"
)

// Question describes the answer that an interrupted run waits for: the approval of a tool call, or whatever else a tool or
// an agent has stopped for.
type Question struct {
	// ID is the ID of the interrupt, which a reply names.
	ID string
	// Agent is the agent that waits.
	Agent string
	// Text says what is asked.
	Text string
	// Tool, CallID and Arguments are the call that waits for approval; empty for other questions.
	Tool, CallID, Arguments string
	// Info is the info of the interrupt; of a question out of a store it is nil if its type is not registered
	// (schema.RegisterName).
	Info any
}

// Reply answers a [Question].
type Reply struct {
	// ID is the question's.
	ID string
	// Value is the answer for the interrupted tool or agent.
	Value any
}

// QuestionsOf makes the questions of an interrupted run.
func QuestionsOf(info *adk.InterruptInfo) []Question {
	if info == nil {
		return nil
	}
	var questions []Question
	for _, at := range info.InterruptContexts {
		if at.IsRootCause {
			questions = append(questions, questionOf(at))
		}
	}
	return questions
}

func questionOf(at *adk.InterruptCtx) Question {
	q := Question{ID: at.ID, Info: at.Info}
	for i := range at.Address {
		if at.Address[i].Type == adk.AddressSegmentAgent {
			q.Agent = at.Address[i].ID
		}
	}
	if r := q.request(); r != nil {
		q.Tool, q.CallID, q.Arguments = r.Tool, r.CallID, r.Arguments
		q.Text = fmt.Sprintf("May %s run with %s?", r.Tool, r.Arguments)
	} else if at.Info != nil {
		q.Text = fmt.Sprint(at.Info)
	}
	return q
}

func (q *Question) request() *approval.Request {
	r, _ := q.Info.(*approval.Request)
	return r
}

// Reply answers with a value for the tool or agent that has asked. A question for approval is answered by Approve, Edit
// or Reject.
func (q Question) Reply(value any) Reply { return Reply{q.ID, value} }

// Approve lets the call run. Of a question that is not for approval it is Reply(true).
func (q Question) Approve() Reply {
	if r := q.request(); r != nil {
		return Reply{q.ID, r.Approve()}
	}
	return Reply{q.ID, true}
}

// Edit lets the call run with other arguments, which must be JSON. Of a question that is not for approval it is Reply.
func (q Question) Edit(arguments string) Reply {
	if r := q.request(); r != nil {
		return Reply{q.ID, r.Edit(arguments)}
	}
	return Reply{q.ID, arguments}
}

// Reject keeps the call from running; the model reads why. Of a question that is not for approval it is Reply(false).
func (q Question) Reject(why string) Reply {
	if r := q.request(); r != nil {
		return Reply{q.ID, r.Reject(why)}
	}
	return Reply{q.ID, false}
}

// storable leaves out what cannot be stored.
func storable(questions []Question) []Question {
	if len(questions) == 0 {
		return nil
	}
	kept := make([]Question, len(questions))
	for i, q := range questions {
		if _, err := new(serialization.InternalSerializer).Marshal(q); err != nil {
			q.Info = nil
		}
		kept[i] = q
	}
	return kept
}
