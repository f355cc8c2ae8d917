package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/eventring"
	"github.com/weftgo/weft/internal/safe"
)

// agentRun is one run of a chat model agent. It is the context of the run, too, so that hooks, model and tools find
// it in one step.
type agentRun[M MessageType] struct {
	context.Context
	agent    *TypedChatModelAgent[M]
	input    *TypedAgentInput[M]
	options  chatModelAgentOptions
	outer    layer[M]
	events   eventring.Ring[*TypedAgentEvent[M]]
	iterator AsyncIterator[*TypedAgentEvent[M]]
	messages []M
	plan     *agentPlan[M]
	// graphOptions pass the run's options on to the nodes.
	graphOptions []compose.Option
}

type agentRunKey[M MessageType] struct{}

func (r *agentRun[M]) Value(key any) any {
	if _, ok := key.(agentRunKey[M]); ok {
		return r
	}
	return r.Context.Value(key)
}

// agentRunFrom returns the innermost run of an agent on M.
func agentRunFrom[M MessageType](ctx context.Context) *agentRun[M] {
	r, _ := ctx.Value(agentRunKey[M]{}).(*agentRun[M])
	return r
}

func newAgentRun[M MessageType](ctx context.Context, a *TypedChatModelAgent[M], input *TypedAgentInput[M], outer layer[M], opts []AgentRunOption) *agentRun[M] {
	r := &agentRun[M]{Context: ctx, agent: a, input: input, outer: outer}
	r.iterator.ring = &r.events
	if len(opts) > 0 {
		GetImplSpecificOptions(&r.options, opts...)
	}
	return r
}

// send publishes an event. After the end of the run, where only tools that outlived it can still speak, it is dropped.
func (r *agentRun[M]) send(e *TypedAgentEvent[M]) {
	if r.outer != nil {
		r.outer.pass(e)
	}
	if !r.events.Put(e) {
		e.closeStreams()
	}
}

// sendMessage is send for an event with a message, which brings its own room for the path.
func (r *agentRun[M]) sendMessage(e *messageEvent[M]) {
	if r.outer != nil {
		e.event.RunPath = e.path[:0]
	}
	r.send(&e.event)
}

// execute is the run's goroutine. Whatever happens the last event is out and the iterator closed at its end, even if
// user code ends the goroutine.
func (r *agentRun[M]) execute() {
	reserveStack(len(r.messages))
	defer r.events.Close()
	if err := r.guarded(); err != nil {
		r.send(r.lastEvent(err))
	}
}

func (r *agentRun[M]) guarded() (err error) {
	finished := false
	defer func() {
		if v := recover(); v != nil {
			err = safe.NewPanicError(v, debug.Stack())
		} else if !finished { // runtime.Goexit: execute will not go on
			r.send(r.lastEvent(errors.New("the goroutine of the run was ended by runtime.Goexit in user code")))
		}
	}()
	err = r.react()
	finished = true
	return err
}

// react runs the graph from the input to the final message.
func (r *agentRun[M]) react() error {
	if err := r.prepare(); err != nil {
		return err
	}
	if !r.input.EnableStreaming {
		_, err := r.plan.graph.Invoke(r, r.messages, r.graphOptions...)
		return err
	}
	final, err := r.plan.graph.Stream(r, r.messages, r.graphOptions...)
	if err != nil {
		return err
	}
	_, err = opsOf[M]().concat(r, final)
	return err
}

// prepare makes what the graph starts from.
func (r *agentRun[M]) prepare() (err error) {
	if r.input == nil {
		return errors.New("the agent input is nil")
	}
	if r.plan, err = r.agent.plan(r); err != nil {
		return fmt.Errorf("ChatModelAgent getRunFunc error: %w", err)
	}
	conf := &r.agent.conf
	if r.messages, err = conf.GenModelInput(r, conf.Instruction, r.input); err != nil {
		return err
	}
	if len(r.options.tools) > 0 {
		r.graphOptions = []compose.Option{compose.WithToolsNodeOption(compose.WithToolOption(r.options.tools...))}
	}
	return nil
}

// lastEvent is the event of a run that did not reach its final message.
func (r *agentRun[M]) lastEvent(err error) *TypedAgentEvent[M] {
	info, interrupted := compose.ExtractInterruptInfo(err)
	if !interrupted {
		return &TypedAgentEvent[M]{Err: err}
	}
	return &TypedAgentEvent[M]{
		AgentName: r.agent.conf.Name,
		Action:    &AgentAction{Interrupted: &InterruptInfo{Data: info, InterruptContexts: info.InterruptContexts}},
	}
}

// reserveStack makes the goroutine's stack as large as a run needs down to its model, while there is hardly anything
// on it. Growing it later would mean to adjust every frame in between, which took a third of the time of a short run.
//
//go:noinline
func reserveStack(i int) byte {
	var room [2400]byte
	room[i%len(room)]++ // keeps the compiler from leaving it out
	return room[(i+1)%len(room)]
}
