package adk

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// modelChain is the model as the graph sees it: around the user's model, from the outside in, lie the history in the
// state, the sender of events, the ID of the message, and the callbacks. It reports to the callback handlers itself,
// once per call of the user's model.
type modelChain[M MessageType] struct {
	model   model.BaseModel[M]
	typ     string
	silent  bool // the user's model reports by itself
	limited bool // an agent with tools counts its iterations
	// tools is the option that tells the model what tools there are.
	tools []model.Option
}

func newModelChain[M MessageType](m model.BaseModel[M], tools []*schema.ToolInfo, limited bool) *modelChain[M] {
	return &modelChain[M]{
		model:   m,
		typ:     callbacks.TypeName(m),
		silent:  components.IsCallbacksEnabled(m),
		limited: limited,
		tools:   []model.Option{model.WithTools(tools)},
	}
}

// GetType returns the type of the user's model.
func (c *modelChain[M]) GetType() string { return c.typ }

// IsCallbacksEnabled keeps the graph from reporting a second time.
func (c *modelChain[M]) IsCallbacksEnabled() bool { return true }

// Generate answers the history in the state. The node's own input is not used: hooks may have changed the history.
func (c *modelChain[M]) Generate(ctx context.Context, _ []M, _ ...model.Option) (M, error) {
	return c.turn(ctx, c.generate)
}

// Stream is Generate with the answer as a stream: the event has the live one, the graph gets the whole message.
func (c *modelChain[M]) Stream(ctx context.Context, _ []M, _ ...model.Option) (*schema.StreamReader[M], error) {
	answer, err := c.turn(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]M{answer}), nil
}

// call is one call of the model with a history; it sends the event and returns the whole answer.
type call[M MessageType] func(ctx context.Context, r *agentRun[M], history []M, opts []model.Option) (M, error)

// turn takes the history from the state, calls the model and adds the answer.
func (c *modelChain[M]) turn(ctx context.Context, do call[M]) (answer M, err error) {
	r := agentRunFrom[M](ctx)
	history, err := c.nextHistory(ctx)
	if err != nil {
		return answer, err
	}
	if answer, err = do(ctx, r, history, c.options(r)); err != nil {
		return answer, err
	}
	return answer, remember(ctx, answer)
}

// nextHistory is what the model sees. An agent with tools counts down its iterations.
func (c *modelChain[M]) nextHistory(ctx context.Context) (history []M, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		if c.limited {
			if s.RemainingIterations <= 0 {
				return ErrExceedMaxIterations
			}
			s.RemainingIterations--
		}
		history = slices.Clip(s.Messages)
		return nil
	})
	return history, err
}

// options are those of the run, and then what tools there are.
func (c *modelChain[M]) options(r *agentRun[M]) []model.Option {
	if len(r.options.model) == 0 {
		return c.tools
	}
	return append(slices.Clip(r.options.model), c.tools...)
}

func remember[M MessageType](ctx context.Context, answer M) error {
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.Messages = append(s.Messages, answer)
		return nil
	})
}

// generate calls the model and sends the answer as an event.
func (c *modelChain[M]) generate(ctx context.Context, r *agentRun[M], history []M, opts []model.Option) (answer M, err error) {
	if c.silent {
		answer, err = c.ask(ctx, history, opts)
	} else {
		ctx = callbacks.OnStart(ctx, history)
		if answer, err = c.ask(ctx, history, opts); err != nil {
			callbacks.OnError(ctx, err)
		} else {
			callbacks.OnEnd(ctx, answer)
		}
	}
	if err != nil {
		return answer, err
	}
	ops := opsOf[M]()
	answer = ops.identified(answer, newMessageID())
	e := newMessageEvent(ops.withExtra(answer, ops.extra(answer)), nil)
	ops.modelVariant(&e.variant)
	r.sendMessage(e)
	return answer, nil
}

// stream calls the model, sends the live stream as an event, and joins its own copy.
func (c *modelChain[M]) stream(ctx context.Context, r *agentRun[M], history []M, opts []model.Option) (answer M, err error) {
	var s *schema.StreamReader[M]
	if c.silent {
		s, err = c.askStream(ctx, history, opts)
	} else {
		ctx = callbacks.OnStart(ctx, history)
		if s, err = c.askStream(ctx, history, opts); err != nil {
			callbacks.OnError(ctx, err)
		} else {
			_, s = callbacks.OnEndWithStreamOutput(ctx, s)
		}
	}
	if err != nil {
		return answer, err
	}
	ops := opsOf[M]()
	id := newMessageID()
	copies := s.Copy(2)
	var none M
	e := newMessageEvent(none, ops.identifiedStream(copies[0], id))
	ops.modelVariant(&e.variant)
	e.variant.MessageStream.SetAutomaticClose()
	r.sendMessage(e)
	if answer, err = ops.concat(ctx, copies[1]); err != nil {
		return answer, err
	}
	return ops.identified(answer, id), nil
}

// ask calls the user's model. A panic becomes an error here, so that the callback handlers hear of it.
func (c *modelChain[M]) ask(ctx context.Context, history []M, opts []model.Option) (answer M, err error) {
	defer safe.Recover(&err)
	answer, err = c.model.Generate(ctx, history, opts...)
	if err == nil && opsOf[M]().isNil(answer) {
		err = c.nothing("message")
	}
	return answer, err
}

// askStream is ask for an answer as a stream.
func (c *modelChain[M]) askStream(ctx context.Context, history []M, opts []model.Option) (s *schema.StreamReader[M], err error) {
	defer safe.Recover(&err)
	s, err = c.model.Stream(ctx, history, opts...)
	if err == nil && s == nil {
		err = c.nothing("stream")
	}
	return s, err
}

func (c *modelChain[M]) nothing(what string) error {
	return fmt.Errorf("the model (type %q) returned neither a %s nor an error", c.typ, what)
}

// identifiedStream gives the first chunk an ID, in a copy, as the chunk may be shared.
func (ops *messageOps[M]) identifiedStream(s *schema.StreamReader[M], id string) *schema.StreamReader[M] {
	first := true
	return schema.StreamReaderWithConvert(s, func(chunk M) (M, error) {
		if !first || ops.isNil(chunk) {
			return chunk, nil
		}
		first = false
		return ops.identified(chunk, id), nil
	})
}
