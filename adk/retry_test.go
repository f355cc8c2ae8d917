package adk

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// retrying sets a retry configuration without pauses.
func retrying[M MessageType](n int,
	should func(*TypedRetryContext[M]) *TypedRetryDecision[M],
) func(*TypedChatModelAgentConfig[M]) {
	return func(c *TypedChatModelAgentConfig[M]) {
		c.ModelRetryConfig = &TypedModelRetryConfig[M]{MaxRetries: n, BackoffFunc: noPause}
		if should != nil {
			c.ModelRetryConfig.ShouldRetry = func(_ context.Context, rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
				return should(rc)
			}
		}
	}
}

// ends returns the error at the end of the stream of a model event, "" if there was none.
func ends[M MessageType](o observed[M]) string {
	var will *WillRetryError
	switch {
	case o.broken == nil:
		return ""
	case errors.As(o.broken, &will):
		return fmt.Sprintf("will retry %d: %s (%v)", will.RetryAttempt, will.ErrStr, will.RejectReason())
	}
	return "error: " + o.broken.Error()
}

func endsOf[M MessageType](all []observed[M]) (out []string) {
	for _, o := range all {
		if o.Output != nil {
			out = append(out, ends(o))
		}
	}
	return out
}

// TestRetry_Legacy: the legacy mode, by what the model does.
// Rules agent/RT-1, agent/RT-3.
func TestRetry_Legacy(t *testing.T) { bubbled(t, testRetryLegacy[ordinary], testRetryLegacy[agentic]) }

func testRetryLegacy[M MessageType](t *testing.T, streaming bool) {
	for name, c := range map[string]struct {
		tries   []try[M]
		max     int
		calls   int
		streams []string // how the events' streams end
		err     error
		text    string
	}{
		"first is good": {tries: []try[M]{says1[M]("ok")}, max: 2, calls: 1, streams: []string{""}},
		"third is good": {tries: []try[M]{refuses[M](errShaky), refuses[M](errShaky), says1[M]("ok")}, max: 2, calls: 3,
			streams: []string{""}},
		"none is good": {tries: []try[M]{refuses[M](errShaky)}, max: 2, calls: 3, err: errShaky,
			text: "exceeds max retries: last error: broken"},
		"no retries": {tries: []try[M]{refuses[M](errShaky)}, max: 0, calls: 1, err: errShaky,
			text: "exceeds max retries"},
		"not retryable": {tries: []try[M]{refuses[M](io.ErrShortWrite)}, max: 2, calls: 1, err: io.ErrShortWrite},
		"breaks twice": {tries: []try[M]{breaks[M](errShaky, "a"), breaks[M](errShaky, "b"), says1[M]("c", "d")},
			max: 2, calls: 3, streams: []string{"will retry 0: broken (<nil>)", "will retry 1: broken (<nil>)", ""}},
		"breaks always": {tries: []try[M]{breaks[M](errShaky, "a")}, max: 1, calls: 2,
			streams: []string{"will retry 0: broken (<nil>)", "error: broken"}, err: ErrExceedMaxRetries},
		"breaks for good": {tries: []try[M]{breaks[M](io.ErrShortWrite, "a")}, max: 1, calls: 1,
			streams: []string{"error: short write"}, err: io.ErrShortWrite},
		"breaks without text": {tries: []try[M]{breaks[M](errShaky), says1[M]("ok")}, max: 1, calls: 2,
			streams: []string{"will retry 0: broken (<nil>)", ""}},
		"canceled": {tries: []try[M]{breaks[M](ErrStreamCanceled, "a")}, max: 1, calls: 1,
			streams: []string{"error: stream canceled"}, err: ErrStreamCanceled},
	} {
		m := &fickle[M]{tries: c.tries}
		a := setup(t, m, nil, retrying[M](c.max, nil), func(conf *TypedChatModelAgentConfig[M]) {
			conf.ModelRetryConfig.IsRetryAble = func(_ context.Context, err error) bool {
				require.NotErrorIs(t, err, ErrStreamCanceled, "rule agent/RT-1")
				return !errors.Is(err, io.ErrShortWrite)
			}
		})
		all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
		require.Equal(t, c.calls, m.calls(), name)
		want := c.streams
		if !streaming && c.err != nil {
			want = nil
		} else if !streaming {
			want = []string{""}
		}
		require.Equal(t, want, endsOf(all), name)
		if c.err == nil {
			require.NoError(t, all[len(all)-1].Err, name)
			continue
		}
		err := endError(t, all)
		require.ErrorIs(t, err, c.err, name)
		require.ErrorContains(t, err, c.text, name)
		var exhausted *RetryExhaustedError
		if errors.As(err, &exhausted) {
			require.Equal(t, c.max, exhausted.TotalRetries)
			require.ErrorIs(t, err, ErrExceedMaxRetries)
		} else {
			require.NotErrorIs(t, err, ErrExceedMaxRetries, name)
		}
		synctest.Wait()
		require.Zero(t, m.open, "%s: all streams are closed", name)
	}
}

