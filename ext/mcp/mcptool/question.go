package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// mostRounds is the number of times that a server may ask within one call.
const mostRounds = 10

// busyPauses are the pauses after answers of a server that has no time.
var busyPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Question is the Info of the interrupt of a run whose call a server answered with questions. The run is resumed with
// [Answers] to them, or with JSON of that form, in whatever process.
type Question struct {
	// Server is the name of the [Server], and Tool the name that the server gives its tool.
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Inputs lists the questions, ordered by ID.
	Inputs []Input `json:"inputs"`
	// Refused says why the answers before were not taken, "" if there were none.
	Refused string `json:"refused,omitempty"`
}

// Kinds of an [Input].
const (
	// InputForm asks for values that fit Schema.
	InputForm = "form"
	// InputURL asks the user to open URL, and to say so. Weft never opens it.
	InputURL = "url"
	// InputSampling asks for the answer of a model to Sampling; the content of its Answer is {"text": …}.
	InputSampling = "sampling"
)

// Input is one thing that a server asks.
type Input struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Message is the server's text for the user.
	Message string `json:"message"`
	// Schema is the JSON schema of the content of an answer: an object of plain properties.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL is an address of https, or of http on this machine. Show its host in full.
	URL           string `json:"url,omitempty"`
	ElicitationID string `json:"elicitation_id,omitempty"`
	// Sampling is the request as the protocol has it.
	Sampling json.RawMessage `json:"sampling,omitempty"`
}

// Actions of an [Answer].
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Answer answers an [Input].
type Answer struct {
	Action string `json:"action"`
	// Content holds the user's input, with Accept. What it lacks has the defaults of the schema.
	Content map[string]any `json:"content,omitempty"`
}

// Answers are answers by the IDs of the inputs. What is not answered is asked again.
type Answers map[string]Answer

// waiting holds what the run remembers of a call that the server has asked something about.
type waiting struct {
	Server, Tool, Arguments string
	// RequestState is the server's own, and goes back to it as it came.
	RequestState string
	// Question is the JSON of the Question.
	Question string
	// Given are the answers so far as the protocol has them, as JSON, by the IDs of their inputs.
	Given map[string]string
	// Rounds counts how often the server has asked, and Sampled how often it had a model asked.
	Rounds, Sampled int
}

func init() {
	schema.RegisterName[*Question]("_weft_mcptool_question")
	schema.RegisterName[Answers]("_weft_mcptool_answers")
	schema.RegisterName[*waiting]("_weft_mcptool_waiting")
}

// Asks says how the question is listed: see [runs.Asker].
func (q *Question) Asks() runs.Question {
	var texts []string
	url := ""
	for _, in := range q.Inputs {
		text := oneLine(in.Message)
		if in.Kind == InputURL {
			text += " (opens " + hostOf(in.URL) + ")"
			if len(q.Inputs) == 1 {
				url = in.URL
			}
		}
		texts = append(texts, text)
	}
	return runs.Question{Kind: runs.KindQuestion, Schema: q.answersSchema(), URL: url,
		Text: fmt.Sprintf("MCP server %s asks: %s", q.Server, strings.Join(texts, "; "))}
}

// answersSchema is the JSON Schema of the [Answers] to the question.
func (q *Question) answersSchema() json.RawMessage {
	inputs := map[string]any{}
	var ids []string
	for _, in := range q.Inputs {
		members := map[string]any{"action": map[string]any{"enum": []string{Accept, Decline, Cancel}}}
		if json.Valid(in.Schema) {
			members["content"] = in.Schema
		}
		inputs[in.ID] = map[string]any{"type": "object", "properties": members, "required": []string{"action"}}
		ids = append(ids, in.ID)
	}
	data, err := json.Marshal(map[string]any{"type": "object", "properties": inputs, "required": ids})
	if err != nil {
		return nil
	}
	return data
}

// CheckReply refuses what is no answer to this question: see [runs.Checker].
func (q *Question) CheckReply(answer any) error {
	var answers Answers
	switch v := answer.(type) {
	case nil:
		return nil // it is asked again
	case Answers:
		answers = v
	case runs.JSONReply:
		if err := json.Unmarshal(v, &answers); err != nil {
			return fmt.Errorf("answer with an object of {\"action\": …, \"content\": …} by the IDs of the inputs: %w", err)
		}
	default:
		return fmt.Errorf("it is %T: give mcptool.Answers", answer)
	}
	for id, a := range answers {
		if q.input(id) == nil {
			return fmt.Errorf("there is no input %q", id)
		}
		switch a.Action {
		case Accept, Decline, Cancel:
		default:
			return fmt.Errorf("the action %q is not accept, decline or cancel", a.Action)
		}
	}
	return nil
}

func (q *Question) input(id string) *Input {
	for i := range q.Inputs {
		if q.Inputs[i].ID == id {
			return &q.Inputs[i]
		}
	}
	return nil
}

// call calls the tool, or continues a call about which the server has asked.
func (t *remoteTool) call(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	asked, has, w := tool.GetInterruptState[*waiting](ctx)
	mine := asked && has && w != nil &&
		w.Server == t.server.conf.Name && w.Tool == t.raw && w.Arguments == string(arguments)
	if !mine {
		return t.rounds(ctx, &waiting{Server: t.server.conf.Name, Tool: t.raw, Arguments: string(arguments)})
	}
	var q Question
	if err := json.Unmarshal([]byte(w.Question), &q); err != nil {
		return nil, t.server.fail(ctx, Protocol, t.raw, fmt.Errorf("the saved question cannot be read: %w", err))
	}
	target, answered, answers := tool.GetResumeContext[Answers](ctx)
	if !target || !answered {
		return nil, t.interrupt(ctx, w, &q)
	}
	if q.take(ctx, w, answers); len(q.Inputs) > 0 {
		return nil, t.interrupt(ctx, w, &q)
	}
	return t.rounds(ctx, w)
}

