// Package prebuilttest is what the tests of the prebuilt agents have in common.
//
// They use it to run a test in both modes, and to have a tool that asks its user.
// It must never be used outside of tests.
package prebuilttest

import (
	"context"
	"fmt"
	"testing"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
)

// Modes runs a test with and without streaming.
func Modes(t *testing.T, test func(t *testing.T, streaming bool)) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming=%v", streaming), func(t *testing.T) { test(t, streaming) })
	}
}

// Ask runs an agent on one user message, in one of the modes.
func Ask[M adk.MessageType](
	t *testing.T, a adk.TypedAgent[M], streaming bool, query string, opts ...adk.AgentRunOption,
) *adktest.Events[M] {
	t.Helper()
	if streaming {
		return adktest.AskStreaming(t.Context(), t, a, query, opts...)
	}
	return adktest.Ask(t.Context(), t, a, query, opts...)
}

type approval struct{ *adktest.Tool }

// Approval is the tool "ask": it interrupts with "may I?", and when it is resumed without an answer with "again"; its
// result is "answered " and the answer.
func Approval() tool.BaseTool { return approval{adktest.NewTool("ask")} }

func (approval) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if interrupted, _, _ := tool.GetInterruptState[any](ctx); !interrupted {
		return "", tool.Interrupt(ctx, "may I?")
	}
	if target, has, answer := tool.GetResumeContext[string](ctx); target && has {
		return "answered " + answer, nil
	}
	return "", tool.Interrupt(ctx, "again")
}