// TestRetry_ShouldRetry: attempts and events by decision.
// Rules agent/RT-1, agent/RT-4, agent/RT-5, agent/RT-6, agent/RT-7, agent/RT-8, agent/RT-9, agent/RT-10.
func TestRetry_ShouldRetry(t *testing.T) {
	bubbled(t, testShouldRetry[ordinary], testShouldRetry[agentic])
}

func testShouldRetry[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	type decision = TypedRetryDecision[M]
	always := func(*TypedRetryContext[M]) *decision { return &decision{Retry: true, RejectReason: "dull"} }
	errRewritten := errors.New("rewritten")
	for name, c := range map[string]struct {
		tries   []try[M]
		max     int
		should  func(*TypedRetryContext[M]) *decision
		saw     []string // attempt, output, error
		streams []string
		err     error
		last    string // the text of the exhaustion
	}{
		"nil accepts": {
			tries: []try[M]{says1[M]("a", "b")}, max: 1, should: func(*TypedRetryContext[M]) *decision { return nil },
			saw: []string{"1 assistant: ab <nil>"}, streams: []string{""},
		},
		"nil accepts an error": {
			tries: []try[M]{breaks[M](errShaky, "a", "b")}, max: 1, should: func(*TypedRetryContext[M]) *decision { return nil },
			saw: []string{"1 assistant: ab broken"}, streams: []string{"error: broken"}, err: errShaky,
		},
		"error only": {
			tries: []try[M]{refuses[M](errShaky), says1[M]("ok")}, max: 1,
			should: func(rc *TypedRetryContext[M]) *decision { return &decision{Retry: rc.Err != nil} },
			saw:    []string{"1 nil broken", "2 assistant: ok <nil>"}, streams: []string{""},
		},
		"empty stream": {
			tries: []try[M]{{}}, max: 1, should: func(*TypedRetryContext[M]) *decision { return nil },
			saw: []string{"1 assistant:  <nil>"}, streams: []string{""},
		},
		"silent after an error": {
			tries: []try[M]{{chunks: says1[M]("a").chunks, breaks: errShaky, silent: true}, says1[M]("ok")}, max: 1,
			should:  func(rc *TypedRetryContext[M]) *decision { return &decision{Retry: rc.Err != nil} },
			saw:     []string{"1 assistant: a broken", "2 assistant: ok <nil>"},
			streams: []string{"will retry 0: broken (<nil>)", ""},
		},
		"rewritten error of a good answer": {
			tries: []try[M]{says1[M]("a")}, max: 1,
			should: func(*TypedRetryContext[M]) *decision { return &decision{RewriteError: errRewritten} },
			saw:    []string{"1 assistant: a <nil>"}, streams: []string{""}, err: errRewritten,
		},
		"rewritten error": {
			tries: []try[M]{breaks[M](errShaky, "a")}, max: 1,
			should: func(*TypedRetryContext[M]) *decision { return &decision{RewriteError: errRewritten} },
			saw:    []string{"1 assistant: a broken"}, streams: []string{"error: broken"}, err: errRewritten,
		},
		"rewriting is for errors that stand": {
			tries: []try[M]{says1[M]("a"), says1[M]("b")}, max: 1,
			should: func(rc *TypedRetryContext[M]) *decision {
				return &decision{Retry: rc.RetryAttempt == 1, RewriteError: map[int]error{1: errRewritten}[rc.RetryAttempt]}
			},
			saw:     []string{"1 assistant: a <nil>", "2 assistant: b <nil>"},
			streams: []string{"will retry 0: model output rejected by ShouldRetry at attempt 1 (<nil>)", ""},
		},
		"all rejected": {
			tries: []try[M]{says1[M]("a"), says1[M]("b"), says1[M]("c")}, max: 2, should: always,
			saw: []string{"1 assistant: a <nil>", "2 assistant: b <nil>", "3 assistant: c <nil>"},
			streams: []string{
				"will retry 0: model output rejected by ShouldRetry at attempt 1 (dull)",
				"will retry 1: model output rejected by ShouldRetry at attempt 2 (dull)",
				"will retry 2: model output rejected by ShouldRetry at attempt 3 (dull)",
			},
			err: ErrExceedMaxRetries, last: "model output rejected by ShouldRetry at attempt 3",
		},
		"all rejected with errors": {
			tries: []try[M]{breaks[M](errShaky, "a")}, max: 1, should: always,
			saw:     []string{"1 assistant: a broken", "2 assistant: a broken"},
			streams: []string{"will retry 0: broken (dull)", "will retry 1: broken (dull)"},
			err:     errShaky, last: "exceeds max retries: last error: broken",
		},
		"no retries": {
			tries: []try[M]{says1[M]("a")}, max: 0, should: always, saw: []string{"1 assistant: a <nil>"},
			streams: []string{"will retry 0: model output rejected by ShouldRetry at attempt 1 (dull)"},
			err:     ErrExceedMaxRetries, last: "at attempt 1",
		},
		"canceled": {
			tries: []try[M]{breaks[M](ErrStreamCanceled, "a")}, max: 2, should: always,
			streams: []string{"error: stream canceled"}, err: ErrStreamCanceled,
		},
		"interrupt": {
			tries: []try[M]{refuses[M](compose.Interrupt(context.Background(), "stop"))}, max: 2, should: always,
		},
	} {
		var saw []string
		m := &fickle[M]{tries: c.tries}
		a := setup(t, m, nil, retrying(c.max, func(rc *TypedRetryContext[M]) *decision {
			saw = append(saw, fmt.Sprint(rc.RetryAttempt, " ", d.line(rc.OutputMessage), " ", rc.Err))
			return c.should(rc)
		}))
		all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
		require.Equal(t, c.saw, saw, name)
		want := c.streams
		if !streaming { // rule agent/RT-8
			if want = nil; c.err == nil && name != "interrupt" {
				want = []string{""}
			}
		}
		require.Equal(t, want, endsOf(all), name)
		if c.err != nil {
			err := endError(t, all)
			require.ErrorIs(t, err, c.err, name)
			require.ErrorContains(t, err, c.last, name)
		}
		if name == "interrupt" {
			require.NotNil(t, all[len(all)-1].Action, "%v", all[len(all)-1].Err)
		}
		synctest.Wait()
		require.Zero(t, m.open, "%s: all streams are closed", name)
	}
}

