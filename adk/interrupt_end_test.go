package adk

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// TestInterrupt_AfterTheLastMessage: an agent that interrupts after it emitted its last message continues without
// another one. That message is emitted again to all who wait for it: the caller of an agent tool, the agent that is
// transferred to, the session, and the reader of the resumed run.
func TestInterrupt_AfterTheLastMessage(t *testing.T) {
	type state = *ChatModelAgentState
	type ask = func(context.Context) error
	hooks := map[string]func(ask) *hooked[*schema.Message]{
		"after the model": func(a ask) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{afterModel: func(
				ctx context.Context, s state, _ *ModelContext,
			) (context.Context, state, error) {
				return ctx, s, a(ctx)
			}}
		},
		"after tool calls": func(a ask) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{afterToolCalls: func(
				ctx context.Context, s state, _ *ToolCallsContext,
			) (context.Context, state, error) {
				return ctx, s, a(ctx)
			}}
		},
		"before the final answer": func(a ask) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{finalAnswer: func(
				ctx context.Context, s state,
			) (context.Context, FinalAnswerDecision, state, error) {
				return ctx, AcceptFinalAnswer, s, a(ctx)
			}}
		},
		"after the agent": func(a ask) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{afterAgent: func(ctx context.Context, _ state) (context.Context, error) {
				return ctx, a(ctx)
			}}
		},
	}
	for name, hook := range hooks {
		for _, streaming := range []bool{false, true} {
			for _, end := range []endOfRun{byAnswer, byResult, byTransfer} {
				if end != byAnswer && name == "after the model" || end == byAnswer && name == "after tool calls" {
					continue // that is before the last message
				}
				e := &endTest{T: t, name: name, streaming: streaming, end: end, hook: hook}
				e.alone()
				e.inSequence()
				if end != byTransfer {
					e.asTool()
				}
			}
		}
	}
}

// endOfRun is a way in which a run of the asking agent ends.
type endOfRun int

const (
	byAnswer endOfRun = iota
	byResult
	byTransfer
)

// endTest has an agent that calls a tool, gets to its end and asks there, once.
type endTest struct {
	*testing.T
	name      string
	streaming bool
	end       endOfRun
	hook      func(func(context.Context) error) *hooked[*schema.Message]
	model     *replies
}

func (e *endTest) asker() *ChatModelAgent {
	e.model = &replies{all: []*schema.Message{callOf("echo", "c1", "text"), schema.AssistantMessage("<text>", nil)}}
	conf := &ChatModelAgentConfig{Name: "asker", Description: "asks", Model: e.model, OutputKey: "said"}
	switch e.end {
	case byResult:
		conf.ToolsConfig.ReturnDirectly = map[string]bool{"echo": true}
	case byTransfer:
		e.model.all[0] = callOf(TransferToAgentToolName, "t1", `{"agent_name":"next"}`)
	}
	conf.ToolsConfig.Tools = []tool.BaseTool{echo("echo")}
	n, at := 0, 1
	if e.name == "after the model" {
		at = 2
	}
	conf.Handlers = []ChatModelAgentMiddleware{e.hook(func(ctx context.Context) error {
		if n++; n == at {
			return compose.Interrupt(ctx, "may I?")
		}
		return nil
	})}
	a, err := NewChatModelAgent(e.Context(), conf)
	require.NoError(e, err)
	return a
}

// run runs an agent to the interrupt and from there to its end, and returns what it says then.
func (e *endTest) run(a Agent) []string {
	r := NewRunner(e.Context(), RunnerConfig{Agent: a, EnableStreaming: e.streaming, CheckPointStore: memory{}})
	_, last := drainAll(e.T, r.Query(e.Context(), "hi", WithCheckPointID("1")))
	require.NotNil(e, last.Action, e.name)
	require.NotNil(e, last.Action.Interrupted, e.name)
	it, err := r.Resume(e.Context(), "1")
	require.NoError(e, err)
	texts, last := drainAll(e.T, it)
	require.True(e, last.Action == nil || last.Action.Interrupted == nil, e.name)
	require.Len(e, e.model.seen, map[endOfRun]int{byAnswer: 2, byResult: 1, byTransfer: 1}[e.end], e.name)
	return texts
}

// alone: the reader of the resumed run gets the message, or what the agent does that it has transferred to.
func (e *endTest) alone() {
	if e.end == byTransfer {
		next := newOrdinary(e.T, "next", &replies{all: []*schema.Message{schema.AssistantMessage("mine", nil)}})
		flow, err := SetSubAgents(e.Context(), e.asker(), []Agent{next})
		require.NoError(e, err)
		require.Equal(e, []string{"next: mine"}, e.run(flow), e.name)
		return
	}
	require.Equal(e, []string{"asker: <text>"}, e.run(e.asker()), e.name)
}

// inSequence: the next agent finds the message in the history and in the session.
func (e *endTest) inSequence() {
	if e.end == byTransfer {
		return
	}
	nextModel := &replies{all: []*schema.Message{schema.AssistantMessage("noted", nil)}}
	next, err := NewChatModelAgent(e.Context(),
		&ChatModelAgentConfig{Name: "next", Description: "n", Instruction: "It said {said}.", Model: nextModel})
	require.NoError(e, err)
	seq, err := NewSequentialAgent(e.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{e.asker(), next}})
	require.NoError(e, err)
	require.Equal(e, []string{"next: noted"}, e.run(seq), e.name)
	count := 0
	for _, m := range nextModel.seen[0][1:] {
		count += strings.Count(m.Content, "<text>")
	}
	require.Equal(e, "It said <text>.", nextModel.seen[0][0].Content, e.name)
	require.Equal(e, 2-int(e.end), count, "%s: the result of the tool, and the answer if there was one", e.name)
}

// asTool: the message is the result of the agent tool.
func (e *endTest) asTool() {
	boss := &replies{all: []*schema.Message{callOf("asker", "b1", `{"request":"x"}`),
		schema.AssistantMessage("done", nil)}}
	e.run(newOrdinary(e.T, "boss", boss, NewAgentTool(e.Context(), e.asker())))
	require.Len(e, boss.seen, 2, e.name)
	require.Equal(e, "<text>", boss.seen[1][2].Content, e.name)
}
