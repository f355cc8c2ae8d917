package runlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func toolOf(t testing.TB, name string, do func(ctx context.Context) (string, error)) tool.BaseTool {
	made, err := utils.InferTool(name, name, func(ctx context.Context, _ struct{}) (string, error) { return do(ctx) })
	require.NoError(t, err)
	return made
}

func agentOf(t testing.TB, conf adk.ChatModelAgentConfig, tools ...tool.BaseTool) adk.Agent {
	conf.Name, conf.Description = "desk", "answers"
	conf.ToolsConfig.ToolsNodeConfig = compose.ToolsNodeConfig{Tools: tools, ExecuteSequentially: true}
	a, err := adk.NewChatModelAgent(t.Context(), &conf)
	require.NoError(t, err)
	return a
}

// record runs an agent to its end and returns what is recorded.
func record(t *testing.T, conf adk.RunnerConfig, opts ...adk.AgentRunOption) []runlog.Event {
	t.Helper()
	log := runlog.New(runlog.Config{})
	defer func() { require.NoError(t, log.Close(context.WithoutCancel(t.Context()))) }()
	runner := adk.NewRunner(t.Context(), conf)
	opts = append(opts, runlog.Observe(log, runlog.About{ID: "run", Labels: map[string]string{"who": "ana"}})...)
	for e := range runner.Query(t.Context(), "What is the weather?", opts...).All() {
		if e.Output != nil && e.Output.MessageOutput != nil {
			_, _ = e.Output.MessageOutput.GetMessage()
		}
	}
	return eventsOf(t, log)
}

// eventsOf are the events of the run that are there now.
func eventsOf(t *testing.T, log *runlog.Log) (events []runlog.Event) {
	t.Helper()
	for e, err := range log.Events(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		events = append(events, e)
		if e.Type == runlog.RunEnd {
			break
		}
	}
	return events
}

func typesOf(events []runlog.Event) (all []string) {
	for _, e := range events {
		all = append(all, string(e.Type))
	}
	return all
}

var changes = regexp.MustCompile(`"t":\d+|"_eino_msg_id":"[^"]*"`)

// Rules runlog/RL1, runlog/RL2.
func TestEvents_HaveTheJSONThatReadersKnow(t *testing.T) {
	events := record(t, adk.RunnerConfig{EnableStreaming: true, Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, adktest.Streams("I ", "look").Calling(adktest.Call("weather", `{}`)), adktest.Says("Sunny.")),
	}, toolOf(t, "weather", func(context.Context) (string, error) { return "sun", nil }))})
	var lines []string
	for _, e := range events {
		if end, ok := e.Data.(*runlog.ModelEndData); ok {
			end.FirstMS = 0
		}
		data, err := json.Marshal(e)
		require.NoError(t, err)
		var again runlog.Event
		require.NoError(t, json.Unmarshal(data, &again))
		encoded, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(data), string(encoded))
		lines = append(lines, changes.ReplaceAllStringFunc(string(data), func(s string) string {
			return s[:strings.Index(s, ":")+1] + "0"
		}))
	}
	got := strings.Join(lines, "\n") + "\n"
	const golden = "testdata/events.jsonl"
	if os.Getenv("WEFT_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestEvent_KeepsWhatItDoesNotKnow(t *testing.T) {
	const line = `{"v":2,"run":"r","seq":7,"token":"ffffffffffffffff","t":5,"type":"of.tomorrow","span":"3","parent":"2","data":{"x":[1]}}`
	var e runlog.Event
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(line, `"t":5`, `"more":true,"t":5`, 1)), &e))
	again, err := json.Marshal(e)
	require.NoError(t, err)
	require.Equal(t, line, string(again))
}

// Rule runlog/RL4.
// Who is given the ends of stretches is given each once, and cannot harm the run.
func TestConfig_EndedIsGivenTheEndOfARun(t *testing.T) {
	var ends []runlog.Attempt
	log := runlog.New(runlog.Config{Ended: func(s runlog.Attempt) {
		ends = append(ends, s)
		panic("boom")
	}})
	defer func() { require.NoError(t, log.Close(t.Context())) }()
	finish(t, talking(t, 5), runlog.Observe(log, runlog.About{ID: "r", Labels: map[string]string{"k": "v"}})...)
	require.Len(t, ends, 1)
	require.NotEmpty(t, ends[0].Agent)
	require.Equal(t, "v", ends[0].Run.Labels["k"])
	require.Equal(t, runs.Done, ends[0].End.Status)
	require.Equal(t, 1, ends[0].End.ModelCalls)
}