// TestRetry_ChangedInputsAndOptions: changed inputs and options are for the rest of the turn, the input for good if
// that is asked.
// Rules agent/H-9, agent/RT-4, agent/RT-7.
func TestRetry_ChangedInputsAndOptions(t *testing.T) {
	bubbled(t, testRetryInputs[ordinary], testRetryInputs[agentic])
}

func testRetryInputs[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	user := opsOf[M]().user
	for _, persist := range []bool{false, true} {
		for _, hooks := range []bool{false, true} {
			m := says(d.answer("no"), d.answer("no"), d.answer("", wanted{"t", "1", ""}), d.answer("done"))
			var kept []*TypedRetryContext[M]
			var after [][]string
			room := make([]M, 1, 9)
			room[0] = user("changed")
			extra := make([]model.Option, 0, 9)
			a := setup(t, m, []tool.BaseTool{echo("t")}, retrying(3, func(rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
				kept = append(kept, rc)
				if rc.RetryAttempt > 2 || len(kept) > 3 {
					return nil
				}
				return &TypedRetryDecision[M]{
					Retry: true, ModifiedInputMessages: room, PersistModifiedInputMessages: persist,
					AdditionalOptions: append(extra, model.WithTemperature(float32(rc.RetryAttempt))),
				}
			}), func(c *TypedChatModelAgentConfig[M]) {
				if hooks {
					h := everyHook[M]("h", &diary{})
					h.afterModel = func(ctx context.Context, s *TypedChatModelAgentState[M],
						_ *TypedModelContext[M],
					) (context.Context, *TypedChatModelAgentState[M], error) {
						after = append(after, d.lines(s.Messages))
						return ctx, s, nil
					}
					c.Handlers = append(c.Handlers, h)
				}
			})
			require.Equal(t, ended,
				func() string { l := linesOf(read(t, bare(t.Context(), a, streaming))); return l[len(l)-1] }())
			first := "user: hi"
			if persist {
				first = "user: changed"
			}
			require.Equal(t, [][]string{{"user: hi"}, {"user: changed"}, {"user: changed"},
				{first, "assistant: [t#1 ]", "tool t#1: <>"}}, m.transcript())
			if hooks {
				called := []string{first, "assistant: [t#1 ]"}
				require.Equal(t, [][]string{called, append(called, "tool t#1: <>", ended)}, after, "rule agent/H-9")
			}
			var temperatures []float32
			for i := range m.options {
				var temperature float32
				if p := model.GetCommonOptions(nil, m.options[i]...).Temperature; p != nil {
					temperature = *p
				}
				temperatures = append(temperatures, temperature)
				require.Equal(t, len(m.options[i]), len(kept[i].Options), "rule agent/RT-4: what the attempt got")
				require.Equal(t, m.transcript()[i], d.lines(kept[i].InputMessages))
			}
			require.Equal(t, []float32{0, 1, 2, 0}, temperatures)
			require.Equal(t, []string{"user: changed", "nil", "nil"}, d.lines(room[:3]), "the caller's slice is the caller's")
		}
	}
}

