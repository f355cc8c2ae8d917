package adk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
)

// standIns sets a failover configuration that takes one model after the other.
func standIns[M MessageType](max uint, notes *diary, models ...model.BaseModel[M]) func(*TypedChatModelAgentConfig[M]) {
	return func(c *TypedChatModelAgentConfig[M]) {
		c.ModelFailoverConfig = &ModelFailoverConfig[M]{
			MaxRetries: max,
			ShouldFailover: func(_ context.Context, output M, err error) bool {
				notes.add("should %s %v", dialectOf[M]().line(output), err)
				return !errors.Is(err, errBroken)
			},
			GetFailoverModel: func(_ context.Context, fc *FailoverContext[M]) (model.BaseModel[M], []M, error) {
				d := dialectOf[M]()
				notes.add("get %d %v %s %v", fc.FailoverAttempt, d.lines(fc.InputMessages), d.line(fc.LastOutputMessage),
					fc.LastErr)
				return models[fc.FailoverAttempt-1], nil, nil
			},
		}
	}
}

// TestFailover_Sequence: which models are asked, and what is emitted, by what the models do.
// Rules agent/F-2, agent/F-3, agent/F-5, agent/F-6.
func TestFailover_Sequence(t *testing.T) { bubbled(t, testFailover[ordinary], testFailover[agentic]) }

func testFailover[M MessageType](t *testing.T, streaming bool) {
	shaky := func(texts ...string) try[M] { return breaks[M](errShaky, texts...) }
	for name, c := range map[string]struct {
		max           uint
		first, second try[M]
		third         []try[M]
		notes         []string
		streams       []string
		err           error
	}{
		"good": {max: 1, first: says1[M]("ok"), streams: []string{""}},
		"refused": {max: 1, first: refuses[M](errShaky), second: says1[M]("ok"), streams: []string{""},
			notes: []string{"should nil broken", "get 1 [user: hi] nil broken"}},
		"partial": {max: 1, first: shaky("a", "b"), second: says1[M]("ok"),
			streams: []string{"will retry 0: broken (<nil>)", ""},
			notes:   []string{"should assistant: ab broken", "get 1 [user: hi] assistant: ab broken"}},
		"the last one stands": {max: 1, first: shaky("a"), second: shaky("b"),
			streams: []string{"will retry 0: broken (<nil>)", "error: broken"},
			notes:   []string{"should assistant: a broken", "get 1 [user: hi] assistant: a broken"}, err: errShaky},
		"two": {max: 2, first: shaky("a"), second: shaky("b"), third: []try[M]{says1[M]("c")},
			streams: []string{"will retry 0: broken (<nil>)", "will retry 1: broken (<nil>)", ""},
			notes: []string{"should assistant: a broken", "get 1 [user: hi] assistant: a broken",
				"should assistant: b broken", "get 2 [user: hi] assistant: b broken"}},
		"none allowed": {max: 0, first: shaky("a"), streams: []string{"error: broken"}, err: errShaky},
		"not wanted": {max: 1, first: breaks[M](errBroken, "a"), streams: []string{"error: the line broke"}, err: errBroken,
			notes: []string{"should assistant: a the line broke"}},
		"canceled stream": {max: 1, first: breaks[M](ErrStreamCanceled, "a"), streams: []string{"error: stream canceled"},
			err: ErrStreamCanceled},
		"interrupt": {max: 1, first: refuses[M](compose.Interrupt(context.Background(), "x"))},
		"model's own canceled": {max: 1, first: refuses[M](context.Canceled), second: says1[M]("ok"), streams: []string{""},
			notes: []string{"should nil context canceled", "get 1 [user: hi] nil context canceled"}},
	} {
		var notes diary
		models := []*fickle[M]{{tries: []try[M]{c.first}}, {tries: []try[M]{c.second}}, {tries: c.third}}
		a := setup[M](t, models[0], nil, standIns[M](c.max, &notes, models[1], models[2]))
		all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
		require.Equal(t, c.notes, notes.all(), name)
		want := c.streams
		if !streaming {
			if want = nil; c.err == nil && name != "interrupt" {
				want = []string{""}
			}
		}
		require.Equal(t, want, endsOf(all), name)
		if c.err != nil {
			require.ErrorIs(t, endError(t, all), c.err, name)
			require.NotErrorIs(t, endError(t, all), ErrExceedMaxRetries, name)
		}
		synctest.Wait()
		for _, m := range models {
			require.Zero(t, m.open, "%s: all streams are closed", name)
		}
	}
}

