package adk

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/adk/internal/eager"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// modelChain is the model as the graph sees it. Around the user's model lie, from the outside in:
//
//	the state and its hooks            (this file)
//	failover and retry                 (model_failover.go, model_retry.go)
//	the tap of the eager tools         (eager.go)
//	the sender of events               (model_attempt.go)
//	the WrapModel of the middlewares
//	message ID and callbacks           (modelTarget, below)
//
// It reports to the callback handlers itself, once per call of the user's model.
type modelChain[M MessageType] struct {
	handlers *handlerSet[M]
	retry    *TypedModelRetryConfig[M]
	failover *ModelFailoverConfig[M]
	target   *modelTarget[M]
	// consulting: a turn runs code of users in addition to the model.
	consulting bool
	// limited: an agent with tools, or with a gate before the final answer, counts its iterations.
	limited bool
	infos   []*schema.ToolInfo
	// tools is the option that offers infos to the model.
	tools []model.Option
	// eager, if not nil, runs tool calls while the model streams.
	eager *eager.Tools
}

func newModelChain[M MessageType](
	conf *TypedChatModelAgentConfig[M], handlers *handlerSet[M], infos []*schema.ToolInfo,
) *modelChain[M] {
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

// Stream is Generate for a graph that streams. The graph of an agent does not.
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

// optionsFor returns the options of the run, and then what tools there are. The model learns of tools in no other way.
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

// toolsOf returns the tools that a run offers to the model unless hooks change them: the tools of the agent, or else of
// the caller's options.
func (c *modelChain[M]) toolsOf(r *agentRun[M]) []*schema.ToolInfo {
	if len(c.infos) > 0 || len(r.options.model) == 0 {
		return c.infos
	}
	return toolsIn(r.options.model)
}

// toolsIn returns the tools that options offer to a model.
func toolsIn(opts []model.Option) []*schema.ToolInfo {
	return model.GetCommonOptions(nil, opts...).Tools
}

// modelTarget is a user's model inside its callbacks: what an agent, and its failover, call.
type modelTarget[M MessageType] struct {
	model  model.BaseModel[M]
	typ    string
	silent bool // the model reports by itself
	// info replaces the run info of the node, for a model that is not the agent's own.
	info *callbacks.RunInfo
}

func newModelTarget[M MessageType](m model.BaseModel[M]) *modelTarget[M] {
	return &modelTarget[M]{model: m, typ: callbacks.TypeName(m), silent: components.IsCallbacksEnabled(m)}
}

// newFallback makes the target of a model that is called instead of the agent's own.
func newFallback[M MessageType](ctx context.Context, m model.BaseModel[M]) *modelTarget[M] {
	t := newModelTarget(m)
	if pending := callbacks.FromContext(ctx).Pending(); pending != nil {
		t.info = &callbacks.RunInfo{Name: pending.Name, Type: t.typ, Component: pending.Component}
	}
	return t
}

// Provider returns who serves the user's model, for the middlewares around it. It is empty if the model does not say it.
func (t *modelTarget[M]) Provider() string {
	if m, ok := t.model.(model.HasProvider); ok {
		return m.Provider()
	}
	return ""
}

func (t *modelTarget[M]) enter(ctx context.Context) context.Context {
	if t.info == nil {
		return ctx
	}
	return callbacks.Reuse(ctx, t.info)
}

// Generate calls the model and gives the answer its message ID, in a copy: the model may return the same message in
// several runs. Callback handlers see a panic, too.
func (t *modelTarget[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (answer M, err error) {
	ctx = t.started(ctx, input)
	answer, err = t.generate(ctx, input, opts)
	return t.ended(ctx, answer, err)
}

func (t *modelTarget[M]) started(ctx context.Context, input []M) context.Context {
	ctx = t.enter(ctx)
	if t.silent {
		return ctx
	}
	return callbacks.OnStart(ctx, input)
}

func (t *modelTarget[M]) ended(ctx context.Context, answer M, err error) (M, error) {
	switch {
	case t.silent:
	case err != nil:
		callbacks.OnError(ctx, err)
	default:
		callbacks.OnEnd(ctx, answer)
	}
	if ops := opsOf[M](); !ops.isNil(answer) && ops.id(answer) == "" {
		answer = ops.identified(answer, newMark())
	}
	return answer, err
}

// Stream is Generate for an answer as a stream.
func (t *modelTarget[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	ctx = t.started(ctx, input)
	s, err := t.stream(ctx, input, opts)
	if err != nil {
		if !t.silent {
			callbacks.OnError(ctx, err)
		}
		return nil, err
	}
	s = cutOff[M](ctx, s)
	if !t.silent {
		_, s = callbacks.OnEndWithStreamOutput(ctx, s)
	}
	return s, nil
}

func (t *modelTarget[M]) generate(ctx context.Context, input []M, opts []model.Option) (answer M, err error) {
	defer safe.Recover(&err)
	answer, err = t.model.Generate(ctx, input, opts...)
	if err == nil && opsOf[M]().isNil(answer) {
		err = noAnswer(t.typ, "message")
	}
	return answer, err
}

func (t *modelTarget[M]) stream(
	ctx context.Context, input []M, opts []model.Option,
) (s *schema.StreamReader[M], err error) {
	defer safe.Recover(&err)
	s, err = t.model.Stream(ctx, input, opts...)
	if err == nil && s == nil {
		err = noAnswer(t.typ, "stream")
	}
	return s, err
}

func noAnswer(typ, what string) error {
	return fmt.Errorf("the model (type %q) returned neither a %s nor an error", typ, what)
}

// identifiedModel gives answers their message ID also where they stream: the first chunk has it, in a copy.
type identifiedModel[M MessageType] struct{ *modelTarget[M] }

func (m identifiedModel[M]) Stream(
	ctx context.Context, input []M, opts ...model.Option,
) (*schema.StreamReader[M], error) {
	s, err := m.modelTarget.Stream(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithFirst(s, opsOf[M]().identify(newMark())), nil
}

// identify returns a function that gives the first chunk of a stream its ID, in a copy.
func (ops *messageOps[M]) identify(with mark) func(M) M {
	return func(chunk M) M {
		if ops.isNil(chunk) {
			return chunk
		}
		return ops.identified(chunk, with)
	}
}

// identifyOnce is identify for streams in which a later chunk may have an ID of its own: that would be joined
// with the one of the first chunk.
func (ops *messageOps[M]) identifyOnce(with mark) func(M) (M, error) {
	first, given := true, false
	return func(chunk M) (M, error) {
		switch {
		case ops.isNil(chunk):
		case first:
			first = false
			given = ops.id(chunk) == ""
			return ops.identified(chunk, with), nil
		case given && ops.id(chunk) != "":
			extra := maps.Clone(ops.extra(chunk))
			delete(extra, messageIDKey)
			return ops.withExtra(chunk, extra), nil
		}
		return chunk, nil
	}
}
