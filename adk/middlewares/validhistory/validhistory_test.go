package validhistory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/schema"
)

func TestRepair(t *testing.T) {
	messagetest.Both(t, testRepair[*schema.Message], testRepair[*schema.AgenticMessage])
}

func testRepair[M adk.MessageType](t *testing.T) {
	user, calling, result, system, says := messagetest.User[M], messagetest.Calling[M], messagetest.Result[M], messagetest.System[M], messagetest.Assistant[M]
	var none M
	many := make([]string, 20)
	manyResults := make([]M, len(many))
	for i := range many {
		many[i] = fmt.Sprint("c", i)
		manyResults[len(many)-1-i] = result(many[i], "r")
	}
	for name, c := range map[string]struct {
		in       []M
		options  Options
		want     []string // nil: it stays
		problems []string
	}{
		"valid": {in: []M{system("s"), user("u"), calling("a", "b"), result("b", "rb"), result("a", "ra"),
			says("x")}},
		"valid, many calls": {in: append([]M{user("u"), calling(many...)}, manyResults...)},
		"valid, IDs again":  {in: []M{user("u"), calling("a"), result("a", "1"), calling("a"), result("a", "2")}},
		"valid, empty":      {},
		"valid, odd order":  {in: []M{says("hi"), system("s"), user("u")}},
		"nil and empty": {[]M{none, user(" "), user("u"), says("")}, Options{}, []string{"user: u"},
			[]string{"0 " + string(RuleMessage), "1 " + string(RuleContent), "3 " + string(RuleContent)}},
		"cut before results": {[]M{result("a", "ra"), says("x"), user("u")}, Options{}, []string{"assistant: x", "user: u"},
			[]string{"0 " + string(RuleCall)}},
		"no result": {[]M{user("u"), calling("a", "b"), result("a", "ra")}, Options{},
			[]string{"user: u", "assistant: [t#a {}] [t#b {}]", "tool t#a: ra", "tool t#b: none"},
			[]string{"1 " + string(RuleResult)}},
		"result late": {[]M{calling("a"), user("u"), result("a", "ra")}, Options{},
			[]string{"assistant: [t#a {}]", "tool t#a: ra", "user: u"}, []string{"2 " + string(RuleOrder)}},
		"result twice": {[]M{calling("a"), result("a", "1"), result("a", "2")}, Options{},
			[]string{"assistant: [t#a {}]", "tool t#a: 1"}, []string{"2 " + string(RuleCall)}},
		"result of another": {[]M{calling("a"), calling("b"), result("a", "ra"), result("b", "rb")}, Options{},
			[]string{"assistant: [t#a {}]", "tool t#a: ra", "assistant: [t#b {}]", "tool t#b: rb"},
			[]string{"2 " + string(RuleOrder)}},
		"an ID again": {[]M{calling("a"), calling("a"), result("a", "ra")}, Options{},
			[]string{"assistant: [t#a {}]", "tool t#a: none", "assistant: [t#a {}]", "tool t#a: ra"},
			[]string{"0 " + string(RuleResult)}},
		"an ID twice": {[]M{calling("a", "a", "a_2"), result("a", "1"), result("a_2", "3"), result("a", "2")}, Options{},
			[]string{"assistant: [t#a {}] [t#a_3 {}] [t#a_2 {}]", "tool t#a: 1", "tool t#a_2: 3", "tool t#a_3: 2"},
			[]string{"0 " + string(RuleCallID)}},
		"system first": {[]M{user("u"), system("s"), says("x")}, Options{SystemFirst: true},
			[]string{"system: s", "user: u", "assistant: x"}, []string{"1 " + string(RuleSystemFirst)}},
		"user first": {[]M{system("s"), says("x"), user("u")}, Options{UserFirst: true},
			[]string{"system: s", "user: " + leftOut, "assistant: x", "user: u"}, []string{"1 " + string(RuleUserFirst)}},
		"both in order": {in: []M{system("s"), user("u"), says("x")}, options: Options{SystemFirst: true, UserFirst: true}},
	} {
		t.Run(name, func(t *testing.T) {
			before := strings.Join(adktest.Lines(c.in), "\n")
			got, problems := Repair(c.in, c.options, func(string, string) string { return "none" })
			require.Equal(t, before, strings.Join(adktest.Lines(c.in), "\n"))
			require.Equal(t, problems, Check(c.in, c.options))
			if c.want == nil {
				require.Empty(t, problems)
				require.Equal(t, c.in, got)
				return
			}
			require.Equal(t, c.want, adktest.Lines(got))
			var lines []string
			for _, p := range problems {
				lines = append(lines, fmt.Sprint(p.Index, " ", p.Rule))
				require.Contains(t, p.String(), string(p.Rule))
			}
			require.Equal(t, c.problems, lines)
			require.Empty(t, Check(got, c.options))
		})
	}
}

