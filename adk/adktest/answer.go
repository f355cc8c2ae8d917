package adktest

import (
	"context"
	"slices"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/backoff"
	"github.com/weftgo/weft/schema"
)

// Answer is the behaviour of a model or a tool in one call. It is a value: its methods return a changed copy. The zero
// Answer is an empty answer.
type Answer struct {
	chunks []chunk
	do     func(ctx context.Context, input string) (string, error)

	after, between time.Duration
	signal         <-chan struct{}
	// How it ends: well, if none of these is set.
	err    error
	blocks bool
	panics any

	// What a model expects of the call.
	seeing   []string
	seeingOf func(lines []string) []string
	offered  []string
	anyTools bool

	repeated bool
}

// chunk is a piece of a reply.
type chunk struct {
	text  string
	calls []ToolCall
	raw   any // a message or a tool's result, instead
	// finish is the provider's word for why the answer ended, in the last chunk.
	finish string
}

// Says replies with a text.
func Says(text string) Answer { return Streams(text) }

// Streams replies with a text in pieces, each a chunk of its own where the call is streaming.
func Streams(pieces ...string) Answer {
	var r Answer
	for _, p := range pieces {
		r.chunks = append(r.chunks, chunk{text: p})
	}
	return r
}

// Calls is the reply of a model that calls tools.
func Calls(calls ...ToolCall) Answer { return Answer{}.Calling(calls...) }

// Messages is a reply of exactly these chunks. They must be of the kind of the model.
func Messages[M adk.MessageType](chunks ...M) Answer { return raw(chunks) }

// Results is the reply of an enhanced tool with exactly these chunks.
func Results(chunks ...*schema.ToolResult) Answer { return raw(chunks) }

func raw[T any](chunks []T) Answer {
	var r Answer
	for _, c := range chunks {
		r.chunks = append(r.chunks, chunk{raw: c})
	}
	return r
}

// Does replies with what a function returns. Its input is the arguments of a tool, or the text of the last message
// that a model sees.
func Does(f func(ctx context.Context, input string) (string, error)) Answer { return Answer{do: f} }

// Fails is a call that returns an error.
func Fails(err error) Answer { return Answer{err: err} }

// Blocks is a call that returns only when its context ends, with the error of the context.
func Blocks() Answer { return Answer{blocks: true} }

// Panics is a call that panics.
func Panics(value any) Answer { return Answer{panics: value} }

// Calling adds tool calls, in a chunk of their own.
func (r Answer) Calling(calls ...ToolCall) Answer {
	r.chunks = append(slices.Clip(r.chunks), chunk{calls: calls})
	return r
}

// Finishing has the answer of a model say why it ended, in the word of a provider: "length" and "max_tokens" are the
// words for answers that the limit of tokens cut off. Streams say so in their last chunk. Without it an answer says
// nothing.
func (r Answer) Finishing(word string) Answer {
	r.chunks = append(slices.Clip(r.chunks), chunk{finish: word})
	return r
}

// After lets the call wait before it returns anything. The wait ends early, with an error, when the context does.
func (r Answer) After(d time.Duration) Answer {
	r.after = d
	return r
}

// Every lets a stream wait before each chunk but the first.
func (r Answer) Every(d time.Duration) Answer {
	r.between = d
	return r
}

// When lets the call wait until the channel is closed or gives something, even when its context has ended: it is for
// tests of code that ignores its context.
func (r Answer) When(signal <-chan struct{}) Answer {
	r.signal = signal
	return r
}

// ThenFails breaks a stream off with an error after its chunks. A call that is not streaming returns the error.
func (r Answer) ThenFails(err error) Answer {
	r.err = err
	return r
}

// ThenBlocks lets a stream continue without an end after its chunks, until the context ends or the reader is closed.
func (r Answer) ThenBlocks() Answer {
	r.blocks = true
	return r
}

// Seeing expects of a model's call that its messages are exactly these lines (see [Line]).
func (r Answer) Seeing(lines ...string) Answer {
	r.seeing, r.seeingOf = slices.Clone(lines), func(all []string) []string { return all }
	return r
}

// SeeingLast expects of a model's call that its last messages are these lines.
func (r Answer) SeeingLast(lines ...string) Answer {
	r.seeing = slices.Clone(lines)
	r.seeingOf = func(all []string) []string { return all[max(0, len(all)-len(lines)):] }
	return r
}

// Offered expects of a model's call that it offers the tools with these names, in this order.
func (r Answer) Offered(tools ...string) Answer {
	r.offered, r.anyTools = slices.Clone(tools), true
	return r
}

// Repeated is a reply to any number of calls, also none: the last one of a model's script.
func (r Answer) Repeated() Answer {
	r.repeated = true
	return r
}

// begin does what comes before the first chunk, and returns the chunks.
func (r *Answer) begin(ctx context.Context, input string) ([]chunk, error) {
	if r.signal != nil {
		<-r.signal
	}
	if err := backoff.Wait(ctx, r.after); err != nil {
		return nil, err
	}
	if r.panics != nil {
		panic(r.panics)
	}
	if r.do != nil {
		text, err := r.do(ctx, input)
		return []chunk{{text: text}}, err
	}
	if len(r.chunks) > 0 {
		return r.chunks, nil
	}
	if err := r.end(ctx); err != nil {
		return nil, err
	}
	return []chunk{{}}, nil // a zero Answer says nothing
}

// end does what comes after the last chunk.
func (r *Answer) end(ctx context.Context) error {
	if r.blocks {
		<-ctx.Done()
		return ctx.Err()
	}
	return r.err
}

// whole goes through a reply that is given at once, with all its waits.
func (r *Answer) whole(ctx context.Context, chunks int) error {
	for range max(0, chunks-1) {
		if err := backoff.Wait(ctx, r.between); err != nil {
			return err
		}
	}
	return r.end(ctx)
}

// stream gives chunks with all the waits between them.
func stream[T any](ctx context.Context, r *Answer, chunks []T) *schema.StreamReader[T] {
	if r.between <= 0 && !r.blocks && r.err == nil {
		return schema.StreamReaderFromArray(chunks)
	}
	// There is room for all, so that the script never waits for its reader.
	reader, writer := schema.Pipe[T](len(chunks) + 1)
	ctx, cancel := context.WithCancel(ctx)
	writer.OnReaderClose(cancel)
	go func() {
		defer cancel()
		defer writer.Close()
		for i, c := range chunks {
			err := ctx.Err()
			if i > 0 {
				err = backoff.Wait(ctx, r.between)
			}
			if err != nil {
				writer.Send(*new(T), err)
				return
			}
			writer.Send(c, nil)
		}
		if err := r.end(ctx); err != nil {
			writer.Send(*new(T), err)
		}
	}()
	return reader
}