// TestFailover_TheStandInStays: the model that answered last is called first, in this run and no other.
// Rule agent/F-1.
func TestFailover_TheStandInStays(t *testing.T) {
	bubbled(t, testStandInStays[ordinary], testStandInStays[agentic])
}

func testStandInStays[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	bad := &fickle[M]{tries: []try[M]{refuses[M](errShaky)}}
	good := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"), d.answer("", wanted{"t", "c1", object}),
		d.answer("done"))
	var notes diary
	a := setup[M](t, bad, []tool.BaseTool{echo("t")}, standIns[M](1, &notes, good))
	for run := 1; run <= 2; run++ {
		require.Equal(t, []string{asked, answered, ended}, linesOf(read(t, ask(t.Context(), TypedAgent[M](a), streaming))))
		require.Equal(t, run, bad.calls())
		require.Equal(t, 2*run, good.calls())
	}
	for _, opts := range good.options {
		require.Equal(t, []string{"t"}, toolNames(opts), "rule agent/F-7")
	}
}

// TestFailover_EachModelHasItsRetries: and failover sees how they ended.
// Rule agent/F-4.
func TestFailover_EachModelHasItsRetries(t *testing.T) {
	bubbled(t, testFailoverRetry[ordinary], testFailoverRetry[agentic])
}

func testFailoverRetry[M MessageType](t *testing.T, streaming bool) {
	for _, should := range []bool{false, true} {
		var decide func(*TypedRetryContext[M]) *TypedRetryDecision[M]
		if should {
			decide = func(rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
				return &TypedRetryDecision[M]{Retry: rc.Err != nil, AdditionalOptions: []model.Option{model.WithTopP(1)}}
			}
		}
		first, second := &fickle[M]{tries: []try[M]{breaks[M](errShaky,
			"a")}}, &fickle[M]{tries: []try[M]{refuses[M](errShaky), says1[M]("ok")}}
		var notes diary
		a := setup[M](t, first, nil, standIns[M](1, &notes, second), retrying(2, decide))
		all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
		require.Equal(t, 3, first.calls())
		require.Equal(t, 2, second.calls())
		require.Equal(t, "assistant: ok", linesOf(all)[len(all)-1])
		require.Equal(t, []string{
			"should assistant: a exceeds max retries: last error: broken",
			"get 1 [user: hi] assistant: a exceeds max retries: last error: broken",
		}, notes.all())
		if streaming {
			require.Len(t, all, 4)
			for i := range 3 {
				require.Regexp(t, "^will retry", ends(all[i]), "attempt %d", i)
			}
		}
	}
}

// TestFailover_GetFailoverModel: what can go wrong with the choice of another model, and its own input.
// Rules agent/F-3, agent/F-7.
func TestFailover_GetFailoverModel(t *testing.T) {
	bubbled(t, testGetFailover[ordinary], testGetFailover[agentic])
}

// tableModel is a model that cannot be compared.
type tableModel[M MessageType] struct {
	*fickle[M]
	_ []int
}

