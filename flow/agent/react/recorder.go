package react

import (
	"context"
	"weak"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// recorder is the callback handler behind a future. The outermost run that it sees is the owner of a new record;
// the context leads everything in that run to it.
type recorder struct {
	future weak.Pointer[future]
}

var _ callbacks.TimingChecker = (*recorder)(nil)

// ownerKey is the key of the innermost run in a context that the recorder has seen.
type ownerKey struct{ recorder *recorder }

type ownedRun struct {
	record weak.Pointer[record]
	// nested: the run is not the owner of the record but a part of it.
	nested bool
}

// recordsKey is the key of all records that a context leads to.
type recordsKey struct{}

type activeRecords struct {
	record weak.Pointer[record]
	outer  *activeRecords
}

// recordsOf returns the records that messages under ctx go to, as far as they can still be read.
func recordsOf(ctx context.Context) []*record {
	var found []*record
	active, _ := ctx.Value(recordsKey{}).(*activeRecords)
	for ; active != nil; active = active.outer {
		if r := active.record.Value(); r != nil {
			found = append(found, r)
		}
	}
	return found
}

// Needed implements callbacks.TimingChecker.
func (h *recorder) Needed(ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	switch {
	case isGraph(info):
		return true
	case info == nil || info.Component != components.ComponentOfChatModel:
		return false
	}
	isEnd := timing == callbacks.TimingOnEnd || timing == callbacks.TimingOnEndWithStreamOutput
	return isEnd && h.recordOf(ctx) != nil
}

func isGraph(info *callbacks.RunInfo) bool {
	if info == nil {
		return false
	}
	switch info.Component {
	case compose.ComponentOfGraph, compose.ComponentOfChain, compose.ComponentOfWorkflow:
		return true
	}
	return false
}

func (h *recorder) run(ctx context.Context) *ownedRun {
	run, _ := ctx.Value(ownerKey{h}).(*ownedRun)
	return run
}

// recordOf returns the record that ctx belongs to, nil if there is none or it cannot be read any more.
func (h *recorder) recordOf(ctx context.Context) *record {
	if run := h.run(ctx); run != nil {
		return run.record.Value()
	}
	return nil
}

func (h *recorder) start(ctx context.Context, streaming bool) context.Context {
	if outer := h.run(ctx); outer != nil {
		if outer.nested {
			return ctx
		}
		return context.WithValue(ctx, ownerKey{h}, &ownedRun{record: outer.record, nested: true})
	}
	f := h.future.Value()
	if f == nil {
		return ctx
	}
	record := weak.Make(f.begin(streaming))
	outer, _ := ctx.Value(recordsKey{}).(*activeRecords)
	ctx = context.WithValue(ctx, recordsKey{}, &activeRecords{record: record, outer: outer})
	return context.WithValue(ctx, ownerKey{h}, &ownedRun{record: record})
}

func (h *recorder) end(ctx context.Context, err error) {
	run := h.run(ctx)
	if run == nil || run.nested {
		return
	}
	if r := run.record.Value(); r != nil {
		r.end(err)
	}
}

func (h *recorder) OnStart(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
	if isGraph(info) {
		return h.start(ctx, false)
	}
	return ctx
}

func (h *recorder) OnStartWithStreamInput(
	ctx context.Context, info *callbacks.RunInfo, input *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	input.Close()
	if isGraph(info) {
		return h.start(ctx, true)
	}
	return ctx
}

func (h *recorder) OnEnd(
	ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput,
) context.Context {
	if isGraph(info) {
		h.end(ctx, nil)
		return ctx
	}
	if r := h.recordOf(ctx); r != nil {
		if out := model.ConvCallbackOutput(output); out != nil && out.Message != nil {
			r.add(recorded{message: out.Message})
		}
	}
	return ctx
}

func (h *recorder) OnEndWithStreamOutput(
	ctx context.Context, info *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	if isGraph(info) {
		output.Close()
		h.end(ctx, nil)
		return ctx
	}
	r := h.recordOf(ctx)
	if r == nil {
		output.Close()
		return ctx
	}
	r.add(recorded{stream: schema.StreamReaderWithConvert(output,
		func(chunk callbacks.CallbackOutput) (*schema.Message, error) {
			if out := model.ConvCallbackOutput(chunk); out != nil && out.Message != nil {
				return out.Message, nil
			}
			return nil, schema.ErrNoValue
		})})
	return ctx
}

func (h *recorder) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	if isGraph(info) {
		h.end(ctx, err)
	}
	return ctx
}