func TestRepair_Parts(t *testing.T) {
	m := &schema.Message{Role: schema.User,
		UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText},
			{Type: schema.ChatMessagePartTypeText, Text: "x"}}}
	got, problems := Repair([]*schema.Message{m}, Options{}, nil)
	require.Equal(t, []Problem{{Rule: RulePart}}, problems)
	require.Len(t, got[0].UserInputMultiContent, 1)
	require.Len(t, m.UserInputMultiContent, 2)
	got, problems = Repair([]*schema.Message{{Content: "who?"}}, Options{}, nil)
	require.Equal(t, []Problem{{Rule: RuleRole}}, problems)
	require.Equal(t, schema.User, got[0].Role)

	a := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant,
		ContentBlocks: []*schema.ContentBlock{nil, {Type: schema.ContentBlockTypeFunctionToolCall},
			schema.NewContentBlock(&schema.AssistantGenText{}),
			schema.NewContentBlock(&schema.FunctionToolCall{CallID: "a", Name: "t"})}}
	mixed := messagetest.Result[*schema.AgenticMessage]("stray", "x")
	mixed.ContentBlocks = append(mixed.ContentBlocks,
		messagetest.Result[*schema.AgenticMessage]("a", "ra").ContentBlocks[0],
		schema.NewContentBlock(&schema.UserInputText{Text: "words"}))
	repaired, problems := Repair([]*schema.AgenticMessage{a, mixed}, Options{}, nil)
	require.Equal(t, []Problem{{Rule: RulePart}, {Rule: RuleCall, Index: 1, CallID: "stray", ToolName: "t"}}, problems)
	require.Equal(t, []string{"assistant: [t#a ]", "tool t#a: ra", "user: words"}, adktest.Lines(repaired))
	require.Len(t, mixed.ContentBlocks, 3)
}

// TestRepair_AnythingBecomesValid cuts, shuffles and repeats valid histories in every way.
func TestRepair_AnythingBecomesValid(t *testing.T) {
	messagetest.Both(t, testAnything[*schema.Message], testAnything[*schema.AgenticMessage])
}

func testAnything[M adk.MessageType](t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		history := []M{messagetest.System[M]("s")}
		for i := range 1 + r.IntN(4) {
			ids := make([]string, r.IntN(12))
			for n := range ids {
				ids[n] = fmt.Sprint("c", r.IntN(3)*i, "_", n)
			}
			history = append(history, messagetest.User[M]("u"))
			if len(ids) > 0 {
				history = append(history, messagetest.Calling[M](ids...))
			}
			for _, id := range ids {
				history = append(history, messagetest.Result[M](id, "r"))
			}
		}
		require.Empty(t, Check(history, Options{SystemFirst: true, UserFirst: true}))
		for range 1 + r.IntN(4) {
			switch at, n := r.IntN(len(history)), 1+r.IntN(3); r.IntN(5) {
			case 0:
				history = history[at:]
			case 1:
				history = history[:at+1]
			case 2:
				history = slices.Delete(history, at, min(at+n, len(history)))
			case 3:
				history = append(history, history[at])
			case 4:
				to := r.IntN(len(history))
				history[at], history[to] = history[to], history[at]
			}
			if len(history) == 0 {
				history = []M{*new(M)}
			}
		}
		o := Options{SystemFirst: r.IntN(2) == 0, UserFirst: r.IntN(2) == 0}
		repaired, problems := Repair(history, o, nil)
		require.Empty(t, Check(repaired, o), "seed %d: %v", seed, adktest.Lines(history))
		if len(problems) == 0 {
			require.Equal(t, history, repaired)
		}
		// The long way says the same as the quick check.
		long := &repair[M]{options: o, placeholder: func(string, string) string { return "" }, open: map[string][]slot[M]{}}
		for i, m := range history {
			long.add(i, m)
		}
		long.finish()
		require.Equal(t, sound(history, o), len(long.problems) == 0, "seed %d: %v", seed, adktest.Lines(history))
	}
}