func testGetFailover[M MessageType](t *testing.T, streaming bool) {
	run := func(ctx context.Context, get func(*FailoverContext[M]) (model.BaseModel[M], []M, error)) []observed[M] {
		bad := &fickle[M]{tries: []try[M]{refuses[M](errShaky), says1[M]("recovered")}}
		a := setup[M](t, tableModel[M]{fickle: bad}, nil, func(c *TypedChatModelAgentConfig[M]) {
			c.ModelFailoverConfig = &ModelFailoverConfig[M]{
				MaxRetries:     2,
				ShouldFailover: func(context.Context, M, error) bool { return true },
				GetFailoverModel: func(_ context.Context, fc *FailoverContext[M]) (model.BaseModel[M], []M, error) {
					return get(fc)
				},
			}
		})
		return read(t, ask(ctx, TypedAgent[M](a), streaming))
	}
	all := run(t.Context(), func(*FailoverContext[M]) (model.BaseModel[M], []M, error) { return nil, nil, errBroken })
	require.ErrorIs(t, endError(t, all), errBroken)
	all = run(t.Context(), func(*FailoverContext[M]) (model.BaseModel[M], []M, error) { return nil, nil, nil })
	require.ErrorContains(t, endError(t, all), "failover GetFailoverModel returned nil model at attempt 1")
	all = run(t.Context(), func(*FailoverContext[M]) (model.BaseModel[M], []M, error) { panic("boom") })
	require.ErrorContains(t, endError(t, all), "panic error:")
	all = run(t.Context(),
		func(*FailoverContext[M]) (model.BaseModel[M], []M, error) { return (*fickle[M])(nil), nil, nil })
	require.ErrorContains(t, endError(t, all), "nil pointer")

	other := &fickle[M]{tries: []try[M]{says1[M]("ok")}}
	all = run(t.Context(), func(*FailoverContext[M]) (model.BaseModel[M], []M, error) {
		return tableModel[M]{fickle: other}, []M{opsOf[M]().user("short")}, nil
	})
	require.Equal(t, []string{"assistant: ok"}, linesOf(all))
	require.Equal(t, [][]string{{"user: short"}}, other.histories)

	same := &fickle[M]{tries: []try[M]{refuses[M](errShaky), says1[M]("recovered")}}
	a := setup[M](t, same, nil, standIns[M](1, &diary{}, same))
	require.Equal(t, []string{"assistant: recovered"}, linesOf(read(t, ask(t.Context(), TypedAgent[M](a), streaming))),
		"the same model again")

	ctx, cancel := context.WithCancel(t.Context())
	all = run(ctx, func(*FailoverContext[M]) (model.BaseModel[M], []M, error) { cancel(); return other, nil, nil })
	require.ErrorIs(t, endError(t, all), context.Canceled, "rule agent/F-3: a done ctx before an attempt")
	require.Equal(t, 1, other.calls())
}

// typedModel has a type for callbacks.
type typedModel[M MessageType] struct {
	*fickle[M]
	typ string
}

func (m typedModel[M]) GetType() string { return m.typ }

// TestFailover_CallbacksPerModel: each call of a model is reported once, as what it is.
// Rules agent/B19.23, agent/W-1.
func TestFailover_CallbacksPerModel(t *testing.T) {
	bubbled(t, testFailoverCallbacks[ordinary], testFailoverCallbacks[agentic])
}

func testFailoverCallbacks[M MessageType](t *testing.T, streaming bool) {
	first := typedModel[M]{&fickle[M]{tries: []try[M]{refuses[M](errShaky)}}, "First"}
	second := typedModel[M]{&fickle[M]{tries: []try[M]{refuses[M](errShaky), says1[M]("ok")}}, "Second"}
	var notes diary
	var rec recorder
	a := setup[M](t, first, nil, standIns[M](1, &notes, second), retrying[M](1, nil))
	read(t, ask(callbacks.InitCallbacks(t.Context(), nil, rec.handler()), TypedAgent[M](a), streaming))
	component := components.ComponentOfChatModel
	if _, ordinary := any(first).(typedModel[Message]); !ordinary {
		component = components.ComponentOfAgenticModel
	}
	var got []string
	for _, f := range rec.of(component) {
		got = append(got, fmt.Sprint(f.timing, " ", f.typ))
	}
	require.Len(t, got, 8)
	require.Equal(t, []string{"start First", "error First", "start First", "error First", "start Second", "error Second",
		"start Second"}, got[:7])
	require.Regexp(t, "^end.* Second$", got[7])
}

// TestFailover_Senders: with a sender that the user has placed, the events of failed attempts end the same way.
// Rule agent/B19.22.
func TestFailover_Senders(t *testing.T) {
	bubbled(t, testFailoverSender[ordinary], testFailoverSender[agentic])
}

