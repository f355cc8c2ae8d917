package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/runs"
)

// Answer answers questions of a run that waits, by their IDs: all of them or, with an error, none. Without partial every
// question that is open must be answered. The run continues when it has what it needs. The same answers again, of a
// client that has not seen what came of them, change nothing and are no error, whatever happened to the run since: their
// effects are behind the Token of the Run.
//
// The answer to an approval is {"approve": true}, with "arguments" to run the call with others, or {"approve": false},
// with a "text" for the model. Only a JSON true approves. A call for the client is answered by {"text": …} or
// {"error": …}; a call whose outcome is unknown by {"rerun": true}, {"result": …} or {"error": …}; other questions by
// whatever JSON the agent asks for.
func (c *Caller) Reply(ctx context.Context, id string, answers map[string]json.RawMessage, partial bool) (Run, error) {
	info, how, err := c.inspect(ctx, id, ReplyRun)
	if err != nil {
		return Run{}, err
	}
	if info.Status != runs.Waiting {
		return c.answeredAgain(ctx, info, answers, NewProblem(AlreadyAnswered, "the run waits for no answer").of(id))
	}
	if len(answers) == 0 {
		return Run{}, NewProblem(BadRequest, "there is no answer").of(id)
	}
	var encoded []runs.Reply
	for _, p := range info.Waiting {
		answer, given := answers[p.ID]
		if !isForClients(p.Kind) {
			continue
		}
		if !given {
			if !partial && !p.Answered && !p.Optional && c.principal.mayAnswer(p, how == asOwner) {
				return Run{}, NewProblem(BadRequest, "question %s is not answered: answer all of them, or say partial", p.ID).of(id)
			}
			continue
		}
		if !c.principal.mayAnswer(p, how == asOwner) {
			return Run{}, NewProblem(Forbidden, "question %s waits for others", p.ID).of(id)
		}
		a, err := c.encodeAnswer(ctx, p, answer)
		if err != nil {
			return Run{}, ProblemOf(err).of(id)
		}
		a.By, a.At = c.principal.ID, time.Now()
		encoded = append(encoded, a)
	}
	if len(encoded) < len(answers) {
		return c.answeredAgain(ctx, info, answers,
			NewProblem(NotFound, "the run waits for none of the questions with one of these IDs").of(id))
	}
	if err := c.server.runs.Reply(ctx, id, encoded...); err != nil {
		return Run{}, ProblemOf(err).of(id)
	}
	token := info.Token
	if now, exists, err := c.server.runs.Inspect(ctx, id); err == nil && exists { // who has answered may not see it any more
		info = now
	}
	run := c.server.runOf(info)
	run.Token = token // events behind the answer have a higher one, however far the run is by now
	return run, nil
}

// owns reports whether a run is one of the caller's own, and not one of others that it answers questions of.
func (c *Caller) owns(run *Run) bool { return run.info.Tags[tagOwner] == c.principal.owner() }

// encodeAnswer makes what an agent gets of what a client says to a question.
func (c *Caller) encodeAnswer(
	ctx context.Context, p runs.Question, answer json.RawMessage,
) (runs.Reply, error) {
	switch {
	case p.Answered:
		return runs.Reply{}, NewProblem(AlreadyAnswered, "question %s was answered before", p.ID)
	case !p.Expires.IsZero() && time.Now().After(p.Expires):
		return runs.Reply{}, NewProblem(Expired, "question %s has expired", p.ID)
	case !json.Valid(answer):
		return runs.Reply{}, NewProblem(BadRequest, "the answer to question %s is no JSON", p.ID)
	}
	value, err := ReplyValue(p, answer)
	if err != nil {
		refused := NewProblem(BadRequest, "the answer to question %s is not of its kind", p.ID)
		refused.Cause = err
		return runs.Reply{}, refused
	}
	if d, ok := value.(*approval.Decision); ok && c.server.settings.signDecision != nil {
		if err := c.server.settings.signDecision(ctx, c.principal, d); err != nil {
			return runs.Reply{}, &Problem{Code: Forbidden, Title: "the decision is not signed", Cause: err}
		}
	}
	a, err := runs.EncodeReply(p.ID, value)
	if err != nil {
		return a, ProblemOf(err)
	}
	return a, nil
}

// ReplyValue returns what an agent is resumed with for what a client says to a question, in the forms of
// [Caller.Reply]. It is for front ends that resume runs by themselves. Of the point it reads Kind, and Info if Kind is
// approval. An answer that is not of its kind is an error.
func ReplyValue(p runs.Question, answer json.RawMessage) (any, error) {
	switch p.Kind {
	case runs.KindApproval:
		var request approval.Request
		if err := json.Unmarshal(p.Info, &request); err != nil {
			return nil, err
		}
		if request.Hash == "" { // a question of the application's own
			return runs.JSONReply(answer), nil
		}
		return decisionOf(&request, answer)
	case runs.KindOutcome:
		var said struct {
			Rerun  bool    `json:"rerun"`
			Result *string `json:"result"`
			Error  string  `json:"error"`
		}
		if err := decodeStrictly(answer, &said); err != nil {
			return nil, err
		}
		if ways := countOf(said.Rerun, said.Result != nil, said.Error != ""); ways != 1 {
			return nil, NewProblem(BadRequest, "say rerun, result or error")
		}
		outcome := &adk.ToolOutcome{Rerun: said.Rerun, Err: said.Error}
		if said.Result != nil {
			outcome.Result = *said.Result
		}
		return outcome, nil
	case runs.KindClientTool:
		var said struct {
			Text  *string `json:"text"`
			Error string  `json:"error"`
		}
		if err := decodeStrictly(answer, &said); err != nil {
			return nil, err
		}
		if countOf(said.Text != nil, said.Error != "") != 1 {
			return nil, NewProblem(BadRequest, "say text or error")
		}
		result := &adk.ClientToolResult{Error: said.Error}
		if said.Text != nil {
			result.Text = *said.Text
		}
		return result, nil
	}
	return runs.JSONReply(answer), nil
}

// decisionOf is the decision about a request. Whatever is not exactly an approval is none.
func decisionOf(request *approval.Request, answer json.RawMessage) (*approval.Decision, error) {
	var said struct {
		Approve   *bool           `json:"approve"`
		Arguments json.RawMessage `json:"arguments"`
		Text      string          `json:"text"`
	}
	if err := decodeStrictly(answer, &said); err != nil {
		return nil, err
	}
	switch {
	case said.Approve == nil:
		return nil, NewProblem(BadRequest, "say approve")
	case !*said.Approve:
		return request.Reject(said.Text), nil
	case len(said.Arguments) == 0 || string(said.Arguments) == "null":
		return request.Approve(), nil
	}
	if trimmed := bytes.TrimSpace(said.Arguments); trimmed[0] != '{' {
		return nil, NewProblem(BadRequest, "arguments are an object")
	}
	return request.Edit(string(said.Arguments)), nil
}

// countOf counts the arguments that are true.
func countOf(all ...bool) (n int) {
	for _, set := range all {
		if set {
			n++
		}
	}
	return n
}

// sortedQuestions are questions, each once, the oldest first.
func sortedQuestions(questions []OpenQuestion) []OpenQuestion {
	slices.SortStableFunc(questions, func(a, b OpenQuestion) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Run, b.Run), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(questions, func(a, b OpenQuestion) bool { return a.Run == b.Run && a.ID == b.ID })
}
