package adktest_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestTranscript_IsWhatTheEventsOfRandomTreesSay: the record of a run has the messages that its events have, whatever
// the agents are and however they stream, and every span in it is closed.
//
// Rules runlog/RL4, runlog/RL11.
func TestTranscript_IsWhatTheEventsOfRandomTreesSay(t *testing.T) {
	seeds := slices.Clone(randomSeeds)
	for seed := uint64(1000); seed < 1040; seed++ {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		for _, streaming := range []bool{false, true} {
			shape := newTree(t, unprobed{}, new(made[*schema.Message]), seed)
			agent := shape.agentAt(randomDepth, once)
			t.Run(fmt.Sprintf("%d/streaming=%v:%s", seed, streaming, shape.shape), func(t *testing.T) {
				log := runlog.New(runlog.Config{})
				runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: streaming,
					CheckPointStore: adktest.NewStore(), Durability: adk.EveryStep})
				options := append(runlog.Observe(log, runlog.About{ID: "run"}), adk.WithCheckPointID("id"))
				var want []string
				interrupted := false
				note := func(events *adk.AsyncIterator[*adk.AgentEvent]) (targets map[string]any) {
					for e := range events.All() {
						if e.Action != nil && e.Action.Interrupted != nil {
							targets, interrupted = map[string]any{}, true
							for _, p := range e.Action.Interrupted.InterruptContexts {
								targets[p.ID] = approve(p)
							}
						}
						if m, ok := messageOf(t, e); ok && !e.IsInner() {
							want = append(want, adktest.Line(m))
						}
					}
					return targets
				}
				targets := note(runner.Query(t.Context(), "Do it.", options...))
				for n := 0; targets != nil && n < 20; n++ {
					options = runlog.Observe(log, runlog.About{ID: "run"})
					events, err := runner.ResumeWithParams(t.Context(), "id", &adk.ResumeParams{Targets: targets}, options...)
					require.NoError(t, err)
					targets = note(events)
				}
				events := recorded(t, log)
				requireWellFormed(t, events)
				var got []string
				for _, m := range runlog.Transcript[*schema.Message](events) {
					got = append(got, adktest.Line(m))
				}
				require.NotEmpty(t, want)
				if shape.unordered {
					slices.Sort(want)
					slices.Sort(got)
				}
				require.Equal(t, want, got, "interrupted: %v", interrupted)
				require.NoError(t, log.Close(t.Context()))
			})
		}
	}
}

// unprobed is a prober that changes nothing.
type unprobed struct{}

func (unprobed) Model(m model.BaseModel[*schema.Message]) model.BaseModel[*schema.Message] { return m }
func (unprobed) Tool(t tool.InvokableTool) tool.InvokableTool                              { return t }
func (unprobed) Middleware() adk.ChatModelAgentMiddleware {
	return &adk.BaseChatModelAgentMiddleware{}
}

// messageOf is the message of an event, and false if it has none that counts.
func messageOf(t *testing.T, e *adk.AgentEvent) (*schema.Message, bool) {
	if e.Output == nil || e.Output.MessageOutput == nil {
		return nil, false
	}
	v := e.Output.MessageOutput
	if !v.IsStreaming {
		return v.Message, v.Message != nil
	}
	defer v.MessageStream.Close()
	var chunks []*schema.Message
	for {
		chunk, err := v.MessageStream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, false
		}
		chunks = append(chunks, chunk)
	}
	m, err := schema.ConcatMessages(chunks)
	require.NoError(t, err)
	return m, true
}

func recorded(t *testing.T, log *runlog.Log) (events []runlog.Event) {
	for e, err := range log.Events(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

// requireWellFormed checks what holds for every record of a run that has ended.
func requireWellFormed(t *testing.T, events []runlog.Event) {
	t.Helper()
	open := map[runlog.SpanID]runlog.Type{0: runlog.RunStart}
	started := map[runlog.SpanID]bool{}
	var lines []string
	for i, e := range events {
		lines = append(lines, fmt.Sprintf("%d %s %d<%d %s", e.Seq, e.Type, e.Span, e.Parent, e.Agent))
		require.Equal(t, uint64(i+1), e.Seq, "%v", lines)
		switch e.Type {
		case runlog.AgentStart, runlog.ModelStart, runlog.ToolStart:
			require.False(t, started[e.Span], "%v", lines)
			started[e.Span], open[e.Span] = true, e.Type
			require.NotEmpty(t, open[e.Parent], "the parent is not open: %v", lines)
		case runlog.AgentEnd, runlog.ModelEnd, runlog.ToolEnd:
			require.NotEmpty(t, open[e.Span], "%v", lines)
			delete(open, e.Span)
		case runlog.ModelDelta, runlog.ToolDelta, runlog.Said, runlog.Action:
			require.NotEmpty(t, open[e.Span], "%v", lines)
		case runlog.RunEnd:
			require.Len(t, open, 1, "%v %v", open, lines)
		}
	}
	require.Equal(t, runlog.RunEnd, events[len(events)-1].Type)
}
