package extension

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
)

// Trace is a callback handler that records spans as one for a tracing service does.
type Trace struct {
	mu    sync.Mutex // mu guards spans
	spans []string
	wg    sync.WaitGroup
}

var _ callbacks.Handler = (*Trace)(nil)

type spanKey struct{}

// Spans waits for the streams that are still read, and returns what was recorded.
func (t *Trace) Spans() []string {
	t.wg.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.spans...)
}

func (t *Trace) record(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, fmt.Sprintf(format, args...))
}

// OnStart begins a span.
func (t *Trace) OnStart(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
	if r := retriever.ConvCallbackInput(in); r != nil && info.Component == components.ComponentOfRetriever {
		t.record("%s %s start: %s", info.Component, info.Type, r.Query)
	}
	return context.WithValue(ctx, spanKey{}, info)
}

// OnEnd ends a span.
func (t *Trace) OnEnd(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
	if ctx.Value(spanKey{}) != info {
		t.record("%s %s lost its context", info.Component, info.Type)
	}
	if m := model.ConvCallbackOutput(out); m != nil && m.Message != nil {
		t.record("%s %s end: %s", info.Component, info.Type, m.Message.Content)
	}
	return ctx
}

// OnError ends a span with an error.
func (t *Trace) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	t.record("%s %s error: %v", info.Component, info.Type, err)
	return ctx
}

// OnStartWithStreamInput begins a span.
func (t *Trace) OnStartWithStreamInput(ctx context.Context, info *callbacks.RunInfo,
	in *schema.StreamReader[callbacks.CallbackInput]) context.Context {
	in.Close()
	return context.WithValue(ctx, spanKey{}, info)
}

// OnEndWithStreamOutput reads a stream of its own to its end in the background.
func (t *Trace) OnEndWithStreamOutput(ctx context.Context, info *callbacks.RunInfo,
	out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
	t.wg.Go(func() {
		defer out.Close()
		var chunks []*schema.Message
		for {
			chunk, err := out.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.record("%s %s error: %v", info.Component, info.Type, err)
				return
			}
			if m := model.ConvCallbackOutput(chunk); m != nil && m.Message != nil {
				chunks = append(chunks, m.Message)
			}
		}
		if whole, err := schema.ConcatMessages(chunks); err == nil && len(chunks) > 0 {
			t.record("%s %s stream: %s", info.Component, info.Type, whole.Content)
		}
	})
	return ctx
}