// interrupt stops the run until there are answers.
func (t *remoteTool) interrupt(ctx context.Context, w *waiting, q *Question) error {
	w.Question = jsonText(q)
	return tool.StatefulInterrupt(ctx, q, w)
}

// take takes answers, and leaves the inputs that have none, or none that fits.
func (q *Question) take(ctx context.Context, w *waiting, answers Answers) {
	var open []Input
	var refused []string
	for _, in := range q.Inputs {
		answer, given := answers[in.ID]
		if given {
			response, err := in.response(ctx, answer)
			if err == nil {
				w.give(in.ID, response)
				continue
			}
			refused = append(refused, fmt.Sprintf("%s: %v", in.ID, err))
		}
		open = append(open, in)
	}
	q.Inputs, q.Refused = open, oneLine(strings.Join(refused, "; "))
}

func (w *waiting) give(id string, response mcp.InputResponse) {
	if w.Given == nil {
		w.Given = map[string]string{}
	}
	w.Given[id] = jsonText(response)
}

// params are the params of the next call.
func (w *waiting) params() (p mcp.CallToolParams, err error) {
	p = mcp.CallToolParams{Name: w.Tool, Arguments: json.RawMessage(w.Arguments), RequestState: w.RequestState}
	if len(w.Given) > 0 {
		given := map[string]json.RawMessage{}
		for id, text := range w.Given {
			given[id] = json.RawMessage(text)
		}
		err = json.Unmarshal([]byte(jsonText(given)), &p.InputResponses)
	}
	return p, err
}

// rounds calls until there is a result, or a question that this process cannot answer.
func (t *remoteTool) rounds(ctx context.Context, w *waiting) (*mcp.CallToolResult, error) {
	protocol := func(err error) error { return t.server.fail(ctx, Protocol, t.raw, err) }
	for busy := 0; ; {
		params, err := w.params()
		if err != nil {
			return nil, protocol(fmt.Errorf("saved answers cannot be read: %w", err))
		}
		result, err := t.server.callTool(ctx, t, params)
		if err != nil || !result.NeedsInput() {
			return result, err
		}
		if len(result.InputRequests) == 0 {
			if busy == len(busyPauses) {
				return nil, protocol(errors.New("the server is busy"))
			}
			if err := pause(ctx, busyPauses[busy]); err != nil {
				return nil, protocol(err)
			}
			busy++
			continue
		}
		if w.Rounds++; w.Rounds > mostRounds {
			return nil, protocol(fmt.Errorf("it asked more than %d times", mostRounds))
		}
		if len(result.RequestState) > largestState {
			return nil, t.server.fail(ctx, TooLarge, t.raw, fmt.Errorf("a request state of %d bytes", len(result.RequestState)))
		}
		w.RequestState, w.Given = result.RequestState, nil
		q := &Question{Server: w.Server, Tool: w.Tool}
		if err := t.answerSome(ctx, w, q, result.InputRequests); err != nil {
			if ours := (unanswered{}); errors.As(err, &ours) {
				return nil, t.server.fail(ctx, Unanswered, t.raw, ours.error)
			}
			return nil, protocol(err)
		}
		if len(q.Inputs) > 0 {
			return nil, t.interrupt(ctx, w, q)
		}
	}
}

// answerSome answers what the configuration has an answer to, and leaves the rest in the question.
func (t *remoteTool) answerSome(ctx context.Context, w *waiting, q *Question, asked mcp.InputRequestMap) error {
	if len(asked) > mostInputs {
		return fmt.Errorf("it asks %d things at once, more than %d", len(asked), mostInputs)
	}
	conf := &t.server.conf
	for _, id := range slices.Sorted(maps.Keys(asked)) {
		if roots, ok := asked[id].(*mcp.ListRootsParams); ok && roots != nil {
			w.give(id, &mcp.ListRootsResult{Roots: append([]*mcp.Root{}, conf.Roots...)})
			continue
		}
		if params, ok := asked[id].(*mcp.CreateMessageWithToolsParams); ok && conf.Sampling != nil {
			if w.Sampled++; w.Sampled > conf.Sampling.mostCalls() {
				return fmt.Errorf("it asks the model more than %d times in a call", conf.Sampling.mostCalls())
			}
			response, err := conf.Sampling.ask(ctx, params)
			if err != nil {
				return err
			}
			w.give(id, response)
			continue
		}
		in, err := inputOf(id, asked[id])
		if err != nil {
			return fmt.Errorf("it asks what cannot be asked, input %q: %w", id, err)
		}
		if conf.Elicit == nil || in.Kind == InputSampling {
			q.Inputs = append(q.Inputs, in)
			continue
		}
		response, err := t.server.elicit(ctx, in)
		if err != nil {
			return err
		}
		w.give(id, response)
	}
	return nil
}

// elicit has Config.Elicit answer.
func (s *Server) elicit(ctx context.Context, in Input) (response mcp.InputResponse, err error) {
	answer, err := func() (a Answer, err error) {
		defer recovered("Elicit", &err)
		return s.conf.Elicit(ctx, in, s.calls.all())
	}()
	if err == nil {
		response, err = in.response(ctx, answer)
	}
	if err != nil {
		return nil, unanswered{fmt.Errorf("Config.Elicit: %w", err)}
	}
	return response, nil
}

// pause waits, or returns what the context ended with.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
