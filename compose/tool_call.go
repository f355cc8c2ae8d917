package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// GetToolCallID returns the ID of the tool call that ctx belongs to, "" outside one.
func GetToolCallID(ctx context.Context) string {
	if call := toolCallFrom(ctx); call != nil {
		return call.callID()
	}
	return ""
}

// toolCallFrom returns the tool call that ctx belongs to, nil outside one. Code of users may bring a nil ctx.
func toolCallFrom(ctx context.Context) *toolCall {
	if ctx == nil {
		return nil
	}
	c, _ := ctx.Value(toolCallKey{}).(*toolCall)
	return c
}

// InternalToolCall returns the tool call that ctx belongs to, as the tool is given it, and false outside one. Each call
// has an id of its own for as long as it runs. It is for the agent runtime.
func InternalToolCall(ctx context.Context) (call schema.ToolCall, id any, ok bool) {
	c := toolCallFrom(ctx)
	if c == nil {
		return call, nil, false
	}
	call = schema.ToolCall{ID: c.callID(), Function: schema.FunctionCall{Name: c.name(), Arguments: c.arguments}}
	return call, c, true
}

// InternalToolCallPlace returns which call of its message the tool call is that ctx belongs to, from 1; 0 outside one. It is
// for the agent runtime and the record of runs.
func InternalToolCallPlace(ctx context.Context) int {
	if c := toolCallFrom(ctx); c != nil {
		return c.before + c.index + 1
	}
	return 0
}

// toolBatch is the calls of one message.
type toolBatch struct {
	node    *ToolsNode
	ctx     context.Context
	input   *schema.Message
	options toolsNodeOptions
	// cutOff is the provider's word for why the answer was cut off, "" if it was not.
	cutOff string
	calls  []toolCall
	// single is the memory of a batch of one call, which most are.
	single [1]toolCall

	// failed is set when a call has failed. Calls that wait for their turn do not start then.
	failed atomic.Bool
}

// workers is the number of calls that may run at once.
func (b *toolBatch) workers() int {
	limit := b.node.conf.MaxParallelCalls
	switch {
	case b.node.conf.ExecuteSequentially:
		return 1
	case limit > 0:
		return min(len(b.calls), limit)
	}
	return len(b.calls)
}

// toolCall is one call with its result: a value or a stream, of text or of multi-modal parts. It lives in one block
// with its context and input.
type toolCall struct {
	ctx runContext
	// segment has the key of the call (core.CallKeys) as its SubID: its place in the message says which call it is, as
	// models do not always give every call an ID of its own.
	segment core.AddressSegment
	id      string
	input   ToolInput
	tool    *boundTool
	// unknown, if not nil, answers the call instead of a tool: there is none, or it must not be executed.
	unknown func(ctx context.Context, name, input string) (string, error)

	index int
	// before is the number of calls that are before it in its message, if it is a single call that was started before that
	// was whole.
	before int
	// arguments are the input's, which middlewares may write to.
	arguments string

	// done: the result is there without running the tool.
	done bool
	// interruptID is the ID of the interrupt that the call left in the run that this one resumes.
	interruptID string
	// early, if not nil, waits for the call, which was started before this node.
	early        EarlyToolCall
	enhanced     bool
	text         string
	result       *schema.ToolResult
	textStream   *schema.StreamReader[string]
	resultStream *schema.StreamReader[*schema.ToolResult]
	err          error
}

// The name and the ID of the call are those that the model wrote. The label tells it from the other calls of the answer.

func (c *toolCall) name() string   { return c.segment.ID }
func (c *toolCall) callID() string { return c.id }
func (c *toolCall) label() string  { return c.segment.SubID }

// enter makes the context of the call.
func (c *toolCall) enter(ctx context.Context, info *callbacks.RunInfo, silent bool) {
	c.ctx.frame = core.FrameFrom(ctx).EnterAs(ctx, &c.segment, c.interruptID)
	c.ctx.callbacks = c.ctx.callbacks.WithInfo(info)
	if !silent {
		c.ctx.callbacks = c.ctx.callbacks.Started()
	}
	c.ctx.call = c
}

// run executes the calls that have no result yet, in the caller's goroutine and as many more as may run at once. Calls
// that run side by side know nothing of each other: a failure leaves them alone, as what they do cannot be undone by
// halves. One that waits for its turn behind a failure does not start: its result would not be read.
func (b *toolBatch) run(execute func(*toolCall)) {
	if workers := b.workers(); workers > 1 {
		b.runParallel(workers, execute)
		return
	}
	for i := 0; i < len(b.calls) && !b.failed.Load(); i++ {
		b.guard(&b.calls[i], execute)
	}
}

func (b *toolBatch) runParallel(workers int, execute func(*toolCall)) {
	var next atomic.Int32
	waits := workers < len(b.calls)
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(b.calls) && !(waits && b.failed.Load()); i = int(next.Add(1)) - 1 {
			b.guard(&b.calls[i], execute)
		}
	}
	var wg sync.WaitGroup
	if waiter := b.node.waiter(b.ctx); waiter != nil { // this goroutine has other work meanwhile
		for range workers {
			wg.Go(work)
		}
		done := make(chan struct{})
		go func() {
			wg.Wait()
			close(done)
		}()
		waiter.WaitFor(done)
		work() // as below
		return
	}
	for range workers - 1 {
		wg.Go(work)
	}
	defer wg.Wait() // also if a tool ends this goroutine
	work()
	wg.Wait()
	work() // what a worker left whose goroutine was ended by its tool
}