// TestRetry_PausesBetweenAttempts: how long a run waits between attempts, and that the end of ctx ends the wait.
// Rules agent/L-9, agent/RT-2.
func TestRetry_PausesBetweenAttempts(t *testing.T) {
	bubbled(t, testBackoff[ordinary], testBackoff[agentic])
}

func testBackoff[M MessageType](t *testing.T, streaming bool) {
	run := func(ctx context.Context, conf *TypedModelRetryConfig[M]) (time.Duration, []observed[M]) {
		m := &fickle[M]{tries: []try[M]{refuses[M](errShaky)}}
		before := time.Now()
		all := read(t,
			ask(ctx, TypedAgent[M](setup[M](t, m, nil, func(c *TypedChatModelAgentConfig[M]) { c.ModelRetryConfig = conf })),
				streaming))
		return time.Since(before), all
	}
	var asked []int
	seconds := func(_ context.Context, n int) time.Duration {
		asked = append(asked, n)
		return time.Duration(n) * time.Second
	}
	took, _ := run(t.Context(), &TypedModelRetryConfig[M]{MaxRetries: 3, BackoffFunc: seconds})
	require.Equal(t, 6*time.Second, took, "none after the last")
	require.Equal(t, []int{1, 2, 3}, asked)

	should := func(_ context.Context, rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
		return &TypedRetryDecision[M]{Retry: true, Backoff: map[int]time.Duration{1: time.Minute, 3: -1}[rc.RetryAttempt]}
	}
	took, _ = run(t.Context(), &TypedModelRetryConfig[M]{MaxRetries: 3, BackoffFunc: seconds, ShouldRetry: should})
	require.Equal(t, time.Minute+2*time.Second, took)

	took, _ = run(t.Context(), &TypedModelRetryConfig[M]{MaxRetries: 2})
	require.GreaterOrEqual(t, took, 300*time.Millisecond, "the default")
	require.LessOrEqual(t, took, 450*time.Millisecond)

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	took, all := run(ctx, &TypedModelRetryConfig[M]{MaxRetries: 3,
		BackoffFunc: func(context.Context, int) time.Duration { return time.Hour }})
	require.Equal(t, time.Second, took)
	require.ErrorIs(t, endError(t, all), context.DeadlineExceeded, "rule agent/L-9")
}

