package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// TestRun_ProducersEndWithItsContext: a model that streams faster than its reader is not left waiting when the context of
// the run ends, whether or not the events are read.
func TestRun_ProducersEndWithItsContext(t *testing.T) {
	readers := map[string]func(*AsyncIterator[*AgentEvent]){
		"never read": func(*AsyncIterator[*AgentEvent]) {},
		"closed":     func(it *AsyncIterator[*AgentEvent]) { it.Close() },
		"first read": func(it *AsyncIterator[*AgentEvent]) { it.Next() },
		"chunks read": func(it *AsyncIterator[*AgentEvent]) {
			e, _ := it.Next()
			_, _ = e.Output.MessageOutput.MessageStream.Recv()
		},
		"all but them": func(it *AsyncIterator[*AgentEvent]) { go read2(it) },
	}
	for name, leave := range readers {
		for _, flow := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				m := &modelFunc[Message]{stream: func(
					ctx context.Context, _ []Message, _ ...model.Option,
				) (*schema.StreamReader[Message], error) {
					s, w := schema.Pipe[Message](1)
					go func() {
						defer close(ended)
						defer w.Close()
						for range 100 {
							for range 10 {
								if w.Send(schema.AssistantMessage("some text", nil), nil) {
									return
								}
							}
							time.Sleep(time.Second)
						}
						_ = ctx.Err() // as code does that logs, traces or reads a body with it
					}()
					return s, nil
				}}
				var agent Agent = setup(t, m, nil)
				if flow {
					agent = flowOf(t, setup(t, m, nil), newOrdinary(t, "other", recall(schema.AssistantMessage("", nil))))
				}
				ctx, cancel := context.WithCancel(t.Context())
				it := NewRunner(ctx, RunnerConfig{Agent: agent, EnableStreaming: true}).Query(ctx, "hi")
				time.Sleep(1500 * time.Millisecond)
				leave(it)
				cancel()
				select {
				case <-ended:
				case <-time.After(time.Minute):
					require.Fail(t, "the producer waits for ever", "%s, with a sub-agent: %v", name, flow)
				}
			})
		}
	}
}

func read2(it *AsyncIterator[*AgentEvent]) {
	for range it.All() { //nolint:revive // the streams in them are ignored
	}
}
