package observed

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
)

var errBoom = errors.New("boom")

func failing(context.Context) (int, error)   { return 0, errBoom }
func panicking(context.Context) (int, error) { panic(errBoom) }
func fine(context.Context) (int, error)      { return 7, nil }

func TestCall_WithoutHandlers(t *testing.T) {
	info := &callbacks.RunInfo{Name: "n"}
	out, err := Call(context.Background(), info, "in", fine)
	require.NoError(t, err)
	require.Equal(t, 7, out)
	for _, f := range []func(context.Context) (int, error){failing, panicking} {
		_, err = Call(context.Background(), info, "in", f)
		require.ErrorIs(t, err, errBoom)
	}
}

// A handler that panics fails the call; what failed before stays to be found.
func TestCall_HandlersThatPanic(t *testing.T) {
	errHandler := errors.New("handler")
	h := callbacks.NewHandlerBuilder().
		OnEndFn(func(context.Context, *callbacks.RunInfo, callbacks.CallbackOutput) context.Context { panic(errHandler) }).
		OnErrorFn(func(context.Context, *callbacks.RunInfo, error) context.Context { panic(errHandler) }).
		Build()
	ctx := callbacks.InitCallbacks(context.Background(), nil, h)
	_, err := Call(ctx, &callbacks.RunInfo{}, "in", fine)
	require.ErrorIs(t, err, errHandler)
	for _, f := range []func(context.Context) (int, error){failing, panicking} {
		_, err = Call(ctx, &callbacks.RunInfo{}, "in", f)
		require.ErrorIs(t, err, errHandler)
		require.ErrorIs(t, err, errBoom)
	}
}

// What the function calls is not reported as part of this call, and what a handler puts into the context is there.
func TestCall_TheContextOfTheFunction(t *testing.T) {
	type key struct{}
	var infos []*callbacks.RunInfo
	h := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
	) context.Context {
		infos = append(infos, info)
		return context.WithValue(ctx, key{}, "v")
	}).Build()
	ctx := callbacks.InitCallbacks(context.Background(), &callbacks.RunInfo{Name: "outer"}, h)
	_, err := Call(ctx, &callbacks.RunInfo{Name: "own"}, "in", func(ctx context.Context) (any, error) {
		callbacks.OnStart(ctx, 1)
		return ctx.Value(key{}), nil
	})
	require.NoError(t, err)
	require.Len(t, infos, 2)
	require.Equal(t, "own", infos[0].Name)
	require.Nil(t, infos[1])
}