// TestRetry_DeadContext: a run whose ctx has ended is not tried again, let alone in a loop without pause.
// Rules agent/B19.27, agent/F-3, agent/L-9.
func TestRetry_DeadContext(t *testing.T) {
	bubbled(t, testDeadContext[ordinary], testDeadContext[agentic])
}

func testDeadContext[M MessageType](t *testing.T, streaming bool) {
	for _, withShould := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		m := &modelFunc[M]{
			generate: func(context.Context, []M, ...model.Option) (none M, _ error) {
				calls++
				cancel()
				return none, errShaky
			},
			stream: func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
				calls++
				cancel()
				return nil, errShaky
			},
		}
		var should func(*TypedRetryContext[M]) *TypedRetryDecision[M]
		if withShould {
			should = func(*TypedRetryContext[M]) *TypedRetryDecision[M] { return &TypedRetryDecision[M]{Retry: true} }
		}
		all := read(t, ask(ctx, TypedAgent[M](setup[M](t, m, nil, retrying(100, should))), streaming))
		require.ErrorIs(t, endError(t, all), context.Canceled, "rules agent/L-9, agent/F-3")
		require.Equal(t, 1, calls)
	}
}

// TestRetry_PanicReleasesTheReader: a reader that waits for the verdict on an answer is let go when there is none.
// Rule agent/RT-9.
func TestRetry_PanicReleasesTheReader(t *testing.T) {
	bubbled(t, testVerdictPanics[ordinary], testVerdictPanics[agentic])
}

func testVerdictPanics[M MessageType](t *testing.T, streaming bool) {
	for name, misdeed := range misdeeds {
		m := &fickle[M]{tries: []try[M]{says1[M]("a", "b")}}
		a := setup(t, m, nil, retrying(1, func(*TypedRetryContext[M]) *TypedRetryDecision[M] { misdeed(); return nil }))
		all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
		err := endError(t, all)
		if name != "goexit" {
			require.ErrorContains(t, err, "panic error:", name)
		}
		if streaming {
			require.Len(t, all, 2)
			require.Empty(t, ends(all[0]))
		}
	}
}

// TestRetry_WillRetryErrorAfterACheckpoint: what is left of one that was saved.
// Rule agent/RT-11.
func TestRetry_WillRetryErrorAfterACheckpoint(t *testing.T) {
	var buf bytes.Buffer
	in := map[string]any{"e": &WillRetryError{ErrStr: "text", RetryAttempt: 3, err: errShaky, rejectReason: 1}}
	require.ErrorIs(t, in["e"].(error), errShaky)
	require.NoError(t, gob.NewEncoder(&buf).Encode(in))
	var out map[string]any
	require.NoError(t, gob.NewDecoder(&buf).Decode(&out))
	e := out["e"].(*WillRetryError)
	require.Equal(t, "text", e.Error())
	require.Equal(t, 3, e.RetryAttempt)
	require.NoError(t, e.Unwrap())
	require.Nil(t, e.RejectReason())
}

// TestRetry_ExhaustedErrorMatchesTheLastError: its text, and what it matches.
// Rules agent/B19.25, agent/RT-3.
func TestRetry_ExhaustedErrorMatchesTheLastError(t *testing.T) {
	require.EqualError(t, &RetryExhaustedError{TotalRetries: 1}, "exceeds max retries")
	e := fmt.Errorf("around: %w", &RetryExhaustedError{LastErr: &codedError{7}})
	var coded *codedError
	require.ErrorAs(t, e, &coded)
	require.ErrorIs(t, e, ErrExceedMaxRetries)
	require.Equal(t, ErrExceedMaxRetries, errors.Unwrap(errors.Unwrap(e)))
}

