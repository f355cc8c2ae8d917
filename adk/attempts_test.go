package adk

import (
	"context"
	"errors"
	"sync"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// try describes one call of a model: it says something, and fails before or after it.
type try[M MessageType] struct {
	chunks []M
	// refuses is the error of the call itself, breaks the one after the chunks.
	refuses, breaks error
	// silent: the producer neither ends nor fails after what it said.
	silent bool
}

// fickle is a model that does one thing after the other, the last one again and again.
type fickle[M MessageType] struct {
	tries []try[M]

	mu        sync.Mutex
	histories [][]string
	options   [][]model.Option
	// open counts the streams whose reader has not been closed.
	open int
}

func says1[M MessageType](texts ...string) try[M] {
	var t try[M]
	for _, text := range texts {
		t.chunks = append(t.chunks, dialectOf[M]().chunk(text))
	}
	return t
}

func refuses[M MessageType](err error) try[M] { return try[M]{refuses: err} }

func breaks[M MessageType](err error, texts ...string) try[M] {
	t := says1[M](texts...)
	t.breaks = err
	return t
}

func (f *fickle[M]) next(history []M, opts []model.Option) try[M] {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.histories)
	f.histories = append(f.histories, dialectOf[M]().lines(history))
	f.options = append(f.options, opts)
	return f.tries[min(n, len(f.tries)-1)]
}

func (f *fickle[M]) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.histories)
}

// Generate gives what there was before the error together with the error.
func (f *fickle[M]) Generate(ctx context.Context, history []M, opts ...model.Option) (answer M, err error) {
	t := f.next(history, opts)
	if t.refuses != nil {
		return answer, t.refuses
	}
	if len(t.chunks) > 0 {
		answer, err = messageRuntimeOf[M]().concat(ctx, schema.StreamReaderFromArray(t.chunks))
		if err != nil {
			return answer, err
		}
	} else if t.breaks == nil {
		answer = opsOf[M]().empty()
	}
	return answer, t.breaks
}

func (f *fickle[M]) Stream(_ context.Context, history []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	t := f.next(history, opts)
	if t.refuses != nil {
		return nil, t.refuses
	}
	s, w := schema.Pipe[M](0)
	f.mu.Lock()
	f.open++
	f.mu.Unlock()
	go func() {
		defer func() {
			f.mu.Lock()
			f.open--
			f.mu.Unlock()
		}()
		for _, c := range t.chunks {
			if w.Send(c, nil) {
				return
			}
		}
		if t.breaks != nil {
			var none M
			w.Send(none, t.breaks)
		}
		if t.silent {
			gone := make(chan struct{})
			w.OnReaderClose(func() { close(gone) })
			<-gone
			return
		}
		w.Close()
	}()
	return s, nil
}

// errShaky is the error of a flaky model.
var errShaky = errors.New("broken")
