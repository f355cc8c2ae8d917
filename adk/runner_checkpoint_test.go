package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// Without an ID, or a store, an interrupt is emitted and nothing is saved.
// Rule runtime/R6.
func TestRunner_SavesNothingWithoutAnIDOrAStore(t *testing.T) {
	store := newDeletable()
	interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: asking("a"), CheckPointStore: store}).Query(t.Context(),
		"hi"))
	require.Zero(t, store.writings)
	interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: asking("a")}).Query(t.Context(), "hi",
		WithCheckPointID("1")))
	var none *deletable
	interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: asking("a"), CheckPointStore: none}).Query(t.Context(), "hi",
		WithCheckPointID("1")))
}

// A resumed run streams if the saved one did, and is saved so again.
// Rule runtime/R10.
func TestRunner_StreamingModeComesFromTheCheckpoint(t *testing.T) {
	t.Run("ordinary", testResumedStreaming[ordinary])
	t.Run("agentic", testResumedStreaming[agentic])
}

func testResumedStreaming[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	for _, streaming := range []bool{false, true} {
		store := memory{}
		a := setup(t, says(d.answer("", wanted{"ask", "1", "x"}), d.answer("done")), []tool.BaseTool{askTool("ask")})
		read(t, NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: streaming, CheckPointStore: store}).
			Query(t.Context(), "hi", WithCheckPointID("1")))
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: !streaming, CheckPointStore: store})
		it, err := r.Resume(t.Context(), "1") // it stops again
		require.NoError(t, err)
		all := read(t, it)
		point := all[len(all)-1].Action.Interrupted.InterruptContexts[0]
		it, err = r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "yes"}})
		require.NoError(t, err)
		all = read(t, it)
		require.Equal(t, "assistant: done", linesOf(all)[1])
		require.Equal(t, streaming, all[1].Output.MessageOutput.IsStreaming)
	}
}

// The history from before the interrupt is there for the agents after it, in a new process too.
// Rule runtime/R11.
func TestRunner_TheHistoryIsRestored(t *testing.T) {
	store := memory{}
	s := newTheatre()
	build := func() Agent { return sequenceOf(t, "seq", s.says("a"), asking("b"), s.says("c")) }
	interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: build(), CheckPointStore: store}).Query(t.Context(), "hi",
		WithCheckPointID("1")))
	texts, _ := drainAll(t, resumeWith(t, NewRunner(t.Context(), RunnerConfig{Agent: build(), CheckPointStore: store}),
		nil))
	require.Equal(t, []string{"b: b got ", "c: c"}, texts)
	require.Equal(t, []string{"user: hi", quotedLine("a", "a"), quotedLine("b", "b got ")}, s.asked["c"])
}

// Rule runtime/R13.
func TestRunner_ResumeWithAnotherAgentIsAnErrorEvent(t *testing.T) {
	for name, other := range map[string]Agent{
		"custom": asking("b"), "chat model": asker(t, "b"), "sequence": sequenceOf(t, "b", asking("a")),
		"agent with sub-agents": flowOf(t, asker(t, "b"), asking("a")),
	} {
		store := memory{}
		interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: asking("a"), CheckPointStore: store}).Query(t.Context(),
			"hi", WithCheckPointID("1")))
		err := lastError(resumeWith(t, NewRunner(t.Context(), RunnerConfig{Agent: other, CheckPointStore: store}), nil))
		require.EqualError(t, err, "no child agents leading to interrupted agent were found", name)
	}
}

// Streams are saved as their content and how they ended.
// Rule runtime/R16.
func TestRunner_StreamsAreSaved(t *testing.T) {
	for name, c := range map[string]struct {
		stream *schema.StreamReader[Message]
		text   string
		err    any
	}{
		"whole":    {streamOf[Message]("a", "b"), "ab", nil},
		"retried":  {brokenStream[Message](&WillRetryError{ErrStr: "again"}), "a", new(*WillRetryError)},
		"canceled": {brokenStream[Message](ErrStreamCanceled), "a", new(*StreamCanceledError)},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory{}
			r := NewRunner(t.Context(), RunnerConfig{CheckPointStore: store, EnableStreaming: true, Agent: sequenceOf(t, "seq",
				newTheatre().sendsAll("a", EventFromMessage(nil, c.stream, schema.Assistant, "")),
				AgentWithOptions(t.Context(), asking("b"),
					WithHistoryRewriter(func(context.Context, []*HistoryEntry) ([]Message, error) { return nil, nil })))})
			for e := range r.Query(t.Context(), "hi", WithCheckPointID("1")).All() {
				require.NoError(t, e.Err)
			}
			doc, err := openRun(store["1"])
			require.NoError(t, err)
			items, err := restoreItems[Message](doc.History)
			require.NoError(t, err)
			require.Len(t, items, 1)
			m, err := items[0].whole(t.Context())
			require.Equal(t, c.text, m.Content)
			if c.err == nil {
				require.NoError(t, err)
			} else {
				require.ErrorAs(t, err, c.err)
			}
		})
	}
}