// guard runs one call and turns a panic of a middleware into its error.
func (b *toolBatch) guard(c *toolCall, execute func(*toolCall)) {
	finished := false
	defer func() {
		if v := recover(); v != nil {
			c.err = safe.NewPanicError(v, debug.Stack())
		} else if !finished {
			c.err = errGoexit
		}
		c.err = safe.Sound(c.err)
		if c.failed() {
			b.failed.Store(true)
		}
	}()
	execute(c)
	finished = true
}

func (c *toolCall) failed() bool {
	if c.err == nil || c.givenUp() {
		return false
	}
	return !core.IsInterrupt(c.err)
}

// givenUp reports whether the call is to run again in a resumed run without having asked for it.
func (c *toolCall) givenUp() bool { return errors.Is(c.err, ErrToolCallGivenUp) }

// invoke gets the value of the call.
func (c *toolCall) invoke() {
	switch {
	case c.done:
	case c.early != nil:
		if c.adopt(); c.err == nil {
			c.join()
		}
	case c.unknown != nil:
		c.text, c.err = c.unknown(&c.ctx, c.name(), c.input.Arguments)
	case c.tool.enhanced != nil:
		c.enhanced = true
		c.result, c.err = c.tool.enhanced.value(&c.ctx, &c.input)
	default:
		c.text, c.err = c.tool.text.value(&c.ctx, &c.input)
	}
}

// stream gets the stream of the call.
func (c *toolCall) stream() {
	switch {
	case c.done:
	case c.early != nil:
		c.adopt()
	case c.unknown != nil:
		if c.text, c.err = c.unknown(&c.ctx, c.name(), c.input.Arguments); c.err == nil {
			c.textStream = singleOf(c.text)
		}
	case c.tool.enhanced != nil:
		c.enhanced = true
		c.resultStream, c.err = c.tool.enhanced.chunks(&c.ctx, &c.input)
	default:
		c.textStream, c.err = c.tool.text.chunks(&c.ctx, &c.input)
	}
}

// gather gets the value of the call by its stream, if the tool has one.
func (c *toolCall) gather() {
	if c.early != nil || c.tool == nil || !c.tool.streams() {
		c.invoke()
		return
	}
	if c.stream(); c.err == nil {
		c.join()
	}
}

// join turns the stream of the call into its value. An interrupt inside the stream stays one.
func (c *toolCall) join() {
	var err error
	what := "tool result"
	switch {
	case c.textStream != nil:
		c.text, err = joinToolStream(c.textStream, "")
		c.textStream = nil
	case c.resultStream != nil:
		what = "enhanced tool result"
		c.result, err = joinToolStream(c.resultStream, &schema.ToolResult{})
		c.resultStream = nil
	}
	if err != nil {
		if c.early != nil {
			what = "eager " + what
		}
		c.err = fmt.Errorf("failed to collect %s for %s: %w", what, c.callID(), err)
	}
}

// message is the tool message of a call's value.
func (c *toolCall) message() (*schema.Message, error) {
	if c.enhanced {
		return c.resultMessage(c.result)
	}
	return c.textMessage(c.text), nil
}

func (c *toolCall) textMessage(content string) *schema.Message {
	return &schema.Message{Role: schema.Tool, Content: content, ToolCallID: c.callID(), ToolName: c.name()}
}

func (c *toolCall) resultMessage(result *schema.ToolResult) (*schema.Message, error) {
	parts, err := result.ToMessageInputParts()
	if err != nil {
		return nil, fmt.Errorf("result of tool[name:%s id:%s]: %w", c.name(), c.callID(), err)
	}
	m := c.textMessage("")
	m.UserInputMultiContent = parts
	return m, nil
}

// messages is the stream of the call as chunks with a place for each of n calls.
func (c *toolCall) messages(n int) *schema.StreamReader[[]*schema.Message] {
	text := func(chunk string) (*schema.Message, error) { return c.textMessage(chunk), nil }
	switch {
	case c.resultStream != nil:
		return placedMessages(c.resultStream, &schema.ToolResult{}, c.resultMessage, c.index, n)
	case c.textStream != nil:
		return placedMessages(c.textStream, "", text, c.index, n)
	case c.enhanced:
		return placedMessages(singleOf(c.result), nil, c.resultMessage, c.index, n)
	}
	return placedMessages(singleOf(c.text), "", text, c.index, n)
}

// placedMessages turns the chunks of a call into messages at their place among n. A stream that ends without any gives
// a message with nothing: every call has a result.
func placedMessages[R any](
	s *schema.StreamReader[R], nothing R, message func(R) (*schema.Message, error), index, n int,
) *schema.StreamReader[[]*schema.Message] {
	empty := true
	place := func(chunk R) ([]*schema.Message, error) {
		empty = false
		m, err := message(chunk)
		out := make([]*schema.Message, n)
		out[index] = m
		return out, err
	}
	return schema.StreamReaderWithConvert(s, place, schema.WithErrWrapper(func(err error) error {
		empty = false
		return err
	}), schema.WithOnEOF(func() (any, error) {
		if !empty {
			return nil, io.EOF
		}
		return place(nothing)
	}))
}

func (c *toolCall) closeStreams() {
	if c.textStream != nil {
		c.textStream.Close()
	}
	if c.resultStream != nil {
		c.resultStream.Close()
	}
}

func (b *toolBatch) closeStreams() {
	for i := range b.calls {
		b.calls[i].closeStreams()
	}
}