func TestObserve_RecordsRetries(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		events := record(t, adk.RunnerConfig{EnableStreaming: streaming, Agent: agentOf(t, adk.ChatModelAgentConfig{
			Model: adktest.NewModel(t, adktest.Streams("half").ThenFails(errors.New("broke off")), adktest.Says("whole")),
			ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 2, BackoffFunc: func(context.Context, int) time.Duration { return 0 },
				IsRetryAble: func(context.Context, error) bool { return true }},
		})})
		var attempts []int
		var again []bool
		for _, e := range events {
			switch d := e.Data.(type) {
			case *runlog.ModelStartData:
				attempts = append(attempts, d.Attempt)
			case *runlog.ModelEndData:
				again = append(again, d.Again)
			}
		}
		require.Equal(t, []int{1, 2}, attempts)
		require.Equal(t, []bool{true, false}, again)
		messages := runlog.Transcript[*schema.Message](events)
		require.Len(t, messages, 1)
		require.Equal(t, "whole", messages[0].Content)
	}
}

// A model's IDs may come again and again; the names of calls in a log do not.
//
// Rule runlog/RL6.
func TestObserve_NamesCallsThatHaveTheSameID(t *testing.T) {
	call := adktest.Calls(adktest.ToolCall{ID: "call_0", Name: "weather", Arguments: `{}`})
	events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, call, call, adktest.Says("Sunny."))},
		toolOf(t, "weather", func(context.Context) (string, error) { return "sun", nil }))})
	var calls []string
	for _, e := range events {
		switch d := e.Data.(type) {
		case *runlog.ModelEndData:
			calls = append(calls, d.Calls...)
		case *runlog.ToolStartData:
			calls = append(calls, d.Call)
		case *runlog.ToolEndData:
			calls = append(calls, d.Call)
		}
	}
	require.Equal(t, []string{"call_0", "call_0", "call_0", "call_0~2", "call_0~2", "call_0~2"}, calls)
}

// Rule runlog/RL5.
func TestObserve_RecordsAgentsThatRunAsTools(t *testing.T) {
	inner := agentOf(t, adk.ChatModelAgentConfig{Model: adktest.NewModel(t, adktest.Says("inside"))})
	events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, adktest.Calls(adktest.Call("desk", `{"request":"do it"}`)), adktest.Says("outside"))},
		adk.NewAgentTool(t.Context(), inner))})
	require.Equal(t, []string{"run.start", "agent.start", "model.start", "model.end", "tool.start", "agent.start",
		"model.start", "model.end", "agent.end", "tool.end", "model.start", "model.end", "agent.end", "run.end"}, typesOf(events))
	require.Equal(t, "call_1", events[5].Data.(*runlog.AgentStartData).Call)
	require.Equal(t, events[4].Span, events[5].Parent)
	require.Len(t, runlog.Transcript[*schema.Message](events), 3)
}

// A run that is cancelled closes what is open, innermost first.
//
// Rule runlog/RL4.
func TestObserve_ClosesTheSpansOfACancelledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		option, cancel := adk.WithCancel()
		events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
			Model: adktest.NewModel(t, adktest.Calls(adktest.Call("wait", `{}`)), adktest.Says("late").Repeated())},
			toolOf(t, "wait", func(ctx context.Context) (string, error) {
				go cancel()
				<-ctx.Done()
				return "", ctx.Err()
			}))}, option)
		types := typesOf(events)
		require.Equal(t, []string{"tool.end", "agent.end", "run.end"}, types[len(types)-3:])
		require.Equal(t, runs.Paused, events[len(events)-1].Data.(*runlog.RunEndData).Status)
	})
}

// Rule runlog/RL3.
func TestObserve_ChangesNoEvents(t *testing.T) {
	ask := func(opts ...adk.AgentRunOption) []string {
		agent := agentOf(t, adk.ChatModelAgentConfig{Model: adktest.NewModel(t,
			adktest.Streams("I ", "look").Calling(adktest.Call("weather", `{}`)), adktest.Streams("Sun", "ny."))},
			toolOf(t, "weather", func(context.Context) (string, error) { return "sun", nil }))
		var all []string
		for _, e := range adktest.AskStreaming(t.Context(), t, agent, "What is the weather?", opts...).All() {
			all = append(all, fmt.Sprint(e.String(), len(e.Chunks)))
		}
		return all
	}
	log := runlog.New(runlog.Config{})
	require.Equal(t, ask(), ask(runlog.Observe(log, runlog.About{ID: "run"})...))
	require.NoError(t, log.Close(t.Context()))
}

// A run is recorded even if nothing reads its events.
func TestObserve_RecordsARunThatNobodyReads(t *testing.T) {
	log := runlog.New(runlog.Config{})
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: true, Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, adktest.Streams("a", "b"))})})
	runner.Query(t.Context(), "Hello", runlog.Observe(log, runlog.About{ID: "run"})...).Close()
	events := eventsOf(t, log)
	require.Equal(t, "ab", runlog.Transcript[*schema.Message](events)[0].Content)
	require.NoError(t, log.Close(t.Context()))
}

// Rule runlog/RL2.
func TestObserve_RecordsWhatFails(t *testing.T) {
	events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, adktest.Panics("oh"))})})
	require.Equal(t, []string{"run.start", "agent.start", "model.start", "model.end", "agent.end", "run.end"}, typesOf(events))
	end := events[len(events)-1].Data.(*runlog.RunEndData)
	require.Equal(t, runs.Failed, end.Status)
	require.Equal(t, "panic", end.Error.Type)

}
