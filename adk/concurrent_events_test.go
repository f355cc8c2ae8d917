package adk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// chatter is a tool that sends events of its own.
func chatter(name string) tool.BaseTool {
	return &toolFunc{named(name), func(ctx context.Context, _ string) (string, error) {
		for i := range 50 {
			if err := SendEvent(ctx, &AgentEvent{Output: &AgentOutput{CustomizedOutput: i}}); err != nil {
				return "", err
			}
		}
		return name, nil
	}}
}

// TestSendEvent_FromToolsAtTheSameTime: whatever stands between the agent and the reader gets one event at a time.
// The race detector is what fails.
// Rule runtime/B15.5.
func TestSendEvent_FromToolsAtTheSameTime(t *testing.T) {
	agent := func() Agent {
		d := &chatDialect
		return setup(t, says(d.answer("", wanted{"x", "1", ""}, wanted{"y", "2", ""}), d.answer("done")),
			[]tool.BaseTool{chatter("x"), chatter("y")})
	}
	hi := &AgentInput{Messages: []Message{schema.UserMessage("hi")}}
	withCancel, _ := WithCancel()
	for name, it := range map[string]*AsyncIterator[*AgentEvent]{
		"alone":                agent().Run(t.Context(), hi),
		"alone, with a cancel": agent().Run(t.Context(), hi, withCancel),
		"deterministic transfer": AgentWithDeterministicTransferTo(t.Context(),
			&DeterministicTransferConfig{Agent: agent()}).Run(t.Context(), hi),
		"in a workflow": ask(t.Context(), Agent(sequenceOf(t, "w", agent())), false),
	} {
		var own int
		for e := range it.All() {
			require.NoError(t, e.Err, name)
			if e.Output.CustomizedOutput != nil {
				own++
			}
		}
		require.Equal(t, 100, own, name)
	}
}

// TestSendEvent_AfterTheEnd: a goroutine that a tool left behind still sends when the run ends. Its events are dropped,
// and it does not touch what the layers around the agent read. The race detector is what fails.
// Rule runtime/B15.5.
func TestSendEvent_AfterTheEnd(t *testing.T) {
	for range 20 {
		d := &chatDialect
		begun, stop, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
		leaves := &toolFunc{"x", func(ctx context.Context, _ string) (string, error) {
			go func() {
				defer close(gone)
				for n := 0; ; n++ {
					_ = SendEvent(ctx, &AgentEvent{Output: &AgentOutput{CustomizedOutput: n}})
					if n == 0 {
						close(begun)
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			}()
			<-begun
			return "ok", nil
		}}
		a := setup(t, says(d.answer("", wanted{"x", "1", ""}), d.answer("done")), []tool.BaseTool{leaves})
		for e := range ask(t.Context(), Agent(sequenceOf(t, "w", a)), false).All() {
			require.NoError(t, e.Err)
		}
		close(stop)
		<-gone
	}
}
