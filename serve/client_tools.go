package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// clientToolsKey is the session value with the tools that a client has brought, as JSON.
const clientToolsKey = "weft.serve.client_tools"

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// ClientTools is the middleware of agents whose clients may bring tools (Config.AllowClientTools): they are offered to
// the model in that run. A call of one interrupts the run, with a *adk.ClientToolCall, until the client has answered.
//
// A run of an agent without it, and a tool with the name of one of the agent's own, are refused with bad_request, as
// far as the agent shows what it has (see adk/picture). The run fails if another middleware adds a tool of that name
// which it does not show.
func ClientTools() adk.ChatModelAgentMiddleware { return TypedClientTools[*schema.Message]() }

// TypedClientTools is [ClientTools] for any kind of message.
func TypedClientTools[M adk.MessageType]() adk.TypedChatModelAgentMiddleware[M] {
	return &clientTools[M]{}
}

type clientTools[M adk.MessageType] struct {
	adk.TypedBaseChatModelAgentMiddleware[M]
}

// TakesClientTools shows that there is the middleware. One that wraps it must have the method, too.
func (*clientTools[M]) TakesClientTools() {}

// BeforeAgent adds the tools of the client.
func (*clientTools[M]) BeforeAgent(
	ctx context.Context, run *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	value, _ := adk.GetSessionValue(ctx, clientToolsKey)
	text, _ := value.(string)
	if text == "" {
		return ctx, run, nil
	}
	var brought []ClientTool
	if err := json.Unmarshal([]byte(text), &brought); err != nil {
		return ctx, run, fmt.Errorf("the tools of the client: %w", err)
	}
	taken := map[string]bool{}
	for _, t := range run.Tools {
		if info, err := t.Info(ctx); err == nil && info != nil {
			taken[info.Name] = true
		}
	}
	for _, b := range brought {
		if taken[b.Name] {
			return ctx, run, fmt.Errorf("the client brings a tool %q, and the agent has one of that name", b.Name)
		}
		info, err := b.info()
		if err != nil {
			return ctx, run, err
		}
		t, err := adk.NewClientTool(info)
		if err != nil {
			return ctx, run, err
		}
		run.Tools = append(run.Tools, t)
	}
	return ctx, run, nil
}

// ClientTool is a tool that a client brings to a run, and carries out itself.
type ClientTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is a JSON Schema of the arguments, an object. None is no arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// info is the tool for a model.
func (t *ClientTool) info() (*schema.ToolInfo, error) {
	info := &schema.ToolInfo{Name: t.Name, Desc: t.Description}
	if len(t.Parameters) == 0 || string(t.Parameters) == "null" {
		return info, nil
	}
	info.ParamsOneOf = schema.NewParamsOneOfByRawJSON(t.Parameters)
	_, err := info.ParamsOneOf.ToJSONSchema()
	return info, err
}

// encodeClientTools checks the tools of a client, and encodes them.
func (s *Server) encodeClientTools(tools []ClientTool) (string, error) {
	switch l := s.settings.limits; {
	case len(tools) == 0:
		return "", nil
	case !s.settings.allowClientTools:
		return "", NewProblem(BadRequest, "this server takes no tools of clients")
	case len(tools) > l.ClientTools:
		return "", NewProblem(TooLarge, "there are more than %d tools", l.ClientTools)
	}
	names, size := map[string]bool{}, 0
	for _, t := range tools {
		if !toolName.MatchString(t.Name) || names[t.Name] {
			return "", NewProblem(BadRequest, "a tool has no name, a name twice, or one that models do not take: %.64q", t.Name)
		}
		names[t.Name] = true
		if size += len(t.Parameters) + len(t.Description); size > s.settings.limits.ClientToolBytes {
			return "", NewProblem(TooLarge, "the tools have more than %d bytes", s.settings.limits.ClientToolBytes)
		}
		if _, err := t.info(); err != nil {
			return "", &Problem{Code: BadRequest, Title: "the schema of tool " + t.Name + " cannot be used", Cause: err}
		}
	}
	data, err := json.Marshal(tools)
	return string(data), err
}
