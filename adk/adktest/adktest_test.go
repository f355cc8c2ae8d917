package adktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

var errBoom = errors.New("boom")

// observed is a TB that keeps what would fail the test.
type observed struct {
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (o *observed) Helper() {}

func (o *observed) Errorf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = append(o.failures, fmt.Sprintf(format, args...))
}

func (o *observed) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

// end ends the observed test and returns its failures.
func (o *observed) end() []string {
	for _, f := range slices.Backward(o.cleanups) {
		f()
	}
	return o.failures
}

func agentOf[M adk.MessageType](t *testing.T, m model.BaseModel[M], tools ...tool.BaseTool) adk.TypedAgent[M] {
	t.Helper()
	a, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: "tester", Description: "an agent under test", Model: m, ToolsConfig: Tools(tools...)})
	require.NoError(t, err)
	return a
}

// both runs a test in fake time for both kinds of message, streaming and not.
func both(t *testing.T, ordinary func(*testing.T, asking[*schema.Message]),
	agentic func(*testing.T, asking[*schema.AgenticMessage]),
) {
	t.Helper()
	bubble(t, "ordinary/whole", ordinary, Ask[*schema.Message])
	bubble(t, "ordinary/streaming", ordinary, AskStreaming[*schema.Message])
	bubble(t, "agentic/whole", agentic, Ask[*schema.AgenticMessage])
	bubble(t, "agentic/streaming", agentic, AskStreaming[*schema.AgenticMessage])
}

type asking[M adk.MessageType] func(context.Context, TB, adk.TypedAgent[M], string, ...adk.AgentRunOption) *Events[M]

func bubble[M adk.MessageType](t *testing.T, name string, body func(*testing.T, asking[M]), ask asking[M]) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { body(t, ask) }) })
}

func TestModel_Story(t *testing.T) {
	both(t, testModelStory[*schema.Message], testModelStory[*schema.AgenticMessage])
}

func testModelStory[M adk.MessageType](t *testing.T, ask asking[M]) {
	weather, calendar := NewTool("weather", Says("sunny"), Says("rain")), NewEnhancedTool("calendar",
		Streams("fr", "ee").Every(time.Second))
	m := NewTypedModel[M](t,
		Streams("Let me ", "see.").Calling(Call("weather", `{"city":"Lisbon"}`), Call("calendar", "{}").WithID("own")).
			Seeing("user: umbrella?").Offered("weather", "calendar").After(time.Minute).Every(time.Second),
		Calls(Call("weather", `{}`)).SeeingLast("tool weather#call_1: sunny", "tool calendar#own: free"),
		Says("Take one.").SeeingLast("tool weather#call_3: rain"),
	)
	before := time.Now()
	events := ask(t.Context(), t, agentOf(t, m, weather, calendar), "umbrella?")
	require.Equal(t, time.Minute+3*time.Second, time.Since(before))
	events.Expect(
		`assistant: Let me see. [weather#call_1 {"city":"Lisbon"}] [calendar#own {}]`,
		"tool weather#call_1: sunny",
		"tool calendar#own: free",
		"assistant: [weather#call_3 {}]",
		"tool weather#call_3: rain",
		"assistant: Take one.",
	).ExpectText("Take one.").ExpectToolCalls("weather", "calendar", "weather").ExpectNoError()
	require.Equal(t, []string{`{"city":"Lisbon"}`, "{}"}, weather.Arguments())
	require.Equal(t, []ToolCall{{ID: "own", Name: "calendar", Arguments: "{}"}}, calendar.Calls())
	calls := m.Calls()
	require.Len(t, calls, 3)
	require.Equal(t, []string{"weather", "calendar"}, calls[0].Tools())
	require.Equal(t, []string{"user: umbrella?"}, Lines(calls[0].Messages))
}

func TestModel_Drift(t *testing.T) {
	both(t, testModelDrift[*schema.Message], testModelDrift[*schema.AgenticMessage])
}

