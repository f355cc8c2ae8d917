package adk

import (
	"context"
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

// cancelledAtItsEnd is a stream whose run is cancelled by the first of its two readers that reaches the end. The cancel
// arrives before the other reader gets there.
func cancelledAtItsEnd[T any](cancel AgentCancelFunc, items ...T) *schema.StreamReader[T] {
	return schema.StreamReaderWithConvert(schema.StreamReaderFromArray(items),
		func(item T) (T, error) { return item, nil },
		schema.WithOnEOF(func() (any, error) {
			time.Sleep(2 * time.Millisecond)
			cancel(WithRecursive())
			time.Sleep(time.Millisecond)
			return nil, io.EOF
		}))
}

// TestCancel_AStreamThatWasReadToItsEndCounts: the reader of an event and the run share one stream. When the reader
// has seen its end, the run counts it as finished, however early a cancel reaches the run: no model is asked and no
// tool is called a second time, and agents that come later get the answer once.
// Rule runtime/C24.
func TestCancel_AStreamThatWasReadToItsEndCounts(t *testing.T) {
	late := &hooked[Message]{wrapModel: func(
		_ context.Context, m model.BaseModel[Message], _ *ModelContext,
	) (model.BaseModel[Message], error) {
		return &modelFunc[Message]{stream: func(
			ctx context.Context, h []Message, opts ...model.Option,
		) (*schema.StreamReader[Message], error) {
			s, err := m.Stream(ctx, h, opts...)
			return schema.StreamReaderWithConvert(s, func(chunk Message) (Message, error) {
				time.Sleep(3 * time.Millisecond) // the reader of the event comes to the end first
				return chunk, nil
			}), err
		}}, nil
	}}
	for range 30 { // with the tool it is not known who comes first to the end of the stream
		synctest.Test(t, func(t *testing.T) {
			option, cancel := WithCancel()
			asked := 0
			m := &modelFunc[Message]{stream: func(
				context.Context, []Message, ...model.Option,
			) (*schema.StreamReader[Message], error) {
				asked++
				return cancelledAtItsEnd(cancel, chatAnswer("al"), chatAnswer("pha")), nil
			}}
			stage := newTheatre()
			seq := sequenceOf(t, "seq", setup(t, m, nil, with[Message](late, NewEventSenderModelWrapper())), stage.says("next"))
			r := NewRunner(t.Context(), RunnerConfig{Agent: seq, EnableStreaming: true, CheckPointStore: memory{}})
			out := collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
			require.Equal(t, []string{"tester: alpha"}, out.texts)
			drainAll(t, resumeWith(t, r, nil))
			require.Equal(t, []string{"user: hi", quotedLine("tester", "alpha")}, stage.asked["next"])
			require.Equal(t, 1, asked)
		})
		synctest.Test(t, func(t *testing.T) {
			option, cancel := WithCancel()
			called := 0
			works := &streamToolFunc{"t", func(context.Context, string) (*schema.StreamReader[string], error) {
				called++
				return cancelledAtItsEnd(cancel, "re", "sult"), nil
			}}
			m := says(chatAnswer("", wanted{"t", "1", ""}), chatAnswer("done"))
			r := NewRunner(t.Context(), RunnerConfig{Agent: setup(t, m, []tool.BaseTool{works}), EnableStreaming: true,
				CheckPointStore: memory{}})
			out := collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
			require.Equal(t, []string{"tester: ", "tester: result"}, out.texts)
			drainAll(t, resumeWith(t, r, nil))
			require.Equal(t, 1, called)
			require.Equal(t, []string{"user: hi", "assistant: [t#1 ]", "tool t#1: result"}, chatDialect.lines(m.histories[1]))
		})
	}
}

// TestHistory_AnswersThatAreGivenAgain: an answer that was emitted inside a middleware which then interrupts is asked
// for again by the resumed run. Later agents see the second answer only.
func TestHistory_AnswersThatAreGivenAgain(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		interrupted := false
		interrupts := func(ctx context.Context) error {
			if interrupted {
				return nil
			}
			interrupted = true
			return compose.Interrupt(ctx, "why")
		}
		judges := &hooked[Message]{wrapModel: func(
			_ context.Context, m model.BaseModel[Message], _ *ModelContext,
		) (model.BaseModel[Message], error) {
			return &modelFunc[Message]{
				generate: func(ctx context.Context, h []Message, opts ...model.Option) (Message, error) {
					answer, err := m.Generate(ctx, h, opts...)
					require.NoError(t, err)
					return answer, interrupts(ctx)
				},
				stream: func(ctx context.Context, h []Message, opts ...model.Option) (*schema.StreamReader[Message], error) {
					s, err := m.Stream(ctx, h, opts...)
					require.NoError(t, err)
					if err = interrupts(ctx); err != nil {
						s.Close()
						return nil, err
					}
					return s, nil
				},
			}, nil
		}}
		stage := newTheatre()
		m := says(chatAnswer("one"), chatAnswer("two"))
		seq := sequenceOf(t, "seq", setup(t, m, nil, with[Message](judges, NewEventSenderModelWrapper())), stage.says("next"))
		r := NewRunner(t.Context(), RunnerConfig{Agent: seq, EnableStreaming: streaming, CheckPointStore: memory{}})
		interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		drainAll(t, resumeWith(t, r, nil))
		require.Equal(t, []string{"user: hi", quotedLine("tester", "two")}, stage.asked["next"])
	}
}
