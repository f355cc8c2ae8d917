package agui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// Session values with what a page has sent beside its message, as JSON.
const (
	contextKey   = "weft.agui.context"
	forwardedKey = "weft.agui.forwarded_props"
)

// maxContext is the number of bytes of context, and of forwarded properties, a page may send.
const maxContext = 64 << 10

// ContextItem is something that a page has the agent know, such as what its user looks at.
type ContextItem struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// Context returns what the page had the agent know when the run began, nil if there is nothing. It is for tools and hooks
// of agents; models do not see it but with [ContextInstruction]. It is the word of a client.
func Context(ctx context.Context) ([]ContextItem, error) {
	var items []ContextItem
	_, err := sessionJSON(ctx, contextKey, &items)
	return items, err
}

// ForwardedProps reads the properties that the page sent when the run began (forwardedProps) into a variable. It returns
// false if there are none, and leaves the variable as it is. They are the word of a client.
func ForwardedProps(ctx context.Context, into any) (bool, error) {
	return sessionJSON(ctx, forwardedKey, into)
}

func sessionJSON(ctx context.Context, key string, into any) (bool, error) {
	value, _ := adk.GetSessionValue(ctx, key)
	text, _ := value.(string)
	if text == "" {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return false, fmt.Errorf("agui: what the page has sent is no %T: %w", into, err)
	}
	return true, nil
}

// sessionValues returns the values that a run begins with: what the page has sent beside its message, the state only if
// that is allowed.
func (in *input) sessionValues(allowState bool) (map[string]any, error) {
	values := map[string]any{}
	if len(in.Context) > 0 {
		data, err := json.Marshal(in.Context)
		if err != nil {
			return nil, err
		}
		values[contextKey] = string(data)
	}
	if props := string(in.ForwardedProps); props != "" && props != "null" && props != "{}" {
		values[forwardedKey] = props
	}
	for key, value := range values {
		if len(value.(string)) > maxContext {
			return nil, serve.NewProblem(serve.TooLarge, "%s is longer than %d bytes", strings.TrimPrefix(key, "weft.agui."),
				maxContext)
		}
	}
	if allowState && isState(in.State) {
		if len(in.State) > maxState {
			return nil, serve.NewProblem(serve.TooLarge, "the state is longer than %d bytes", maxState)
		}
		values[stateKey] = string(in.State)
	}
	if len(values) == 0 {
		return nil, nil
	}
	return values, nil
}

// ContextInstruction is a middleware that appends what the page has the agent know to its instruction. Without it models
// do not see it: text that anyone can put into the page reaches the model.
func ContextInstruction() adk.ChatModelAgentMiddleware {
	return TypedContextInstruction[*schema.Message]()
}

// TypedContextInstruction is [ContextInstruction] for any kind of message.
func TypedContextInstruction[M adk.MessageType]() adk.TypedChatModelAgentMiddleware[M] {
	return &contextInstruction[M]{}
}

type contextInstruction[M adk.MessageType] struct {
	adk.TypedBaseChatModelAgentMiddleware[M]
}

// BeforeAgent appends the context to the instruction.
func (*contextInstruction[M]) BeforeAgent(
	ctx context.Context, run *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	items, err := Context(ctx)
	if err != nil || len(items) == 0 {
		return ctx, run, err
	}
	var b strings.Builder
	b.WriteString(run.Instruction)
	b.WriteString("\n\nThe page that the user looks at says:")
	for _, i := range items {
		fmt.Fprintf(&b, "\n- %s: %s", i.Description, i.Value)
	}
	run.Instruction = strings.TrimPrefix(b.String(), "\n\n")
	return ctx, run, nil
}