func testModelDrift[M adk.MessageType](t *testing.T, ask asking[M]) {
	for name, c := range map[string]struct {
		script []Answer
		want   []string
	}{
		"wrong messages": {[]Answer{Says("x").Seeing("system: be brief", "user: hi")},
			[]string{"call 1", "> system: be brief", "> user: hi"}},
		"wrong last":  {[]Answer{Says("x").SeeingLast("user: ho")}, []string{"> user: hi", "> user: ho"}},
		"wrong tools": {[]Answer{Says("x").Offered("b")}, []string{"> a", "> b"}},
		"one too many": {[]Answer{Calls(Call("a", "{}"))},
			[]string{"call 2 of the model is one too many", "user: hi", "tool a#call_1: {}"}},
		"never called": {nil, []string{"its script has 0 replies"}},
		"not used up":  {[]Answer{Says("x"), Says("y")}, []string{"called once, and its script has 2 replies"}},
	} {
		o := &observed{}
		ask(t.Context(), t, agentOf(t, NewTypedModel[M](o, c.script...), NewTool("a")), "hi").All()
		failures := o.end()
		require.Len(t, failures, 1, name)
		for _, part := range c.want {
			require.Contains(t, failures[0], part, name)
		}
	}
}

func TestModel_Failures(t *testing.T) {
	both(t, testModelFailures[*schema.Message], testModelFailures[*schema.AgenticMessage])
}

func testModelFailures[M adk.MessageType](t *testing.T, ask asking[M]) {
	run := func(r Answer) *Events[M] {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		return ask(ctx, t, agentOf(t, NewTypedModel[M](t, r)), "hi")
	}
	run(Fails(errBoom)).ExpectError(errBoom).ExpectError(nil)
	run(Says("par").ThenFails(errBoom)).ExpectError(errBoom)
	run(Panics(errBoom)).ExpectError(errBoom)
	run(Blocks()).ExpectError(context.DeadlineExceeded)
	run(Says("par").ThenBlocks()).ExpectError(context.DeadlineExceeded)
	run(Says("late").After(2 * time.Hour)).ExpectError(context.DeadlineExceeded)
	run(Streams("a", "b").Every(2 * time.Hour)).ExpectError(context.DeadlineExceeded)
	run(Does(func(_ context.Context, input string) (string, error) { return input + "!", nil })).ExpectText("hi!")
	run(Does(func(context.Context, string) (string, error) { return "", errBoom })).ExpectError(errBoom)
	run(Says("again").Repeated()).ExpectText("again")
	run(Messages(answer[M]("raw", nil, false, 0))).ExpectText("raw")

	signal := make(chan struct{})
	time.AfterFunc(30*time.Minute, func() { close(signal) })
	run(Says("at last").When(signal)).ExpectText("at last")
}

func TestModel_BadScriptFailsAtOnce(t *testing.T) {
	require.PanicsWithValue(t, "adktest: reply 1 of the script is repeated, so reply 2 is never given", func() {
		NewModel(t, Says("a").Repeated(), Says("b"))
	})
	require.Panics(t, func() { NewModel(t, Messages(&schema.AgenticMessage{})) })
	require.Panics(t, func() { NewTool("t", Calls(Call("x", ""))) })
	require.Panics(t, func() { NewTool("t", Results(&schema.ToolResult{})) })
	require.Panics(t, func() { NewTool("t", Says("x").Seeing()) })
}

// TestModel_StreamBreaksOff: what came before the error is in the event.
func TestModel_StreamBreaksOff(t *testing.T) {
	m := NewModel(t, Streams("to ", "be").ThenFails(errBoom))
	all := AskStreaming(t.Context(), t, agentOf(t, m), "hi").All()
	require.Equal(t, "assistant: to be (broken: boom)", all[0].String())
	require.Len(t, all[0].Chunks, 2)
	require.ErrorIs(t, all[0].Broken, errBoom)
}

