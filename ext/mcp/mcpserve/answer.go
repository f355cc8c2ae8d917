package mcpserve

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
)

// Texts of answers of users who give none.
const (
	declined  = "the user declined"
	dismissed = "the user dismissed the question without an answer"
)

// forms are the schemas of what is asked, by the kinds of questions. The contents have the forms of
// serve.Caller.Reply.
var forms = map[runs.Kind]json.RawMessage{
	runs.KindApproval: json.RawMessage(`{"type":"object","properties":{` +
		`"approve":{"type":"boolean","title":"Approve"},"text":{"type":"string","title":"Reason, if not"}},` +
		`"required":["approve"]}`),
	runs.KindClientTool: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","title":"Result"}},` +
		`"required":["text"]}`),
	runs.KindOutcome: json.RawMessage(`{"type":"object","properties":{` +
		`"rerun":{"type":"boolean","title":"It did not run: run it again"},` +
		`"result":{"type":"string","title":"It ran: its result"}}}`),
}

// plainForm asks for a text.
var plainForm = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},` +
	`"required":["answer"]}`)

// samplingForm asks for the answer of a model.
var samplingForm = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","title":"Answer"}},` +
	`"required":["text"]}`)

// againID is the ID of the request that asks whether to try again.
const againID = "again"

// again asks whether to try again to continue a run.
func again() *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		Message: "The agent could not be continued for now, and the answer was not used. Accept to try again."}
}

// savedResponses are answers of a client that are kept as JSON.
func savedResponses(saved json.RawMessage) (mcp.InputResponseMap, error) {
	var responses mcp.InputResponseMap
	if err := json.Unmarshal(saved, &responses); err != nil {
		return nil, fmt.Errorf("the saved answers cannot be read: %w", err)
	}
	return responses, nil
}

// asked returns the questions to a client about an interrupt, by the IDs of requests. byURL: the client can open
// addresses.
func asked(c *adk.InterruptCtx, byURL bool) (point, map[string]*mcp.ElicitParams) {
	if q, ok := c.Info.(*mcptool.Question); ok && q != nil {
		return passedOn(c.ID, q, byURL)
	}
	q := runs.NewQuestion(c.ID, c.Info)
	p := point{ID: c.ID, Kind: q.Kind}
	if r, ok := c.Info.(*approval.Request); ok && r != nil {
		p.Info, _ = json.Marshal(&approval.Request{Hash: r.Hash})
	}
	form, ok := forms[q.Kind]
	if !ok || q.Kind == runs.KindApproval && p.Info == nil {
		form = plainForm
	}
	message := q.Text
	if message == "" {
		message = "The agent needs an answer."
	}
	return p, map[string]*mcp.ElicitParams{c.ID: {Mode: "form", Message: message, RequestedSchema: form}}
}

// passedOn asks the client what another MCP server has asked the agent.
func passedOn(id string, q *mcptool.Question, byURL bool) (point, map[string]*mcp.ElicitParams) {
	p, requests := point{ID: id}, map[string]*mcp.ElicitParams{}
	for _, in := range q.Inputs {
		p.Inputs = append(p.Inputs, in.ID)
		request := &mcp.ElicitParams{Mode: "form", Message: q.Server + " asks: " + in.Message, RequestedSchema: in.Schema}
		switch {
		case in.Kind == mcptool.InputURL && byURL:
			request.Mode, request.URL, request.ElicitationID, request.RequestedSchema = "url", in.URL, in.ElicitationID, nil
		case in.Kind == mcptool.InputURL:
			request.Message += "\nOpen " + in.URL + " and accept when it is done."
			request.RequestedSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		case in.Kind == mcptool.InputSampling:
			request.Message += "\n" + string(in.Sampling)
			request.RequestedSchema = samplingForm
		}
		if q.Refused != "" {
			request.Message += "\nThe answer before was refused: " + q.Refused
		}
		requests[inputID(id, in.ID)] = request
	}
	return p, requests
}

// inputID is the ID of the request for one input of a point.
func inputID(point, input string) string { return point + "/" + input }

// answersOf is the value that the agent gets for what a client says to a point. given is false if it says nothing.
func answersOf(p point, responses mcp.InputResponseMap) (value any, given bool, err error) {
	if len(p.Inputs) == 0 {
		response, given := responses[p.ID]
		if !given {
			return nil, false, nil
		}
		value, err = answerOf(p, response)
		return value, true, err
	}
	answers := mcptool.Answers{}
	for _, input := range p.Inputs {
		if said, ok := responses[inputID(p.ID, input)].(*mcp.ElicitResult); ok && said != nil {
			answers[input] = mcptool.Answer{Action: said.Action, Content: said.Content}
		}
	}
	return answers, len(answers) > 0, nil
}

// answerOf is the value that the agent gets for what a client says.
func answerOf(p point, response mcp.InputResponse) (any, error) {
	said, ok := response.(*mcp.ElicitResult)
	if !ok || said == nil {
		return nil, errors.New("it is not answered with a form")
	}
	var content any = said.Content
	switch said.Action {
	case "accept":
	case "decline":
		content = refusal(p, declined)
	case "cancel":
		content = refusal(p, dismissed)
	default:
		return nil, fmt.Errorf("the action %q is unknown", said.Action)
	}
	_, isForm := forms[p.Kind]
	isForm = isForm && (p.Kind != runs.KindApproval || p.Info != nil)
	if !isForm && said.Action == "accept" {
		content = said.Content["answer"]
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if !isForm {
		return runs.JSONReply(data), nil
	}
	return serve.ReplyValue(runs.Question{ID: p.ID, Kind: p.Kind, Info: p.Info}, data)
}

// refusal is the answer of a user who gives none.
func refusal(p point, text string) any {
	switch {
	case p.Kind == runs.KindApproval && p.Info != nil:
		return map[string]any{"approve": false, "text": text}
	case p.Kind == runs.KindClientTool, p.Kind == runs.KindOutcome:
		return map[string]any{"error": text}
	}
	return text
}
