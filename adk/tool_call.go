package adk

import (
	"context"

	"github.com/weftgo/weft/compose"
)

// outerToolCall returns a call of a tool with what no middleware of the user may be outside of:
//
//  1. a call that an earlier process has made is answered with its recorded result; another one is recorded;
//  2. a call of a run that can be cancelled is given up then, and its stream read to the end inside, so that a result is there
//     or is not;
//  3. the result is sent as an event, unless the user has placed the sender (see [NewEventSenderToolWrapper]). The result in
//     the history has the same ID.
func outerToolCall[M MessageType](
	form compose.InternalToolForm, sends bool, next compose.ToolCallEndpoint,
) compose.ToolCallEndpoint {
	call := next
	if sends {
		call = func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
			out, err := next(ctx, in)
			if err != nil {
				return nil, err
			}
			return sendOutput[M](ctx, in, out)
		}
	}
	enhanced := isEnhanced(form)
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
		r := agentRunFrom[M](ctx)
		switch {
		case r == nil || r.durable == nil && r.view == nil:
			return call(ctx, in)
		case r.durable == nil:
			return callWatched(ctx, r, in, call)
		}
		return callDurably(ctx, r, in, func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
			return callCancellable(ctx, agentRunFrom[M](ctx), in, call)
		}, enhanced)
	}
}

// sendOutput sends the result of a call as an event, unless the run was stopped meanwhile.
func sendOutput[M MessageType](
	ctx context.Context, in *compose.ToolInput, out *compose.ToolCallOutput,
) (*compose.ToolCallOutput, error) {
	streams := out.Streams()
	if !streams && !agentRunFrom[M](ctx).ownCall(ctx).Commit() {
		return nil, errStopped
	}
	if err := sendToolOutput[M](ctx, in.Name, in.CallID, out); err != nil || !streams {
		return out, err
	}
	return out, agentRunFrom[M](ctx).deliver()
}

// innerToolCall returns a call of a tool with what is inside the middlewares of the user:
//
//  1. its stream is cut off, for the reader, when the run is to stop at once;
//  2. the hooks of the agent's middlewares, which hooked puts around a call, unless it is nil;
//  3. among the errors of the tool, mistakes of the model are known, and reported to it or given their type.
func innerToolCall[M MessageType](
	form compose.InternalToolForm, hooked func(compose.ToolCallEndpoint) compose.ToolCallEndpoint, next compose.ToolCallEndpoint,
) compose.ToolCallEndpoint {
	enhanced := isEnhanced(form)
	call := func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
		out, err := next(ctx, in)
		if err == nil {
			return out, nil
		}
		text, err := reportedMistake[M](ctx, in, err)
		switch {
		case err != nil:
			return nil, err
		case enhanced: // so that event and history show the same
			return &compose.ToolCallOutput{Result: textResult(text)}, nil
		}
		return &compose.ToolCallOutput{Text: text}, nil
	}
	if hooked != nil {
		call = hooked(call)
	}
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
		out, err := call(ctx, in)
		if err != nil {
			return nil, err
		}
		if out.TextStream != nil {
			out.TextStream = cutOff[M](ctx, out.TextStream)
		}
		if out.ResultStream != nil {
			out.ResultStream = cutOff[M](ctx, out.ResultStream)
		}
		return out, nil
	}
}

func isEnhanced(form compose.InternalToolForm) bool {
	return form == compose.InternalEnhancedInvokable || form == compose.InternalEnhancedStreamable
}