// TestModel_ReaderGone: a stream whose reader is closed ends at once, in the middle of a wait as well.
func TestModel_ReaderGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, r := range []Answer{Streams("a", "b").Every(time.Hour), Says("a").ThenBlocks()} {
			before := time.Now()
			s, err := NewModel(t, r).Stream(context.Background(), nil)
			require.NoError(t, err)
			first, err := s.Recv()
			require.NoError(t, err)
			require.Equal(t, "a", first.Content)
			s.Close()
			synctest.Wait()
			require.Equal(t, before, time.Now())
		}
	})
}

// TestModel_AfterTheTest: what happens after the end of a test does not fail it; a real one would panic.
func TestModel_AfterTheTest(t *testing.T) {
	o := &observed{}
	m := NewModel(o)
	require.Empty(t, o.end())
	_, err := m.Generate(t.Context(), nil)
	require.ErrorContains(t, err, "one too many")
	require.Empty(t, o.failures)
}

func TestModel_Concurrent(t *testing.T) {
	m := NewModel(t, Calls(Call("a", "")).Repeated())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _, _ = m.Generate(t.Context(), nil) })
	}
	all.Wait()
	require.Len(t, m.Calls(), 20)
}

func TestTools_Kinds(t *testing.T) {
	both(t, testToolKinds[*schema.Message], testToolKinds[*schema.AgenticMessage])
}

func testToolKinds[M adk.MessageType](t *testing.T, ask asking[M]) {
	text := func(s string) *schema.ToolResult {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: s}}}
	}
	for _, c := range []tool.BaseTool{
		NewTool("a", Streams("x", "y").Every(time.Second)),
		NewStreamTool("a", Streams("x", "y").Every(time.Second)),
		NewEnhancedTool("a", Streams("x", "y").Every(time.Second)),
		NewEnhancedTool("a", Results(text("x"), text("y")).Every(time.Second)),
		NewEnhancedStreamTool("a", Results(text("x"), text("y")).Every(time.Second)),
	} {
		before := time.Now()
		m := NewTypedModel[M](t, Calls(Call("a", "{}")), Says("done").SeeingLast("tool a#call_1: xy"))
		ask(t.Context(), t, agentOf(t, m, c), "hi").ExpectText("done")
		require.Equal(t, time.Second, time.Since(before), "%T", c)
	}
	for _, make := range []func(...Answer) tool.BaseTool{
		func(r ...Answer) tool.BaseTool { return NewTool("a", r...) },
		func(r ...Answer) tool.BaseTool { return NewStreamTool("a", r...) },
		func(r ...Answer) tool.BaseTool { return NewEnhancedTool("a", r...) },
		func(r ...Answer) tool.BaseTool { return NewEnhancedStreamTool("a", r...) },
	} {
		for _, r := range []Answer{Fails(errBoom), Panics(errBoom), Says("x").ThenFails(errBoom)} {
			m := NewTypedModel[M](t, Calls(Call("a", "{}")))
			ask(t.Context(), t, agentOf(t, m, make(r)), "hi").ExpectError(errBoom)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		m := NewTypedModel[M](t, Calls(Call("a", "{}")))
		ask(ctx, t, agentOf(t, m, make(Blocks())), "hi").ExpectError(context.DeadlineExceeded)
		cancel()
	}
}

func TestTool_Describe(t *testing.T) {
	weather := NewTool("weather")
	weather.Describe("tells the weather", map[string]*schema.ParameterInfo{"city": {Type: schema.String}})
	info, err := weather.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, "weather", info.Name)
	require.Equal(t, "tells the weather", info.Desc)
	js, err := info.ToJSONSchema()
	require.NoError(t, err)
	require.Equal(t, 1, js.Properties.Len())
}