func TestMiddleware(t *testing.T) {
	messagetest.Both(t, testMiddleware[*schema.Message], testMiddleware[*schema.AgenticMessage])
}

func testMiddleware[M adk.MessageType](t *testing.T) {
	var problems []Problem
	m, err := NewTyped[M](t.Context(),
		&Config{OnRepair: func(_ context.Context, p []Problem) { problems = append(problems, p...) },
			Placeholder: func(_ context.Context, tool, id string) string { return "lost " + tool + " " + id }})
	require.NoError(t, err)
	history := []M{messagetest.User[M]("u"), messagetest.Calling[M]("a")}
	run := func(handler adk.TypedChatModelAgentMiddleware[M], model *adktest.Model[M], streaming bool) *adktest.Events[M] {
		agent, err := adk.NewTypedChatModelAgent(t.Context(),
			&adk.TypedChatModelAgentConfig[M]{Name: "a", Model: model,
				Handlers: []adk.TypedChatModelAgentMiddleware[M]{handler}})
		require.NoError(t, err)
		return adktest.Collect(t,
			adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: streaming}).Run(t.Context(), history))
	}
	for _, streaming := range []bool{false, true} {
		problems = nil
		run(m, adktest.NewTypedModel[M](t,
			adktest.Says("done").Seeing("user: u", "assistant: [t#a {}]", "tool t#a: lost t a")), streaming).ExpectText("done")
		require.Equal(t, []Problem{{Rule: RuleResult, Index: 1, CallID: "a", ToolName: "t"}}, problems)
	}
	strict, err := NewTyped[M](t.Context(), &Config{Strict: true})
	require.NoError(t, err)
	var invalid *InvalidError
	err = run(strict, adktest.NewTypedModel[M](t), true).Err()
	require.True(t, errors.As(err, &invalid))
	require.Contains(t, err.Error(), `message 1: call has no result (tool "t", call "a")`)

	// A wrapper that breaks what was valid.
	wrapped, err := m.WrapModel(t.Context(),
		adktest.NewTypedModel[M](t, adktest.Says("x").SeeingLast("tool t#a: lost t a"),
			adktest.Says("y").SeeingLast("tool t#a: lost t a")), nil)
	require.NoError(t, err)
	_, err = wrapped.Generate(t.Context(), history)
	require.NoError(t, err)
	s, err := wrapped.Stream(t.Context(), history)
	require.NoError(t, err)
	s.Close()
	wrapped, err = strict.WrapModel(t.Context(), adktest.NewTypedModel[M](t), nil)
	require.NoError(t, err)
	_, err = wrapped.Generate(t.Context(), history)
	require.ErrorAs(t, err, &invalid)
	_, err = wrapped.Stream(t.Context(), history)
	require.ErrorAs(t, err, &invalid)
}

func TestMiddleware_NothingToDoCostsLittle(t *testing.T) {
	m, err := New(t.Context(), nil)
	require.NoError(t, err)
	state := &adk.ChatModelAgentState{Messages: messagetest.Conversation[*schema.Message](100)}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		_, _, _ = m.BeforeModelRewriteState(t.Context(), state, nil)
		_, _ = m.WrapModel(t.Context(), nil, nil)
	}), 6.0)
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		messages := messagetest.Conversation[*schema.Message](n)
		b.Run(fmt.Sprint("valid/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Check(messages, Options{})
			}
		})
		b.Run(fmt.Sprint("repair/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Repair(messages[:len(messages)-2], Options{}, nil)
			}
		})
	}
}