// TestRetry_StateCountsAttempts: RetryAttempt of the state counts the attempts of the current turn.
func TestRetry_StateCountsAttempts(t *testing.T) {
	fails := true
	var saw []int
	m := says(chatAnswer("", wanted{"t", "1", ""}), chatAnswer("", wanted{"t", "1", ""}), chatAnswer("done"))
	m.hook = func(ctx context.Context, turn int, _ []Message) error {
		_ = compose.ProcessState(ctx,
			func(_ context.Context, s *State) error { saw = append(saw, s.RetryAttempt); return nil })
		if turn == 0 && fails {
			return errShaky
		}
		return nil
	}
	a := setup(t, m, []tool.BaseTool{echo("t")}, retrying[Message](1, nil))
	require.Len(t, read(t, bare(t.Context(), a, false)), 3)
	require.Equal(t, []int{0, 1, 0}, saw)
}

// TestRetry_MakesAsManyAttemptsAsConfigured: for 0, 1 and n retries.
func TestRetry_MakesAsManyAttemptsAsConfigured(t *testing.T) {
	bubbled(t, testAttempts[ordinary], testAttempts[agentic])
}

func testAttempts[M MessageType](t *testing.T, streaming bool) {
	for _, n := range []int{0, 1, 4} {
		m := &fickle[M]{tries: []try[M]{breaks[M](errShaky, "a")}}
		require.ErrorIs(t, endError(t, read(t, bare(t.Context(), setup[M](t, m, nil, retrying[M](n, nil)), streaming))),
			errShaky)
		require.Equal(t, n+1, m.calls(), "retry")

		m, second := &fickle[M]{tries: m.tries}, &fickle[M]{tries: m.tries}
		others := make([]model.BaseModel[M], n)
		for i := range others {
			others[i] = second
		}
		read(t, bare(t.Context(), setup[M](t, m, nil, standIns(uint(n), &diary{}, others...)), streaming))
		require.Equal(t, []int{1, n}, []int{m.calls(), second.calls()}, "failover")
	}
}

// TestRetry_ADiscardedAnswerIsMarkedInItsStream: an answer that a provider has finished for a bad reason is tried
// again, and the stream of the discarded one ends with an error that says so. In the end exactly the accepted answer
// is shown.
func TestRetry_ADiscardedAnswerIsMarkedInItsStream(t *testing.T) {
	const malformed = "MALFORMED_FUNCTION_CALL"
	bad := &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{FinishReason: malformed}}
	for name, first := range map[string]try[Message]{
		"bad finish": {chunks: []Message{chatAnswer("I "), chatAnswer("mean"), bad}},
		"broken":     breaks[Message](errShaky, "I ", "mea"),
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &fickle[Message]{tries: []try[Message]{first, says1[Message]("the ", "answer")}}
			a := setup[Message](t, m, nil, retrying(1, func(rc *RetryContext) *RetryDecision {
				finish := ""
				if meta := rc.OutputMessage.ResponseMeta; meta != nil {
					finish = meta.FinishReason
				}
				return &RetryDecision{Retry: rc.Err != nil || finish == malformed, RejectReason: finish}
			}))
			screen, taken := "", 0
			for e := range bare(t.Context(), a, true).All() {
				require.NoError(t, e.Err, name)
				shown := screen
				for chunk, err := range e.Output.MessageOutput.MessageStream.All() {
					var again *WillRetryError
					if errors.As(err, &again) {
						screen, taken = shown, taken+1
						if name == "bad finish" {
							require.Equal(t, malformed, again.RejectReason())
						}
						break
					}
					require.NoError(t, err)
					screen += chunk.Content
				}
			}
			require.Equal(t, "the answer", screen, name)
			require.Equal(t, 1, taken, name)
		})
	}
}