// TestEvents_AsTheyCome: the events so far can be read while the run continues.
func TestEvents_AsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := make(chan struct{})
		m := NewModel(t, Calls(Call("slow", "")), Says("done"))
		agent := agentOf(t, m, NewTool("slow", Says("ok").When(signal)))
		events := Watch(t, adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent}).Query(t.Context(), "hi"))
		require.Equal(t, "assistant: [slow#call_1 ]", events.Wait(1).String())
		synctest.Wait()
		require.Len(t, m.Calls(), 1)
		close(signal)
		require.Equal(t, "assistant: done", events.Until("done").String())
		require.Equal(t, "tool slow#call_1: ok", events.Wait(2).String())
		require.Equal(t, "assistant: done", events.Until("done").String(), "also one that was read before")
		require.Len(t, events.All(), 3)
	})
}

// given is an agent whose events are given.
func given(events ...*adk.AgentEvent) *adk.AsyncIterator[*adk.AgentEvent] {
	it, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	for _, e := range events {
		gen.Send(e)
	}
	gen.Close()
	return it
}

func TestEvents_Lines(t *testing.T) {
	events := Collect(t, given(
		nil,
		adk.EventFromMessage(schema.AssistantMessage("hi", nil), nil, schema.Assistant, ""),
		&adk.AgentEvent{Action: &adk.AgentAction{Interrupted: &adk.InterruptInfo{Data: "sure?"}}},
		&adk.AgentEvent{Action: adk.NewTransferToAgentAction("other")},
		&adk.AgentEvent{Action: adk.NewBreakLoopAction("me")},
		&adk.AgentEvent{Action: &adk.AgentAction{CustomizedAction: 7, Exit: true}},
		&adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: "custom"}, Err: errBoom},
		&adk.AgentEvent{},
	))
	events.Expect("assistant: hi", "interrupt: sure?", "transfer to other", "break loop", "exit; action: 7",
		"output: custom; error: boom", "")
	require.Equal(t, "hi", events.Text())
	require.ErrorIs(t, events.Err(), errBoom)
}

