package callbacks

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/weftgo/weft/schema"
)

// journal collects the calls of handlers, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// take returns the lines and starts again.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

func infoName(info *RunInfo) string {
	if info == nil {
		return "<nil>"
	}
	return info.Name
}

// recorder is a handler without a TimingChecker that writes everything to a journal. Streams are read to their end.
type recorder struct {
	name string
	to   *journal
}

func (r *recorder) OnStart(ctx context.Context, info *RunInfo, input CallbackInput) context.Context {
	r.to.add("%s start %s %v", r.name, infoName(info), input)
	return ctx
}

func (r *recorder) OnEnd(ctx context.Context, info *RunInfo, output CallbackOutput) context.Context {
	r.to.add("%s end %s %v", r.name, infoName(info), output)
	return ctx
}

func (r *recorder) OnError(ctx context.Context, info *RunInfo, err error) context.Context {
	r.to.add("%s error %s %v", r.name, infoName(info), err)
	return ctx
}

func (r *recorder) OnStartWithStreamInput(
	ctx context.Context, info *RunInfo, input *schema.StreamReader[CallbackInput],
) context.Context {
	r.to.add("%s streamstart %s %v", r.name, infoName(info), drain(input))
	return ctx
}

func (r *recorder) OnEndWithStreamOutput(
	ctx context.Context, info *RunInfo, output *schema.StreamReader[CallbackOutput],
) context.Context {
	r.to.add("%s streamend %s %v", r.name, infoName(info), drain(output))
	return ctx
}

// drain reads a stream to its end and closes it; error items appear as themselves.
func drain[T any](sr *schema.StreamReader[T]) []any {
	defer sr.Close()
	var items []any
	for {
		item, err := sr.Recv()
		switch err {
		case nil:
			items = append(items, item)
		case io.EOF:
			return items
		default:
			items = append(items, err)
		}
	}
}

// checked is a recorder that needs only some timings and says so when asked.
type checked struct {
	recorder
	needed func(ctx context.Context, info *RunInfo, timing CallbackTiming) bool
}

func (c *checked) Needed(ctx context.Context, info *RunInfo, timing CallbackTiming) bool {
	return c.needed(ctx, info, timing)
}

// static is a recorder whose timings are fixed.
type static struct {
	checked
	timings Timings
}

func (s *static) NeededTimings() Timings { return s.timings }

func newStatic(name string, to *journal, timings Timings) *static {
	return &static{timings: timings,
		checked: checked{recorder{name, to}, func(context.Context, *RunInfo, CallbackTiming) bool {
			panic("asked although its answer is known")
		}}}
}

// funcs is a handler of functions; a nil one returns its context.
type funcs struct {
	recorder
	onStart     func(ctx context.Context, info *RunInfo, input CallbackInput) context.Context
	onEnd       func(ctx context.Context, info *RunInfo, output CallbackOutput) context.Context
	onStreamEnd func(ctx context.Context, info *RunInfo, output *schema.StreamReader[CallbackOutput]) context.Context
}

func (f *funcs) OnStart(ctx context.Context, info *RunInfo, input CallbackInput) context.Context {
	if f.onStart == nil {
		return ctx
	}
	return f.onStart(ctx, info, input)
}

func (f *funcs) OnEnd(ctx context.Context, info *RunInfo, output CallbackOutput) context.Context {
	if f.onEnd == nil {
		return ctx
	}
	return f.onEnd(ctx, info, output)
}

func (f *funcs) OnEndWithStreamOutput(
	ctx context.Context, info *RunInfo, output *schema.StreamReader[CallbackOutput],
) context.Context {
	if f.onStreamEnd == nil {
		output.Close()
		return ctx
	}
	return f.onStreamEnd(ctx, info, output)
}

// withGlobals sets the global handlers for one test.
func withGlobals(t testing.TB, handlers ...Handler) {
	t.Helper()
	SetGlobal(handlers)
	t.Cleanup(func() { SetGlobal(nil) })
}
