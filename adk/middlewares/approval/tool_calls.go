package approval

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
)

// askBefore runs a call if it may run, with the arguments that were approved.
func (m *middleware[M]) askBefore(
	ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	o, err := m.decide(ctx, &adk.ToolContext{Name: call.Name, CallID: call.CallID}, call.Arguments)
	if err != nil {
		return nil, err
	}
	if o.refusal != "" {
		return &compose.ToolCallOutput{Text: o.refusal}, nil
	}
	approved := *call
	approved.Arguments = o.arguments
	out, err := next(ctx, &approved)
	if err != nil {
		return nil, err
	}
	o.finished(ctx, out)
	return out, nil
}
