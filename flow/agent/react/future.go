package react

import (
	"sync"
	"weak"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
)

// MessageFuture gives the messages of a run as they are made: every answer of a model and every result of a tool, in
// order; results of tools that run side by side come as they finish. Agents that run inside the run (in a tool, as a
// node) contribute theirs.
//
// Both methods wait for the run to start. They may be called before, during and after it, in any goroutine; the
// iterators of one run share its messages. What is not read is kept until the future and its iterators are
// unreachable.
type MessageFuture interface {
	// GetMessages returns the messages of a run that was started without streaming (Generate, Invoke). Messages that
	// were streamed all the same are joined. Of a streaming run it returns none.
	GetMessages() *Iterator[*schema.Message]
	// GetMessageStreams returns the messages of a streaming run (Stream) as streams, which the caller closes. Of a
	// run without streaming it returns none.
	GetMessageStreams() *Iterator[*schema.StreamReader[*schema.Message]]
}

// Iterator gives one message after another. The zero value has none.
type Iterator[T any] struct {
	next func() (T, bool, error)
}

// Next waits for the next message. It returns false when there is none any more, as the run is over. If the run
// failed, its error comes after all messages, with true. It is safe for concurrent use.
func (iter *Iterator[T]) Next() (T, bool, error) {
	if iter == nil || iter.next == nil {
		var none T
		return none, false, nil
	}
	return iter.next()
}

// WithMessageFuture returns an option and the future of the run that it is used for: the outermost graph, chain or
// workflow that gets it. agent.GetComposeOptions makes it fit for graphs that an agent is a part of.
//
// Make a new one for every run. If it is used again, the methods of the future return the messages of the run that
// was started last; iterators stay with their run.
func WithMessageFuture() (agent.AgentOption, MessageFuture) {
	f := &future{}
	f.changed.L = &f.mu
	return agent.WithComposeOptions(compose.WithCallbacks(&recorder{future: weak.Make(f)})), f
}

// future is held by the reader of the messages. The run only has a weak pointer to it, so that messages which cannot be
// read any more are not kept.
type future struct {
	mu      sync.Mutex
	changed sync.Cond
	// run is the record of the run that was started last.
	run *record
}

// begin starts the record of a run.
func (f *future) begin(streaming bool) *record {
	r := &record{streaming: streaming}
	r.changed.L = &r.mu
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run = r
	f.changed.Broadcast()
	return r
}

func (f *future) awaitRun() *record {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.run == nil {
		f.changed.Wait()
	}
	return f.run
}

func (f *future) GetMessages() *Iterator[*schema.Message] {
	r := f.awaitRun()
	if r.streaming {
		return &Iterator[*schema.Message]{}
	}
	return &Iterator[*schema.Message]{next: r.nextMessage}
}

func (f *future) GetMessageStreams() *Iterator[*schema.StreamReader[*schema.Message]] {
	r := f.awaitRun()
	if !r.streaming {
		return &Iterator[*schema.StreamReader[*schema.Message]]{}
	}
	return &Iterator[*schema.StreamReader[*schema.Message]]{next: r.nextStream}
}

// record is the messages of one run that were not read yet.
type record struct {
	streaming bool

	mu      sync.Mutex
	changed sync.Cond
	items   []recorded
	closed  bool
}

// recorded is a message, as a value or a stream, or the error that the run ended with.
type recorded struct {
	message *schema.Message
	stream  *schema.StreamReader[*schema.Message]
	err     error
}

// add takes one more item. After the end it is dropped.
func (r *record) add(item recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		if item.stream != nil {
			item.stream.Close()
		}
		return
	}
	r.items = append(r.items, item)
	r.changed.Broadcast()
}

// end closes the record, after err unless that is nil.
func (r *record) end(err error) {
	if err != nil {
		r.add(recorded{err: err})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.changed.Broadcast()
}

func (r *record) take() (recorded, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.items) == 0 {
		if r.closed {
			return recorded{}, false
		}
		r.changed.Wait()
	}
	item := r.items[0]
	r.items[0] = recorded{}
	r.items = r.items[1:]
	return item, true
}

// nextMessage joins a stream here, in the reader's goroutine: the run does not wait for it, and the order stays.
func (r *record) nextMessage() (*schema.Message, bool, error) {
	item, ok := r.take()
	if !ok || item.stream == nil {
		return item.message, ok, item.err
	}
	m, err := schema.ConcatMessageStream(item.stream)
	return m, true, err
}

func (r *record) nextStream() (*schema.StreamReader[*schema.Message], bool, error) {
	item, ok := r.take()
	if !ok || item.message == nil {
		return item.stream, ok, item.err
	}
	return schema.StreamReaderFromArray([]*schema.Message{item.message}), true, nil
}
