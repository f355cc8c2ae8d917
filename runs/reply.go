package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/internal/serialization"
)

// Reply has the reply of a person or a program to a [Question].
type Reply struct {
	// To is the ID of the question.
	To string
	// Value is the value in the process that replies: the agent or tool that has asked gets it. It is nil in a reply that
	// comes out of a store, which keeps Data; see [Reply.Encoded].
	Value any
	// Data is the value as bytes: JSON, or a value that the type registry has encoded (JSON is false then). If Value and
	// Data are nil, the reply says nothing but that the run may continue.
	Data []byte
	JSON bool
	// By names the person who replied, in the application's terms. At is the time, which the store sets.
	By string
	At time.Time
}

// JSONReply is the value of a reply as JSON, of a sender that does not know the Go type that the question waits for.
type JSONReply []byte

// Expired is the value of the reply to a question whose time is over; see [Question].
type Expired struct {
	// Expired is the time at which the question expired.
	Expired time.Time
}

// ErrRefused is matched by the error of a reply that the Info of its question refuses; see [Checker].
var ErrRefused = errors.New("the reply is refused")

// EncodeReply makes a reply to the question with an ID for the inbox of a store ([Inbox]): see [Reply.Encoded].
func EncodeReply(to string, value any) (Reply, error) { return Reply{To: to, Value: value}.Encoded() }

// Encoded returns the reply with the Value in Data, for a store. The type of the value must be registered
// (schema.RegisterName); a [JSONReply] need not be. A reply without a Value stays as it is.
func (r Reply) Encoded() (Reply, error) {
	switch value := r.Value.(type) {
	case nil:
		return r, nil
	case JSONReply:
		if !json.Valid(value) {
			return Reply{}, fmt.Errorf("the reply to question %q is no JSON", r.To)
		}
		r.Data, r.JSON = value, true
	default:
		data, err := new(serialization.InternalSerializer).Marshal(value)
		if err != nil {
			return Reply{}, fmt.Errorf("reply to question %q: %w", r.To, err)
		}
		r.Data, r.JSON = data, false
	}
	r.Value = nil
	return r, nil
}

// Decoded returns the value of a reply out of a store, the opposite of [Reply.Encoded]: JSON is a [JSONReply].
func (r Reply) Decoded() (value any, err error) {
	switch {
	case r.Value != nil:
		return r.Value, nil
	case r.JSON:
		return JSONReply(r.Data), nil
	case len(r.Data) == 0:
		return nil, nil
	}
	if err = new(serialization.InternalSerializer).Unmarshal(r.Data, &value); err != nil {
		return nil, fmt.Errorf("reply to question %q: %w", r.To, err)
	}
	return value, nil
}

// Verdict is the decision of a person about a call.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	Rejected Verdict = "rejected"
	Edited   Verdict = "edited"
)

// Decider is an optional interface of the Info of an interrupt: Decide returns the reply that [Question.Approve],
// [Question.Edit] and [Question.Reject] stand for. text is the arguments of an edited call, or why one is rejected.
type Decider interface {
	Decide(verdict Verdict, text string) any
}

// Reply replies with a value for the tool or agent that has asked.
func (q Question) Reply(value any) Reply { return Reply{To: q.ID, Value: value} }

// Approve lets the call run. To a question that is not for approval it replies true.
func (q Question) Approve() Reply { return q.decide(Approved, "", true) }

// Edit lets the call run with other arguments, which must be JSON. To a question that is not for approval it replies with
// the text.
func (q Question) Edit(arguments string) Reply { return q.decide(Edited, arguments, arguments) }

// Reject keeps the call from running; the model reads why. To a question that is not for approval it replies false.
func (q Question) Reject(why string) Reply { return q.decide(Rejected, why, false) }

func (q Question) decide(verdict Verdict, text string, otherwise any) Reply {
	if d, ok := q.Value().(Decider); ok {
		return q.Reply(d.Decide(verdict, text))
	}
	return q.Reply(otherwise)
}
