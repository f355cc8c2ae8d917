package adk

import (
	"context"
	"fmt"
	"maps"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

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

// newFallback makes the target of a model that is called in place of the agent's own.
func newFallback[M MessageType](ctx context.Context, m model.BaseModel[M]) *modelTarget[M] {
	t := newModelTarget(m)
	if pending := callbacks.FromContext(ctx).Pending(); pending != nil {
		t.info = &callbacks.RunInfo{Name: pending.Name, Type: t.typ, Component: pending.Component}
	}
	return t
}

func (t *modelTarget[M]) enter(ctx context.Context) context.Context {
	if t.info == nil {
		return ctx
	}
	return callbacks.Reuse(ctx, t.info)
}

// Generate calls the model and gives the answer its message ID, in a copy: the model may return the same message in
// several runs. Callback handlers hear of a panic, too.
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

func (t *modelTarget[M]) stream(ctx context.Context, input []M, opts []model.Option) (s *schema.StreamReader[M], err error) {
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

func (m identifiedModel[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
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