func testFailoverSender[M MessageType](t *testing.T, streaming bool) {
	first, second := &fickle[M]{tries: []try[M]{breaks[M](errShaky, "a")}}, &fickle[M]{tries: []try[M]{says1[M]("ok")}}
	var notes diary
	var saw *ModelFailoverConfig[M]
	look := &hooked[M]{wrapModel: func(
		_ context.Context, m model.BaseModel[M], mc *TypedModelContext[M],
	) (model.BaseModel[M], error) {
		saw = mc.ModelFailoverConfig
		return m, nil
	}}
	a := setup[M](t, first, nil, standIns[M](1, &notes, second), with[M](look, NewTypedEventSenderModelWrapper[M]()))
	all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
	require.NotNil(t, saw)
	if streaming {
		require.Equal(t, []string{"will retry 0: broken (<nil>)", ""}, endsOf(all))
		return
	}
	require.Equal(t, []string{"assistant: ok"}, linesOf(all))
}

// TestFailover_Config: what the constructor refuses, in its order.
func TestFailover_Config(t *testing.T) {
	for _, c := range []struct {
		conf *ModelFailoverConfig[Message]
		want string
	}{
		{&ModelFailoverConfig[Message]{}, "ModelFailoverConfig.GetFailoverModel is required when ModelFailoverConfig is set"},
		{&ModelFailoverConfig[Message]{GetFailoverModel: func(
			context.Context, *FailoverContext[Message],
		) (model.BaseModel[Message], []Message, error) {
			return nil, nil, nil
		}}, "ModelFailoverConfig.ShouldFailover is required when ModelFailoverConfig is set"},
		{nil, "agent 'Model' is required"},
	} {
		_, err := NewChatModelAgent(t.Context(), &ChatModelAgentConfig{ModelFailoverConfig: c.conf})
		require.EqualError(t, err, c.want)
	}
}

// TestFailover_LogsNothing: attempts are visible in callbacks and events, and nothing is logged.
// Rule agent/B19.28.
func TestFailover_LogsNothing(t *testing.T) {
	var logged bytes.Buffer
	before := log.Writer()
	log.SetOutput(&logged)
	defer log.SetOutput(before)
	bad, good := &fickle[Message]{tries: []try[Message]{breaks[Message](errShaky, "a")}}, says(chatAnswer("done"))
	a := setup[Message](t, bad, nil, retrying[Message](1, nil), standIns[Message](1, &diary{}, good))
	for _, streaming := range []bool{false, true} {
		all := read(t, bare(t.Context(), a, streaming))
		require.Equal(t, ended, linesOf(all)[len(all)-1])
	}
	require.Empty(t, logged.String())
}

// TestFailover_TheModelInUseIsNotSaved: a resumed run asks its own model first.
// Rule agent/ST-4.
func TestFailover_TheModelInUseIsNotSaved(t *testing.T) {
	bubbled(t, testStandInNotSaved[ordinary], testStandInNotSaved[agentic])
}

func testStandInNotSaved[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var order diary
	noted := func(name string, m *scripted[M], err error) *scripted[M] {
		m.hook = func(context.Context, int, []M) error { order.add("%s", name); return err }
		return m
	}
	own := noted("own", says(d.answer("never")), errShaky)
	other := noted("other", says(d.answer("", wanted{"e", "1", object}), d.answer("", wanted{"t", "2", object}),
		d.answer("done")), nil)
	a := setup[M](t, own, []tool.BaseTool{echo("e"), asksFirst("t", &diary{})}, standIns[M](1, &diary{}, other))
	all := read(t, bare(t.Context(), a, streaming))
	require.Equal(t, []string{"own", "other", "other"}, order.all(), "rule agent/F-1")
	rest := read(t, continueFrom(t.Context(), t, a, all, streaming))
	require.Equal(t, ended, linesOf(rest)[len(rest)-1])
	require.Equal(t, []string{"own", "other", "other", "own", "other"}, order.all())
}
