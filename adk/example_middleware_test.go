package adk_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func noDelay(context.Context, int) time.Duration { return 0 }

// runWith runs an agent with one middleware and the tool search, and prints its events.
func runWith(handler adk.ChatModelAgentMiddleware, answers ...adktest.Answer) {
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Instruction: "Be brief.",
		Model:       adktest.NewModel(example{}, answers...),
		ToolsConfig: adktest.Tools(adktest.NewTool("search", adktest.Says("3 hits"))),
		Handlers:    []adk.ChatModelAgentMiddleware{handler},
	})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Hi"))
}

// polite adds to the instruction when a run begins.
type polite struct {
	adk.BaseChatModelAgentMiddleware
}

func (*polite) BeforeAgent(
	ctx context.Context, run *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	changed := *run
	changed.Instruction += " Be polite."
	return ctx, &changed, nil
}

// BeforeAgent changes what a run begins with: the instruction, the tools, the context.
func ExampleChatModelAgentMiddleware_beforeAgent() {
	runWith(&polite{}, adktest.Says("Good day!").Seeing("system: Be brief. Be polite.", "user: Hi"))
	// Output: assistant says: Good day!
}

// forgetful shows the model the last two messages only, and the instruction.
type forgetful struct {
	adk.BaseChatModelAgentMiddleware
}

func (*forgetful) BeforeModelRewriteState(
	ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	if len(state.Messages) > 3 {
		state.Messages = append([]adk.Message{state.Messages[0]}, state.Messages[len(state.Messages)-2:]...)
	}
	return ctx, state, nil
}

// BeforeModelRewriteState changes the history, for this turn of the model and those after it.
func ExampleChatModelAgentMiddleware_beforeModelRewriteState() {
	runWith(&forgetful{},
		adktest.Calls(adktest.Call("search", `{}`)),
		adktest.Says("3.").Seeing("system: Be brief.", "assistant: [search#call_1 {}]", "tool search#call_1: 3 hits"))
	// Output:
	// assistant calls: search({})
	// search returned: 3 hits
	// assistant says: 3.
}

// louder wraps the model.
type louder struct {
	adk.BaseChatModelAgentMiddleware
}

func (*louder) WrapModel(_ context.Context, m model.BaseChatModel, _ *adk.ModelContext) (model.BaseChatModel, error) {
	return loudModel{m}, nil
}

type loudModel struct{ model.BaseChatModel }

func (m loudModel) Generate(
	ctx context.Context, in []*schema.Message, opts ...model.Option,
) (*schema.Message, error) {
	out, err := m.BaseChatModel.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	loud := *out
	loud.Content = strings.ToUpper(out.Content)
	return &loud, nil
}

// WrapModel is around each call of the model. A model for runs with streaming changes Stream, too.
func ExampleChatModelAgentMiddleware_wrapModel() {
	runWith(&louder{}, adktest.Says("hello"))
	// Output: assistant says: HELLO
}

// counting prints what the model has answered.
type counting struct {
	adk.BaseChatModelAgentMiddleware
}

func (*counting) AfterModelRewriteState(
	ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	last := state.Messages[len(state.Messages)-1]
	fmt.Println("the model makes", len(last.ToolCalls), "calls")
	return ctx, state, nil
}

// AfterModelRewriteState sees each answer as the last message. What it makes of that decides how the run continues.
func ExampleChatModelAgentMiddleware_afterModelRewriteState() {
	runWith(&counting{}, adktest.Calls(adktest.Call("search", `{}`)), adktest.Says("3."))
	// Output:
	// the model makes 1 calls
	// the model makes 0 calls
	// assistant calls: search({})
	// search returned: 3 hits
	// assistant says: 3.
}

// logged prints each call of a tool.
type logged struct {
	adk.BaseChatModelAgentMiddleware
}

