package serve

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// Stopped is the status of a run that was stopped, for clients, who cannot continue it. Package runs has the others: a
// run that is paused is a fork that waits to be continued (see [Fork].Hold).
const Stopped runs.Status = "stopped"

// statusOf returns the status of a run for clients. A run that is paused is over for them, but for a fork that was not
// stopped, which gives a reason.
func statusOf(info *runs.Info) runs.Status {
	switch {
	case info.Status != runs.Paused:
		return info.Status
	case info.Tags[tagForked] != "" && info.Error == "":
		return runs.Paused
	}
	return Stopped
}

// Run describes a run to clients.
type Run struct {
	ID     string      `json:"id"`
	Agent  string      `json:"agent"`
	Thread string      `json:"thread,omitempty"`
	Status runs.Status `json:"status"`
	// Questions lists the questions that it waits for.
	Questions []runs.Question   `json:"questions,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Created   time.Time         `json:"created"`
	Updated   time.Time         `json:"updated"`
	// Usage counts the tokens that its models have used since its beginning, up to when it last ended, waited or was handed
	// to another process. Nothing is known of a run that is executed for the first time, and of models that do not say.
	Usage *runs.Usage `json:"usage,omitempty"`
	// Forked says which run it was made from, if it was (see [Caller.Fork]).
	Forked *runlog.Fork `json:"forked,omitempty"`
	// Error says why it failed.
	Error *runlog.Err `json:"error,omitempty"`
	// Result is the last message of a run that is done. It is in the answer of [Caller.Result] only.
	Result *runlog.Message `json:"result,omitempty"`

	// Token is the token of the latest lease of the run. Later events have a higher one.
	Token uint64 `json:"-"`
	// info is the run that it was made of.
	info runs.Info
}

// HasEnded reports whether nothing more happens in the run.
func (r *Run) HasEnded() bool { return hasEnded(r.Status) }

func hasEnded(s runs.Status) bool { return s.HasEnded() || s == Stopped }

// OpenQuestion is a question in a list over several runs.
type OpenQuestion struct {
	Run    string `json:"run"`
	Thread string `json:"thread,omitempty"`
	runs.Question
}

// numbered matches what the record of a run appends to the ID of a call that a model has used before.
var numbered = regexp.MustCompile(`~[0-9]+$`)

// isForCall reports whether a question is for a client to carry out a call, and which: by the tool, and the ID of the model
// or the name of the call in the record of the run.
func isForCall(q *runs.Question, c *ClientCall) bool {
	var asked struct {
		ID   string `json:"call_id"`
		Name string `json:"name"`
	}
	return q.Kind == runs.KindClientTool && json.Unmarshal(q.Info, &asked) == nil &&
		(c.ID == asked.ID || numbered.ReplaceAllString(c.ID, "") == asked.ID) &&
		(c.Name == "" || asked.Name == "" || c.Name == asked.Name)
}

// numberOf is which call with its ID a name in the record is of, 1 if it does not say.
func numberOf(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(numbered.FindString(name), "~"))
	if err != nil {
		return 1
	}
	return n
}

// ClientCall is a call of a tool as a client knows it.
type ClientCall struct {
	// ID is the ID of the call in the record of the run, or the model's. Name is the tool, "" if the client does not say it.
	ID, Name string
	// Done says that there is a result: Text, or with Failed, why there is none.
	Done, Failed bool
	Text         string
}

// ClientAnswers are the answers to those questions that are calls for the client, of all calls that the client knows, in
// their order. Models use an ID again, also for calls of other tools in the same answer: a result belongs to a call of the
// tool that the question is about, and of several with one ID and tool the last are meant, as many as there are questions.
func ClientReplies(questions []runs.Question, calls []ClientCall) map[string]json.RawMessage {
	answers := map[string]json.RawMessage{}
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b ClientCall) int { return cmp.Compare(numberOf(a.ID), numberOf(b.ID)) })
	taken := make([]bool, len(calls))
	for i := range slices.Backward(questions) {
		q := &questions[i]
		for k, c := range slices.Backward(calls) {
			if taken[k] || !isForCall(q, &c) {
				continue
			}
			if taken[k] = true; c.Done && !q.Answered {
				answers[q.ID] = CallReply(c.Text, c.Failed)
			}
			break
		}
	}
	return answers
}

// CallAnswer is the answer to a call that a client has carried out: its result, or with failed, why there is none.
func CallReply(text string, failed bool) json.RawMessage {
	member := "text"
	if failed {
		member = "error"
	}
	data, _ := json.Marshal(map[string]string{member: text})
	return data
}

// isForClients reports whether clients answer a kind of question. Others are answered by clocks, runs and webhooks.
func isForClients(kind runs.Kind) bool {
	return kind != runs.KindTimer && kind != runs.KindRun && kind != runs.KindWebhook
}

// Tags that the server sets. Labels of clients cannot begin with the prefix.
const (
	tagPrefix = "weft."
	tagOwner  = tagPrefix + "owner"
	tagThread = tagPrefix + "thread"
	tagBody   = tagPrefix + "body"
	// tagReplaces is the run whose turn this one takes.
	tagReplaces = tagPrefix + "replaces"
	// tagStateless marks a run whose client has the history: it is no turn of a conversation.
	tagStateless = tagPrefix + "stateless"
	// tagSampling has what of Start.Sampling is set.
	tagSampling = tagPrefix + "sampling"
	// tagForked is the run that a fork was made from, and the step. tagTurn is the run whose turn of a thread it began as,
	// and tagTurnThread that thread.
	tagForked     = tagPrefix + "forked"
	tagTurn       = tagPrefix + "turn"
	tagTurnThread = tagPrefix + "turn_thread"
	// maxLabels leaves room for the tags of the server, of the 16 that stores take.
	maxLabels = 10
)

// isTurn reports whether a run with these tags is a turn of a conversation.
func isTurn(tags map[string]string) bool { return tags[tagThread] != "" && tags[tagStateless] == "" }

// runOf is a run for clients.
func (s *Server) runOf(info runs.Info) Run {
	r := Run{ID: info.ID, Agent: info.Agent, Thread: info.Tags[tagThread], Status: statusOf(&info), Forked: forkedOf(info.Tags),
		Created: info.Created, Updated: info.Updated, Token: info.Token, info: info}
	r.Labels = publicLabels(info.Tags)
	if info.Usage != (runs.Usage{}) {
		r.Usage = &info.Usage
	}
	switch r.Status {
	case runs.Waiting:
		for _, p := range info.Waiting {
			if isForClients(p.Kind) {
				r.Questions = append(r.Questions, p)
			}
		}
	case runs.Failed:
		r.Error = s.publicError(&runlog.Err{Type: "error", Message: info.Error})
	}
	return r
}

// mayAnswer reports whether a principal is among those whom a question waits for.
func (p Principal) mayAnswer(q runs.Question, isOwner bool) bool {
	if len(q.For) == 0 {
		return isOwner
	}
	return slices.ContainsFunc(q.For, func(who string) bool { return who == p.ID || slices.Contains(p.Scopes, who) })
}
