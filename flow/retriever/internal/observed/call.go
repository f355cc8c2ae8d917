// Package observed calls user functions between their callbacks.
//
// The retrievers of flow use it for the steps that they take outside a graph. It must never let a panic through: what
// panics fails the call.
package observed

import (
	"context"
	"errors"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/compose"
	engine "github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
)

// Call runs f for info: the handlers of ctx are called at its start with input, and at its end.
func Call[I, O any](
	ctx context.Context, info *callbacks.RunInfo, input I, f func(ctx context.Context) (O, error),
) (out O, err error) {
	ctx = engine.Reuse(ctx, info)
	if s := engine.FromContext(ctx); s.Active() {
		ctx = engine.WithState(ctx, s.Started())
	}
	ctx, err = engine.FireStart(ctx, input)
	if err != nil {
		return out, err
	}
	if out, err = guarded(ctx, f); err != nil {
		if _, panicked := engine.FireError(ctx, err); panicked != nil {
			err = errors.Join(err, panicked)
		}
		return out, err
	}
	_, err = engine.FireEnd(ctx, out)
	return out, err
}

func guarded[O any](ctx context.Context, f func(ctx context.Context) (O, error)) (out O, err error) {
	defer safe.Recover(&err)
	return f(ctx)
}

// Fuse calls a function that makes one list of several; it shows as a lambda.
func Fuse[I, O any](ctx context.Context, results I, fuse func(context.Context, I) (O, error)) (O, error) {
	info := &callbacks.RunInfo{Name: "FusionFuncLambda", Type: "FusionFunc", Component: compose.ComponentOfLambda}
	return Call(ctx, info, results, func(ctx context.Context) (O, error) { return fuse(ctx, results) })
}