func (*logged) WrapInvokableToolCall(
	_ context.Context, endpoint adk.InvokableToolCallEndpoint, call *adk.ToolContext,
) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		result, err := endpoint(ctx, arguments, opts...)
		fmt.Printf("%s(%s) = %s, %v\n", call.Name, arguments, result, err)
		return result, err
	}, nil
}

// WrapInvokableToolCall is around each call of a tool that returns text. [adk.WrapEveryToolCall] is for tools of all
// kinds.
func ExampleChatModelAgentMiddleware_wrapInvokableToolCall() {
	runWith(&logged{}, adktest.Calls(adktest.Call("search", `{"q":"tea"}`)), adktest.Says("3."))
	// Output:
	// search({"q":"tea"}) = 3 hits, <nil>
	// assistant calls: search({"q":"tea"})
	// search returned: 3 hits
	// assistant says: 3.
}

// hinting adds a message behind the results of tools.
type hinting struct {
	adk.BaseChatModelAgentMiddleware
}

func (*hinting) AfterToolCallsRewriteState(
	ctx context.Context, state *adk.ChatModelAgentState, calls *adk.ToolCallsContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	hint := fmt.Sprintf("%s was called. Answer now.", calls.ToolCalls[0].Name)
	state.Messages = append(state.Messages, schema.UserMessage(hint))
	return ctx, state, nil
}

// AfterToolCallsRewriteState sees the results of all calls of a message.
func ExampleChatModelAgentMiddleware_afterToolCallsRewriteState() {
	runWith(&hinting{}, adktest.Calls(adktest.Call("search", `{}`)),
		adktest.Says("3.").SeeingLast("user: search was called. Answer now."))
	// Output:
	// assistant calls: search({})
	// search returned: 3 hits
	// assistant says: 3.
}

// digits accepts answers that have a digit.
type digits struct {
	adk.BaseChatModelAgentMiddleware
}

func (*digits) BeforeFinalAnswer(
	ctx context.Context, state *adk.ChatModelAgentState,
) (context.Context, adk.FinalAnswerDecision, *adk.ChatModelAgentState, error) {
	answer := state.Messages[len(state.Messages)-1]
	if strings.ContainsAny(answer.Content, "0123456789") {
		return ctx, adk.AcceptFinalAnswer, state, nil
	}
	state.Messages = append(state.Messages, schema.UserMessage("Answer with a number."))
	return ctx, adk.RejectFinalAnswer, state, nil
}

// BeforeFinalAnswer judges the answer that would end the run.
func ExampleChatModelAgentMiddleware_beforeFinalAnswer() {
	runWith(&digits{}, adktest.Says("A few."), adktest.Says("3.").SeeingLast("user: Answer with a number."))
	// Output:
	// assistant says: A few.
	// assistant says: 3.
}

// summing prints how long a conversation has become.
type summing struct {
	adk.BaseChatModelAgentMiddleware
}

func (*summing) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	fmt.Println(len(state.Messages), "messages")
	return ctx, nil
}

// AfterAgent is called at the end of a run that succeeded.
func ExampleChatModelAgentMiddleware_afterAgent() {
	runWith(&summing{}, adktest.Says("Hello!"))
	// Output:
	// 3 messages
	// assistant says: Hello!
}

// AgentMiddleware is a middleware made of values and functions.
func ExampleAgentMiddleware() {
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant",
		Model: adktest.NewModel(example{},
			adktest.Says("Hi!").Offered("search").Seeing("system: Be brief.\n\nNever lie.", "user: Hi")),
		Instruction: "Be brief.",
		Middlewares: []adk.AgentMiddleware{{
			AdditionalInstruction: "Never lie.",
			AdditionalTools:       []tool.BaseTool{adktest.NewTool("search")},
			AfterChatModel: func(_ context.Context, state *adk.ChatModelAgentState) error {
				fmt.Println(len(state.Messages), "messages")
				return nil
			},
		}},
	})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Hi"))
	// Output:
	// 3 messages
	// assistant says: Hi!
}
