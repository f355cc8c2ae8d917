package host

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	engine "github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// HandOffInfo is one call of a specialist by the host.
type HandOffInfo struct {
	ToAgentName string
	// Argument holds the arguments of the host's call, as JSON.
	Argument string
}

// handOffsOf lists the calls in an answer of the host.
func handOffsOf(answer *schema.Message) []*HandOffInfo {
	if answer == nil {
		return nil
	}
	infos := make([]*HandOffInfo, len(answer.ToolCalls))
	for i, call := range answer.ToolCalls {
		infos[i] = &HandOffInfo{ToAgentName: call.Function.Name, Argument: call.Function.Arguments}
	}
	return infos
}

// GetHandOffs returns the calls by which the host handed over to the specialist that ctx belongs to, in order: what the
// host wants of it. Elsewhere it returns nil.
func GetHandOffs(ctx context.Context) []*HandOffInfo {
	all, err := read(ctx, func(s *state) []*HandOffInfo { return s.HandOffs })
	if err != nil {
		return nil
	}
	for _, segment := range slices.Backward(compose.GetCurrentAddress(ctx)) {
		if segment.Type != compose.AddressSegmentNode {
			continue
		}
		var own []*HandOffInfo
		for _, h := range all {
			if h.ToAgentName == segment.ID {
				own = append(own, &HandOffInfo{ToAgentName: h.ToAgentName, Argument: h.Argument})
			}
		}
		if own != nil {
			return own
		}
	}
	return nil
}

// MultiAgentCallback is called for hand-offs.
type MultiAgentCallback interface {
	// OnHandOff is called for every specialist that the host calls. It returns the context for the next call; nil
	// means unchanged.
	OnHandOff(ctx context.Context, info *HandOffInfo) context.Context
}

// WithAgentCallbacks adds callbacks for one call of a [MultiAgent].
func WithAgentCallbacks(agentCallbacks ...MultiAgentCallback) agent.AgentOption {
	return agent.WithComposeOptions(compose.WithCallbacks(ConvertCallbackHandlers(agentCallbacks...)).DesignateNode(hostKey))
}

// ConvertCallbackHandlers makes a callback handler of callbacks for hand-offs, for a team that is part of a graph. It
// is for the node of the host, whose key is in [MultiAgent.HostNodeKey]:
//
//	compose.WithCallbacks(handler).DesignateNodeWithPath(compose.NewNodePath("team", team.HostNodeKey()))
//
// For each callback it calls OnHandOff for each call of the host's answer, in order. In a streaming run it does so in a
// goroutine of its own once the answer is complete, which does not hold up the run; a panic of a callback there is
// reported to OnError of the handlers of the run.
func ConvertCallbackHandlers(handlers ...MultiAgentCallback) callbacks.Handler {
	hooks := slices.DeleteFunc(slices.Clone(handlers), func(h MultiAgentCallback) bool { return h == nil })
	fire := func(ctx context.Context, answer *schema.Message) context.Context {
		if answer == nil || answer.Role != schema.Assistant {
			return ctx
		}
		for _, hook := range hooks {
			for _, info := range handOffsOf(answer) {
				if next := hook.OnHandOff(ctx, info); next != nil {
					ctx = next
				}
			}
		}
		return ctx
	}
	return callbacks.NewHandlerBuilder().
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput) context.Context {
			if out := model.ConvCallbackOutput(output); isModel(info) && out != nil {
				return fire(ctx, out.Message)
			}
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo,
			output *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			if !isModel(info) {
				output.Close()
				return ctx
			}
			go fireAtEnd(ctx, output, fire)
			return ctx
		}).
		Build()
}

func isModel(info *callbacks.RunInfo) bool {
	return info != nil && info.Component == components.ComponentOfChatModel
}

// fireAtEnd calls fire with the whole answer. If the stream fails or ctx ends there is none; the caller of the host
// gets that error, too.
func fireAtEnd(
	ctx context.Context,
	output *schema.StreamReader[callbacks.CallbackOutput],
	fire func(context.Context, *schema.Message) context.Context,
) {
	err := func() (err error) {
		defer safe.Recover(&err)
		answer, ok := whole(ctx, output)
		if ok {
			fire(ctx, answer)
		}
		return nil
	}()
	if err != nil {
		// There is no handler left to report a second panic to.
		_, _ = engine.FireError(ctx, fmt.Errorf("hand-off callback: %w", err))
	}
}

// whole joins an answer as it comes.
func whole(ctx context.Context, output *schema.StreamReader[callbacks.CallbackOutput]) (*schema.Message, bool) {
	defer output.Close()
	var answer schema.MessageAccumulator
	for {
		chunk, err := output.RecvContext(ctx)
		if err == io.EOF {
			m, err := answer.Message()
			return m, err == nil
		}
		if err != nil {
			return nil, false
		}
		if out := model.ConvCallbackOutput(chunk); out != nil && out.Message != nil {
			if answer.Add(out.Message) != nil {
				return nil, false
			}
		}
	}
}
