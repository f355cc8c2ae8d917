package runs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/serialization"
)

// Kind names what a question asks for. Applications add kinds of their own.
type Kind string

// The kinds that the library asks. A run that waits for nothing but outcomes, timers and runs is continued by its workers.
const (
	KindQuestion   Kind = "question"    // anything: Schema says which JSON, URL which page to open
	KindApproval   Kind = "approval"    // may this call run?
	KindOutcome    Kind = "outcome"     // what became of a call whose process died?
	KindTimer      Kind = "timer"       // a time to come
	KindRun        Kind = "run"         // another run to end
	KindWebhook    Kind = "webhook"     // a call of another service
	KindClientTool Kind = "client_tool" // a call that the client carries out
)

// Question describes what a run waits for: the approval of a call, a form, a page to open, a timer, another run. Stores list
// the questions of a run that waits ([Info].Waiting), the log of a run has them, and [github.com/weftgo/weft/adk.Questions]
// makes them of an interrupt. Its methods make the [Reply].
//
// Fields that a kind does not use are empty: approval, outcome and client_tool have Arguments, question has Schema and URL,
// and what people decide has For.
type Question struct {
	// ID is the ID of the interrupt point, which a reply names. Address is where in the run it is, Agent the agent that asks.
	ID      string `json:"id"`
	Address string `json:"address,omitempty"`
	Kind    Kind   `json:"kind"`
	Agent   string `json:"agent,omitempty"`
	// Tool and Call are the tool call that asks or is asked about, Arguments what it is called with: JSON, which stores cut off
	// after 4 KiB.
	Tool      string `json:"tool,omitempty"`
	Call      string `json:"call,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Text is one line for people, cut off after 500 bytes.
	Text string `json:"text,omitempty"`
	// For are the users, groups and roles that may reply, as the application names them. Without any it is for the owner of the run.
	For []string `json:"for,omitempty"`
	// Schema is the JSON Schema of a reply in JSON, for a program that shows a form; nil says nothing.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL is the page that the person opens to reply. It is to be shown whole, and opened by no program.
	URL string `json:"url,omitempty"`
	// Info is the Info of the interrupt as JSON, at most 16 KiB. A longer one is shortened or left out, and Truncated set.
	// InfoType is its Go type: the name that it is registered with (schema.RegisterName), if it is.
	Info      json.RawMessage `json:"info,omitempty"`
	InfoType  string          `json:"info_type,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	// Optional: the run does not wait for this one if it has others that are not optional. Of several that are all
	// optional one reply is enough.
	Optional bool `json:"optional,omitempty"`
	// Answered: the question has a reply that the run has not used yet.
	Answered bool `json:"answered,omitempty"`
	// Since is the time at which the run began to wait. After Expires a reply is refused, and the run continues with [Expired]; the zero
	// time is never.
	Since   time.Time `json:"since,omitzero"`
	Expires time.Time `json:"expires,omitzero"`

	value any // the Info itself, in the process that asks
}

// Asker is an optional interface of the Info of an interrupt: Asks returns the question that lists show, also in another
// process that knows nothing but the store. ID, Address, Agent, Info and Since are filled in by the caller.
type Asker interface{ Asks() Question }

// Shortener is an optional interface of the Info of an interrupt that can be too long for a list, which takes 16 KiB of
// JSON: Shortened returns what is shown instead, with no text of more than a number of bytes.
type Shortener interface{ Shortened(most int) any }

// Checker is an optional interface of the Info of an interrupt: CheckReply refuses a bad reply where it is given, before the
// run continues. A reply that came as JSON is a [JSONReply].
type Checker interface{ CheckReply(value any) error }

const (
	longestText      = 500
	longestInfo      = 16 << 10
	longestArguments = 4 << 10
)

// NewQuestion makes the question of an interrupt with an Info. One that is an [Asker] says what it asks. Of others it is of
// kind question, with their text if they have one. A panic of the Info leaves out what it was asked for.
func NewQuestion(id string, info any) (q Question) {
	switch v := info.(type) {
	case Asker:
		_ = safely(func() error { q = v.Asks(); return nil })
	case string:
		q.Text = v
	case fmt.Stringer:
		_ = safely(func() error { q.Text = v.String(); return nil })
	}
	if q.Kind == "" {
		q.Kind = KindQuestion
	}
	switch q.Kind {
	case KindOutcome, KindTimer, KindRun:
		q.Optional = true
	}
	if !json.Valid(q.Schema) {
		q.Schema = nil
	}
	q.ID, q.Text, q.value = id, cutOff(q.Text, longestText), info
	q.Info, q.Truncated = infoJSON(info)
	if info != nil {
		q.InfoType = serialization.TypeName(reflect.TypeOf(info))
	}
	return q
}

// Listed returns the question in the size that a store keeps of it.
func (q Question) Listed() Question {
	if len(q.Arguments) > longestArguments {
		q.Arguments, q.Truncated = cutOff(q.Arguments, longestArguments), true
	}
	q.Text = cutOff(q.Text, longestText)
	return q
}

// Value returns the Info of the interrupt. Of a question out of a store or from another process it is made of the JSON in
// Info, if this program registers the InfoType, and nil otherwise.
func (q Question) Value() any {
	if q.value != nil || len(q.Info) == 0 {
		return q.value
	}
	t, err := serialization.TypeNamed(q.InfoType)
	if err != nil {
		return nil
	}
	value := reflect.New(t)
	if json.Unmarshal(q.Info, value.Interface()) != nil {
		return nil
	}
	return value.Elem().Interface()
}

// infoJSON returns an Info in the form in which it is shown, and whether it was shortened, or left out because it is too
// long or cannot be encoded.
func infoJSON(info any) (data json.RawMessage, truncated bool) {
	encode := func(info any) error {
		return safely(func() (err error) { data, err = json.Marshal(info); return err })
	}
	err := encode(info)
	if s, ok := info.(Shortener); ok && err == nil && len(data) > longestInfo {
		truncated = true
		var short any
		if err = safely(func() error { short = s.Shortened(longestInfo / 4); return nil }); err == nil {
			err = encode(short)
		}
	}
	if err != nil || string(data) == "null" {
		return nil, err != nil
	}
	if len(data) > longestInfo {
		return nil, true
	}
	return data, truncated
}

// safely calls a function of the application. A panic of it becomes its error.
func safely(call func() error) (err error) {
	defer safe.Recover(&err)
	return call()
}

// cutOff cuts a text off after a number of bytes, between characters.
func cutOff(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