func TestEvents_Failures(t *testing.T) {
	hi := func() *adk.AgentEvent {
		return adk.EventFromMessage(schema.AssistantMessage("hi", nil), nil, schema.Assistant, "")
	}
	boom := &adk.AgentEvent{Err: errBoom}
	for name, c := range map[string]struct {
		do   func(*Events[*schema.Message])
		from []*adk.AgentEvent
		want string
	}{
		"Expect": {func(e *Events[*schema.Message]) { e.Expect("assistant: ho") }, []*adk.AgentEvent{hi()},
			"> assistant: ho"},
		"ExpectText": {func(e *Events[*schema.Message]) { e.ExpectText("ho") }, []*adk.AgentEvent{hi()},
			`"hi"; want "ho"`},
		"ExpectText/error": {func(e *Events[*schema.Message]) { e.ExpectText("hi") }, []*adk.AgentEvent{hi(), boom}, "boom"},
		"ExpectToolCalls":  {func(e *Events[*schema.Message]) { e.ExpectToolCalls("a") }, []*adk.AgentEvent{hi()}, "> a"},
		"ExpectError/none": {func(e *Events[*schema.Message]) { e.ExpectError(nil) }, []*adk.AgentEvent{hi()},
			"did not fail"},
		"ExpectError": {func(e *Events[*schema.Message]) { e.ExpectError(io.EOF) }, []*adk.AgentEvent{boom},
			`"boom"; want "EOF"`},
		"ExpectNoError": {func(e *Events[*schema.Message]) { e.ExpectNoError() }, []*adk.AgentEvent{boom}, "boom"},
		"Wait": {func(e *Events[*schema.Message]) { _ = e.Wait(2).Err }, []*adk.AgentEvent{hi()},
			"ended after 1 events"},
		"Until": {func(e *Events[*schema.Message]) { _ = e.Until("ho").String() }, []*adk.AgentEvent{hi()}, `"ho"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observed{}
			c.do(Watch(o, given(c.from...)))
			require.Len(t, o.end(), 1)
			require.Contains(t, o.failures[0], c.want)
		})
	}
}

// TestEvents_DroppedAtTheEnd: a test that looks at the first event only leaves no stream open.
func TestEvents_DroppedAtTheEnd(t *testing.T) {
	o := &observed{}
	s, w := schema.Pipe[*schema.Message](1)
	events := Watch(o, given(&adk.AgentEvent{}, adk.EventFromMessage(nil, s, schema.Assistant, "")))
	events.Wait(1)
	require.Empty(t, o.end())
	require.True(t, w.Send(nil, nil), "the reader is closed")
}

func TestLine_Parts(t *testing.T) {
	require.Equal(t, "nil:", Line[*schema.Message](nil))
	require.Equal(t, "nil:", Line[*schema.AgenticMessage](nil))
	require.Equal(t, "user: look at <image_url>",
		Line(&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "look at "}, {Type: schema.ChatMessagePartTypeImageURL}}}))
	got := Line(&schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		nil, schema.NewContentBlock(&schema.Reasoning{Text: "hm"}),
		schema.NewContentBlock(&schema.AssistantGenText{Text: "see "}),
		schema.NewContentBlock(&schema.AssistantGenImage{URL: "u"})}})
	require.True(t, strings.HasPrefix(got, "assistant: see <"), got)
}

func TestStore_Conforms(t *testing.T) {
	checkpointtest.Run(t, func(*testing.T) checkpoint.Store { return NewStore() })
}

func TestStore_FailsAndTells(t *testing.T) {
	s := NewStore()
	require.NoError(t, s.Set(t.Context(), "a", []byte("x")))
	s.Fail(errBoom)
	_, _, err := s.Get(t.Context(), "a")
	require.ErrorIs(t, err, errBoom)
	require.ErrorIs(t, s.Set(t.Context(), "a", nil), errBoom)
	require.ErrorIs(t, s.Delete(t.Context(), "a"), errBoom)
	s.Fail(nil)
	got, _, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	require.Equal(t, []string{"set a", "get a", "set a", "delete a", "get a"}, s.Log())
}

// What a transcript says about an interrupt is what the points ask, in the order of the calls.
func TestEvents_LineOfAnInterruptIsItsQuestions(t *testing.T) {
	asks := func(name string) *Tool {
		return NewTool(name, Does(func(ctx context.Context, _ string) (string, error) {
			return "", tool.Interrupt(ctx, "may I "+name+"?")
		}))
	}
	m := NewModel(t, Calls(Call("pay", `{}`), Call("send", `{}`)))
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "assistant", Model: m, ToolsConfig: Tools(asks("pay"), asks("send"))})
	require.NoError(t, err)
	Ask(t.Context(), t, agent, "Pay, and let them know.").Expect(
		"assistant: [pay#call_1 {}] [send#call_2 {}]", "interrupt: may I pay?, may I send?")
}

// TestProbe_CallsInFlight: a call is in flight if it was begun when the run was stopped, or comes while the run ends,
// until its result is seen.
func TestProbe_CallsInFlight(t *testing.T) {
	p := newProbe[*schema.Message]()
	inFlight := func() []string { return slices.Sorted(maps.Keys(p.inFlight)) }
	first := p.live(&stopper{
		at: 1, usable: func(boundaryKind) bool { return true }, givesUp: true,
		stop: func(context.Context) error { return nil },
	})
	p.begin(first, "early")
	require.NoError(t, p.at(t.Context(), first, atToolStart))
	p.begin(first, "late")
	p.begin(first, "beside")
	require.Equal(t, []string{"beside", "early", "late"}, inFlight())
	require.NoError(t, p.did(first, "beside", "key", "done", "line"))
	p.show("line")
	require.Equal(t, []string{"early", "late"}, inFlight())
	p.begin(p.live(nil), "next")
	p.begin(first, "outlives")
	require.Equal(t, map[string]int{"early": 1, "late": 1, "outlives": 1}, p.record().givenUp)
}
