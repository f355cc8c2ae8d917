package compose

import (
	"fmt"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// ToolsInterruptAndRerunExtra is the info of a tools node's interrupt.
type ToolsInterruptAndRerunExtra struct {
	// ToolCalls are all calls of the message.
	ToolCalls []schema.ToolCall
	// ExecutedTools and ExecutedEnhancedTools have the results of the calls that are done, by call ID. They will not
	// run again.
	ExecutedTools         map[string]string
	ExecutedEnhancedTools map[string]*schema.ToolResult
	// RerunTools are the IDs of the calls that will run again.
	RerunTools []string
	// RerunExtraMap has what those calls said when they asked for the interrupt, by call ID.
	RerunExtraMap map[string]any
}

// toolsState holds what an interrupted tools node needs to continue. Results are kept by the place of the call in the
// message: models do not always give every call an ID of its own.
type toolsState struct {
	Input    *schema.Message
	Executed []executedCall
}

// executedCall is the result of a call that was done, or the interrupt of one that asked for it, at its place in the
// message.
type executedCall struct {
	Done        bool
	Enhanced    bool
	Text        string
	Result      *schema.ToolResult
	InterruptID string
}

// restoreInput takes the message of an interrupted run instead of the given one.
func (b *toolBatch) restoreInput() *toolsState {
	interrupted, ok, saved := GetInterruptState[*toolsState](b.ctx)
	if !interrupted || !ok || saved.Input == nil {
		return nil
	}
	b.input = saved.Input
	return saved
}

// restoreResults marks the calls that were done before the interrupt, and says of the others which interrupt is theirs.
func (b *toolBatch) restoreResults(saved *toolsState) {
	if saved == nil {
		return
	}
	for i, e := range saved.Executed {
		if i < len(b.calls) {
			c := &b.calls[i]
			c.done, c.enhanced, c.text, c.result, c.interruptID = e.Done, e.Enhanced, e.Text, e.Result, e.InterruptID
		}
	}
}

// A failure makes the error of a node of one of its calls.
type failure func(c *toolCall) error

func invokeFailure(c *toolCall) error {
	return fmt.Errorf("failed to invoke tool[name:%s id:%s]: %w", c.name(), c.callID(), c.err)
}

func streamFailure(c *toolCall) error {
	return fmt.Errorf("failed to stream tool call %s: %w", c.callID(), c.err)
}

// outcome returns the first failure by the order of the calls, else the interrupt of the node if a call asked for one.
func (b *toolBatch) outcome(failed failure) error {
	interrupted := false
	for i := range b.calls {
		c := &b.calls[i]
		if c.failed() {
			b.closeStreams()
			return failed(c)
		}
		interrupted = interrupted || c.err != nil
	}
	if !interrupted {
		return nil
	}
	return b.interrupt(failed)
}

// interrupt puts what the node needs to continue into an interrupt. To save a result its stream is read to the end,
// which may still fail.
func (b *toolBatch) interrupt(failed failure) error {
	extra := &ToolsInterruptAndRerunExtra{
		ToolCalls:             b.input.ToolCalls,
		ExecutedTools:         map[string]string{},
		ExecutedEnhancedTools: map[string]*schema.ToolResult{},
		RerunExtraMap:         map[string]any{},
	}
	state := &toolsState{Input: b.input, Executed: make([]executedCall, len(b.calls))}
	var errs []error
	for i := range b.calls {
		c := &b.calls[i]
		if c.err == nil {
			c.join()
		}
		if c.failed() {
			b.closeStreams()
			return failed(c)
		}
		if c.err != nil {
			if !c.givenUp() {
				asks := c.addressed()
				errs = append(errs, asks)
				if signal, ok := asks.(*core.InterruptSignal); ok {
					state.Executed[i].InterruptID = signal.ID
				}
			}
			extra.RerunTools = append(extra.RerunTools, c.callID())
			if info, _ := core.IsInterruptRerunError(c.err); info != nil {
				extra.RerunExtraMap[c.callID()] = info
			}
			continue
		}
		state.Executed[i] = executedCall{Done: true, Enhanced: c.enhanced, Text: c.text, Result: c.result}
		if c.enhanced {
			extra.ExecutedEnhancedTools[c.callID()] = c.result
		} else {
			extra.ExecutedTools[c.callID()] = c.text
		}
	}
	return CompositeInterrupt(b.ctx, extra, state, errs...)
}

// addressed gives a legacy interrupt the address of the call, and one of a graph that the tool ran a place below it.
func (c *toolCall) addressed() error {
	signal, _ := core.SignalFrom(&c.ctx, c.err)
	if signal == nil {
		return c.err
	}
	return ownSignal(&c.ctx, c.err, signal)
}
