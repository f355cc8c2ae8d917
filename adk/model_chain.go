package adk

import (
	"context"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// modelChain is the model as the graph sees it. Around the user's model lie, from the outside in:
//
//	the state and its hooks            (this file)
//	failover and retry                 (model_attempts.go)
//	the tap of the eager tools         (eager.go)
//	the sender of events               (model_attempt.go)
//	the WrapModel of the middlewares
//	message ID and callbacks           (model_target.go)
//
// It reports to the callback handlers itself, once per call of the user's model.
type modelChain[M MessageType] struct {
	handlers *handlerSet[M]
	retry    *TypedModelRetryConfig[M]
	failover *ModelFailoverConfig[M]
	target   *modelTarget[M]
	// consulting: code of users runs in a turn besides the model.
	consulting bool
	// limited: an agent with tools, or with a gate before the final answer, counts its iterations.
	limited bool
	infos   []*schema.ToolInfo
	// tools is the option that tells the model about infos.
	tools []model.Option
	// eager, if not nil, runs tool calls while the model streams.
	eager *eagerTools
}

func newModelChain[M MessageType](conf *TypedChatModelAgentConfig[M], handlers *handlerSet[M], infos []*schema.ToolInfo) *modelChain[M] {
	return &modelChain[M]{
		handlers:   handlers,
		retry:      conf.ModelRetryConfig,
		failover:   conf.ModelFailoverConfig,
		target:     newModelTarget(conf.Model),
		consulting: handlers.aroundModel() || conf.ModelRetryConfig != nil || conf.ModelFailoverConfig != nil,
		limited:    len(infos) > 0 || len(handlers.finalAnswer) > 0,
		infos:      infos,
		tools:      []model.Option{model.WithTools(infos)},
	}
}

// GetType returns the type of the user's model.
func (c *modelChain[M]) GetType() string { return c.target.typ }

// IsCallbacksEnabled keeps the graph from reporting a second time.
func (c *modelChain[M]) IsCallbacksEnabled() bool { return true }

// Generate answers the history in the state. The node's own input is not used: hooks may have changed the history. In a
// run that streams the model does, and the event has the live stream.
func (c *modelChain[M]) Generate(ctx context.Context, _ []M, _ ...model.Option) (M, error) {
	return c.turn(ctx)
}

// Stream is Generate for a graph that streams, which that of an agent does not.
func (c *modelChain[M]) Stream(ctx context.Context, _ []M, _ ...model.Option) (*schema.StreamReader[M], error) {
	answer, err := c.turn(ctx)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]M{answer}), nil
}

// turn is one turn of the model: it takes the history from the state, has it answered and adds the answer. The last
// message of the history is the result.
func (c *modelChain[M]) turn(ctx context.Context) (M, error) {
	t := c.newTurn(ctx)
	if c.consulting {
		stoppable, release := t.run.stoppable(ctx)
		defer release()
		ctx = stoppable
	}
	last, err := t.begin(ctx)
	switch phase := t.run.phase.get(); {
	case err != nil || phase == turnHooked:
		return last, err
	case phase == turnAnswered:
		last, err = t.hookAfter(ctx, last, t.hookContext(c.toolsOf(t.run)))
	case c.handlers.beforeTurn() || c.handlers.afterTurn():
		last, err = t.answerWithHooks(ctx)
	default:
		if last, err = t.answer(ctx); err == nil {
			err = t.keep(ctx, last)
		}
	}
	return t.end(ctx, last, err)
}

// optionsFor are those of the run, and then what tools there are. The model learns of tools in no other way.
func (c *modelChain[M]) optionsFor(r *agentRun[M], tools, deferred []*schema.ToolInfo) []model.Option {
	own := slices.Equal(tools, c.infos)
	if own && len(r.options.model) == 0 && r.toolSearchTool == nil && deferred == nil {
		return c.tools
	}
	opts := make([]model.Option, 0, len(r.options.model)+3)
	opts = append(opts, r.options.model...)
	if r.toolSearchTool != nil {
		opts = append(opts, model.WithToolSearchTool(r.toolSearchTool))
	}
	if own {
		opts = append(opts, c.tools...)
	} else {
		opts = append(opts, model.WithTools(tools))
	}
	if deferred != nil {
		opts = append(opts, model.WithDeferredTools(deferred))
	}
	return opts
}

// toolsOf are the tools that a run tells the model about unless hooks change them: those of the agent, or else of the
// caller's options.
func (c *modelChain[M]) toolsOf(r *agentRun[M]) []*schema.ToolInfo {
	if len(c.infos) > 0 || len(r.options.model) == 0 {
		return c.infos
	}
	return toolsIn(r.options.model)
}

// toolsIn are the tools that options tell a model about.
func toolsIn(opts []model.Option) []*schema.ToolInfo {
	return model.GetCommonOptions(nil, opts...).Tools
}