// The state of a chat model agent is opaque bytes.
// Rule runtime/R18.
func TestRunner_StateOfAChatModelAgent(t *testing.T) {
	store := memory{}
	interruptOf(t, NewRunner(t.Context(),
		RunnerConfig{Agent: sequenceOf(t, "seq", asker(t, "a")), CheckPointStore: store}).
		Query(t.Context(), "hi", WithCheckPointID("1")))
	doc, err := openRun(store["1"])
	require.NoError(t, err)
	found := false
	for _, p := range doc.Points {
		if p.Address.String() == "agent:seq;agent:a" {
			found = true
			require.True(t, p.Raw)
			require.NotEmpty(t, p.State)
		}
	}
	require.True(t, found)
}

// A leaf can see whether a resume names no agent or names others.
// Rules runtime/B15.15, runtime/I11, runtime/I12.
func TestResumeInfo_ImplicitResume(t *testing.T) {
	for _, targets := range []map[string]any{nil, {"unknown": 1}} {
		var infos []ResumeInfo
		r := NewRunner(t.Context(), RunnerConfig{Agent: noted{asking("a"), &infos}, CheckPointStore: memory{}})
		interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		drainAll(t, resumeWith(t, r, targets))
		require.True(t, infos[0].ImplicitResume)
	}
}

// Rules runtime/B15.20, runtime/C6.
func TestErrors_MatchByTypeAndShowInterruptPoints(t *testing.T) {
	require.ErrorIs(t, &StreamCanceledError{}, ErrStreamCanceled, "also one that was decoded")
	require.EqualError(t, &CancelError{}, "agent canceled: mode=0, escalated=false (immediate)")
	// rule runtime/C6
	require.EqualError(t, &CancelError{Info: &AgentCancelInfo{Mode: CancelAfterToolCalls, Escalated: true}},
		"agent canceled: mode=4, escalated=true (after the tool calls)")
	points := []*InterruptCtx{{ID: "1"}}
	require.Equal(t, points, (&CancelError{InterruptContexts: points}).GetInterruptContexts())
	require.Equal(t, points, (&InterruptError{InterruptContexts: points}).GetInterruptContexts())
}

