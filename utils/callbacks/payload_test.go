package callbacks

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// tracer encodes every payload, as trace handlers do.
type tracer struct {
	mu      sync.Mutex
	wg      sync.WaitGroup
	encoded map[string]bool
	errs    []error
}

func (tr *tracer) note(info *callbacks.RunInfo, what string, payload any) {
	_, err := json.Marshal(payload)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.encoded[fmt.Sprint(info.Component, " ", what)] = true
	if err != nil {
		tr.errs = append(tr.errs, fmt.Errorf("%v %s %T: %w", info.Component, what, payload, err))
	}
}

func (tr *tracer) OnStart(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
	tr.note(info, "start", in)
	return ctx
}

func (tr *tracer) OnEnd(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
	tr.note(info, "end", out)
	return ctx
}

func (tr *tracer) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	return ctx
}

func (tr *tracer) OnStartWithStreamInput(
	ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	tr.wg.Go(func() {
		for v := range in.All() {
			tr.note(info, "start", v)
		}
	})
	return ctx
}

func (tr *tracer) OnEndWithStreamOutput(
	ctx context.Context, info *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	tr.wg.Go(func() {
		for v := range out.All() {
			tr.note(info, "end", v)
		}
	})
	return ctx
}

// Whatever Weft itself hands to handlers can be encoded: of agents that are interrupted and resumed in one
// another, of their models and tools, and of templates.
// Rule components/K16b.
func TestPayloads_CanBeEncoded(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming=%v", streaming), func(t *testing.T) {
			ctx := context.Background()
			tr := &tracer{encoded: map[string]bool{}}
			asks, err := utils.InferTool("asks", "asks", func(ctx context.Context, in struct{ Q string }) (string, error) {
				if _, has, answer := tool.GetResumeContext[string](ctx); has {
					return answer, nil
				}
				return "", tool.StatefulInterrupt(ctx, map[string]any{"q": in.Q}, in.Q)
			})
			require.NoError(t, err)
			inner, err := adk.NewChatModelAgent(ctx,
				&adk.ChatModelAgentConfig{Name: "inner", Description: "d", ToolsConfig: adktest.Tools(asks),
					Model: adktest.NewModel(t, adktest.Calls(adktest.Call("asks", `{"Q":"?"}`)), adktest.Says("inner done"))})
			require.NoError(t, err)
			outer, err := adk.NewChatModelAgent(ctx,
				&adk.ChatModelAgentConfig{Name: "outer", Description: "d", ToolsConfig: adktest.Tools(adk.NewAgentTool(ctx, inner)),
					Model: adktest.NewModel(t, adktest.Calls(adktest.Call("inner", `{"request":"r"}`)), adktest.Says("done"))})
			require.NoError(t, err)
			runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: outer, EnableStreaming: streaming,
				CheckPointStore: adktest.NewStore()})
			var points []*adk.InterruptCtx
			for event := range runner.Query(ctx, "hi", adk.WithCheckPointID("1"), adk.WithCallbacks(tr)).All() {
				require.NoError(t, event.Err)
				if event.Action != nil && event.Action.Interrupted != nil {
					points = event.Action.Interrupted.InterruptContexts
				}
			}
			require.Len(t, points, 1)
			events, err := runner.ResumeWithParams(ctx, "1", &adk.ResumeParams{Targets: map[string]any{points[0].ID: "!"}},
				adk.WithCallbacks(tr))
			require.NoError(t, err)
			adktest.Collect(t, events).ExpectText("done")

			chain := compose.NewChain[map[string]any, []*schema.Message]()
			chain.AppendChatTemplate(prompt.FromMessages(schema.FString, schema.UserMessage("{q}"),
				schema.MessagesPlaceholder("history", true)))
			r, err := chain.Compile(ctx)
			require.NoError(t, err)
			_, err = r.Invoke(ctx, map[string]any{"q": "?"}, compose.WithCallbacks(tr))
			require.NoError(t, err)
			tr.wg.Wait()
			require.Empty(t, tr.errs)
			for _, kind := range []string{"Agent", "ChatModel", "Tool", "ToolsNode", "ChatTemplate", "Chain"} {
				require.True(t, tr.encoded[kind+" start"], kind)
				require.True(t, tr.encoded[kind+" end"], kind)
			}
		})
	}
	iterator, _ := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	text, err := json.Marshal(&adk.AgentCallbackOutput{Events: iterator})
	require.NoError(t, err)
	require.JSONEq(t, `{"Events":{}}`, string(text))
}
