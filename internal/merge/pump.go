package merge

import (
	"errors"
	"io"

	"github.com/weftgo/weft/internal/pipe"
	"github.com/weftgo/weft/internal/pull"
)

// errAborted stands for the item whose making ended the pump's goroutine (runtime.Goexit).
var errAborted = errors.New("stream source was aborted")

// ahead is the number of items that a pump reads before they are asked for.
const ahead = 5

// A pump runs the user code of a source in a goroutine of its own, so that it delays no other source. The goroutine
// starts with the first Poll: a merged stream without a reader leaves nothing behind.
type pump[T any] struct {
	src     pull.Source[T]
	buffer  *pipe.Pipe[T]
	started bool
}

func newPump[T any](src pull.Source[T]) *pump[T] {
	return &pump[T]{src: src, buffer: pipe.New[T](ahead)}
}

func (p *pump[T]) Poll(w pull.Waker) (item pull.Item[T], ok bool) {
	if !p.started {
		p.started = true
		go run(p.src, p.buffer)
	}
	return p.buffer.Poll(w)
}

func (p *pump[T]) Prompt() bool { return true }

// Close stops the pump at once, unless it is in user code: that has to return first.
func (p *pump[T]) Close() {
	p.buffer.Close()
	p.src.Close()
}

// Producer is also the buffer: a pump that waits for room in it has to learn that the reader is gone.
func (p *pump[T]) Producer() pull.Closer {
	return withProducer(pull.Closers{p.buffer.Producer()}, p.src)
}

func run[T any](src pull.Source[T], buffer *pipe.Pipe[T]) {
	aborted := true
	defer func() {
		if aborted {
			buffer.Send(pull.Item[T]{Err: errAborted})
		}
		buffer.CloseWrite()
	}()
	parker := pull.NewParker()
	for {
		item := pull.Wait(src, parker)
		if item.Err == io.EOF || buffer.Send(item) || item.Err == pull.ErrClosed {
			break
		}
	}
	aborted = false
}