// Whatever is missing or nil.
// Rules runtime/B15.13, runtime/R14.
func TestBadInput_IsAnErrorNotAPanic(t *testing.T) {
	ctx := t.Context()
	for name, build := range map[string]func() (any, error){
		"SetSubAgents, no agent":      func() (any, error) { return SetSubAgents(ctx, nil, nil) },
		"SetSubAgents, nil sub-agent": func() (any, error) { return SetSubAgents(ctx, asking("a"), []Agent{nil}) },
		"NewSequentialAgent, nil":     func() (any, error) { return NewSequentialAgent(ctx, nil) },
		"NewLoopAgent, nil":           func() (any, error) { return NewLoopAgent(ctx, nil) },
		"NewParallelAgent, nil":       func() (any, error) { return NewParallelAgent(ctx, nil) },
		"a nil child": func() (any, error) {
			return NewParallelAgent(ctx, &ParallelAgentConfig{SubAgents: []Agent{nil}})
		},
		"a nil pointer as a child": func() (any, error) {
			return NewLoopAgent(ctx, &LoopAgentConfig{SubAgents: []Agent{(*ChatModelAgent)(nil)}})
		},
		"a nil pointer, SetSubAgents": func() (any, error) {
			return SetSubAgents(ctx, (*ChatModelAgent)(nil), []Agent{asking("a")})
		},
		"NewChatModelAgent, nil": func() (any, error) { return NewChatModelAgent(ctx, nil) },
		"agent tool, Info":       func() (any, error) { return NewAgentTool(ctx, nil).Info(ctx) },
		"agent tool, InvokableRun": func() (any, error) {
			return NewAgentTool(ctx, nil).(tool.InvokableTool).InvokableRun(ctx, "{}")
		},
	} {
		_, err := build()
		require.Error(t, err, name)
	}
	in := &AgentInput{Messages: []Message{schema.UserMessage("hi")}}
	var noContext context.Context
	for name, it := range map[string]*AsyncIterator[*AgentEvent]{
		"nil input":                  asker(t, "a").Run(ctx, nil),
		"nil input, wrapped":         AgentWithOptions(ctx, asker(t, "a")).Run(ctx, nil),
		"nil context, in a sequence": sequenceOf(t, "w", asker(t, "a")).Run(noContext, in),
		"nil context":                asker(t, "a").Run(noContext, in),
		"nil context, runner":        NewRunner(ctx, RunnerConfig{Agent: asker(t, "a")}).Query(noContext, "hi"),
		"nil agent":                  NewRunner(ctx, RunnerConfig{}).Query(ctx, "hi"),
		"a nil pointer":              NewRunner(ctx, RunnerConfig{Agent: (*ChatModelAgent)(nil)}).Query(ctx, "hi"),
		"AgentWithOptions, nil":      NewRunner(ctx, RunnerConfig{Agent: AgentWithOptions(ctx, nil)}).Query(ctx, "hi"),
		"resume without info":        asker(t, "a").Resume(ctx, nil),
		"resume without state":       asker(t, "a").Resume(ctx, &ResumeInfo{WasInterrupted: true}),
		"resume with another state":  asker(t, "a").Resume(ctx, &ResumeInfo{WasInterrupted: true, InterruptState: 7}),
		"deterministic, no config":   AgentWithDeterministicTransferTo(ctx, nil).Run(ctx, in),
		"deterministic, no agent":    AgentWithDeterministicTransferTo(ctx, &DeterministicTransferConfig{}).Run(ctx, in),
	} {
		require.Error(t, lastError(it), name)
	}
	for _, agent := range []*ChatModelAgent{nil, {}} {
		_, inTool := NewAgentTool(ctx, agent).Info(ctx)
		_, inSequence := NewSequentialAgent(ctx, &SequentialAgentConfig{Name: "s", SubAgents: []Agent{agent}})
		inRunner := lastError(NewRunner(ctx, RunnerConfig{Agent: agent}).Query(ctx, "hi"))
		for _, err := range []error{inTool, inSequence, inRunner} {
			require.ErrorContains(t, err, "made by NewChatModelAgent")
		}
	}
	require.NotPanics(t, func() { lastError(sequenceOf(t, "w").Resume(ctx, nil)) })
	_, err := NewRunner(ctx, RunnerConfig{CheckPointStore: memory{}}).ResumeWithParams(ctx, "1", nil)
	require.ErrorContains(t, err, "agent is nil")
	r := NewRunner(ctx, RunnerConfig{Agent: asking("a"), CheckPointStore: memory{}})
	interruptOf(t, r.Query(ctx, "hi", WithCheckPointID("1")))
	it, err := r.ResumeWithParams(ctx, "1", nil) // rule runtime/R14: as Resume
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"a: a got "}, texts)
}

// The wrapper has the name, the description and the type of the agent inside.
// Rule runtime/D1.
func TestDeterministicTransfer_KeepsTheAgentsIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		agent     Agent
		typ       string
		resumable bool
	}{
		"chat model":    {asker(t, "a"), "ChatModel", true},
		"custom":        {newTheatre().says("a"), "DeterministicTransfer", false},
		"resumable":     {asking("a"), "DeterministicTransfer", true},
		"with children": {flowOf(t, asker(t, "a"), asking("b")), "ChatModel", true},
	} {
		a := AgentWithDeterministicTransferTo(t.Context(),
			&DeterministicTransferConfig{Agent: c.agent, ToAgentNames: []string{"x"}})
		require.Equal(t, []string{c.agent.Name(t.Context()), c.agent.Description(t.Context()), c.typ},
			[]string{a.Name(t.Context()), a.Description(t.Context()), a.(interface{ GetType() string }).GetType()}, name)
		_, resumable := a.(ResumableAgent)
		require.Equal(t, c.resumable, resumable, name)
	}
}

// TestRunner_AStreamWithoutAnEnd: a stream that does not end when the context of the run does costs its own end, and
// not the interrupt: what came of it is saved.
// Rule runtime/R16.
func TestRunner_AStreamWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		asks := actor("asks", func(ctx context.Context, send func(*AgentEvent)) {
			r, w := schema.Pipe[Message](1)
			w.Send(schema.AssistantMessage("half", nil), nil)
			send(EventFromMessage(nil, r, schema.Assistant, ""))
			send(Interrupt(ctx, "may I?"))
		})
		store := memory{}
		r := NewRunner(ctx, RunnerConfig{Agent: sequenceOf(t, "w", asks), CheckPointStore: store})
		var last *AgentEvent
		for e := range r.Query(ctx, "hi", WithCheckPointID("1")).All() {
			require.NoError(t, e.Err)
			last = e
		}
		require.NotNil(t, last.Action.Interrupted)
		doc, err := openRun(store["1"])
		require.NoError(t, err)
		items, err := restoreItems[Message](doc.History)
		require.NoError(t, err)
		m, err := items[0].whole(t.Context())
		require.Equal(t, "half", m.Content)
		require.ErrorContains(t, err, context.DeadlineExceeded.Error())
	})
}
