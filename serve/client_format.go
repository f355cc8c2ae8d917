package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/structured"
	"github.com/weftgo/weft/adk/picture"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// clientFormatKey is the session value with the format that a client wants, as JSON.
const clientFormatKey = "weft.serve.client_format"

// Format describes the JSON that the answer of a run must be.
type Format struct {
	// Description says what the answer is for. The model reads it.
	Description string `json:"description,omitempty"`
	// Schema is a JSON Schema of any draft. None is any object.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// ClientFormats is the middleware of agents whose clients may say what the answer is to be: the model is given the
// schema in a system message, an answer that does not fit is sent back, twice at most, and the run fails if that did
// not help. It is for the agents that answer: one that is a tool of another one must not have it.
//
// Who writes the schema writes instructions of the model: its descriptions are read by it.
func ClientFormats() adk.ChatModelAgentMiddleware { return TypedClientFormats[*schema.Message]() }

// TypedClientFormats is [ClientFormats] for any kind of message.
func TypedClientFormats[M adk.MessageType]() adk.TypedChatModelAgentMiddleware[M] {
	return &clientFormats[M]{}
}

type clientFormats[M adk.MessageType] struct {
	adk.TypedBaseChatModelAgentMiddleware[M]
}

// formatHandlerKey is the place where the context of a run has the handler of its format.
type formatHandlerKey struct{}

// TakesClientFormats shows that there is the middleware. One that wraps it must have the method, too.
func (*clientFormats[M]) TakesClientFormats() {}

// BeforeAgent reads the format of the run.
func (*clientFormats[M]) BeforeAgent(
	ctx context.Context, run *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	value, _ := adk.GetSessionValue(ctx, clientFormatKey)
	text, _ := value.(string)
	if text == "" {
		return ctx, run, nil
	}
	var f Format
	err := json.Unmarshal([]byte(text), &f)
	if err == nil {
		var output *structured.Output[json.RawMessage]
		if output, err = f.output(); err == nil {
			return context.WithValue(ctx, formatHandlerKey{}, structured.TypedHandler[M](output)), run, nil
		}
	}
	return ctx, run, fmt.Errorf("the format of the client: %w", err)
}

// handlerIn is the handler of the format of a run, nil if it has none.
func (*clientFormats[M]) handlerIn(ctx context.Context) adk.TypedChatModelAgentMiddleware[M] {
	h, _ := ctx.Value(formatHandlerKey{}).(adk.TypedChatModelAgentMiddleware[M])
	return h
}

// WrapModel gives the schema to the model.
func (f *clientFormats[M]) WrapModel(
	ctx context.Context, inner model.BaseModel[M], mc *adk.TypedModelContext[M],
) (model.BaseModel[M], error) {
	if h := f.handlerIn(ctx); h != nil {
		return h.WrapModel(ctx, inner, mc)
	}
	return inner, nil
}

// BeforeFinalAnswer sends an answer back that does not fit.
func (f *clientFormats[M]) BeforeFinalAnswer(
	ctx context.Context, state *adk.TypedChatModelAgentState[M],
) (context.Context, adk.FinalAnswerDecision, *adk.TypedChatModelAgentState[M], error) {
	if h := f.handlerIn(ctx); h != nil {
		return h.BeforeFinalAnswer(ctx, state)
	}
	return ctx, adk.AcceptFinalAnswer, state, nil
}

// output is the format for the model.
func (f *Format) output() (*structured.Output[json.RawMessage], error) {
	text := f.Schema
	if len(text) == 0 || string(text) == "null" {
		text = json.RawMessage(`{"type":"object"}`)
	}
	return structured.Of(text, &structured.Config[json.RawMessage]{Mode: structured.Prompt, Description: f.Description})
}

// Value is the JSON in an answer. It fails if that does not fit.
func (f *Format) Value(answer string) (json.RawMessage, error) {
	output, err := f.output()
	if err != nil {
		return nil, err
	}
	return output.Parse(context.Background(), answer)
}

// takesClientFormats is implemented by the middleware.
type takesClientFormats interface{ TakesClientFormats() }

// keepsFormats reports whether every agent that answers in the runs of an agent has the middleware: the agent itself, and
// the agents that it may hand the run to.
func keepsFormats(about *picture.Agent, seen map[*picture.Agent]bool) bool {
	if seen[about] {
		return true
	}
	seen[about] = true
	takes := false
	for _, m := range about.Middlewares {
		_, one := m.(takesClientFormats)
		takes = takes || one
	}
	for _, sub := range about.SubAgents {
		takes = takes && keepsFormats(sub, seen)
	}
	return takes
}

// encodeFormat checks the format of a client for an agent, and encodes it, "" for none.
func (s *Server) encodeFormat(agent *served, f *Format) (string, error) {
	switch {
	case f == nil:
		return "", nil
	case !agent.info.Capabilities.Formats:
		return "", &Problem{Code: BadRequest, Title: "the agent decides itself what it answers with: it takes no format",
			Cause: errors.New("the agent, or one that it hands runs to, has not the middleware serve.ClientFormats")}
	case len(f.Schema)+len(f.Description) > s.settings.limits.FormatBytes:
		return "", NewProblem(TooLarge, "the format has more than %d bytes", s.settings.limits.FormatBytes)
	}
	if _, err := f.output(); err != nil {
		return "", &Problem{Code: BadRequest, Title: "the schema of the format cannot be used", Cause: err}
	}
	data, err := json.Marshal(f)
	return string(data), err
}
