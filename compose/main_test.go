package compose

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// suffix is a lambda that appends to a string.
func suffix(s string) *Lambda {
	return InvokableLambda(func(_ context.Context, in string) (string, error) { return in + s, nil })
}

// streamSuffix appends to every chunk.
func streamSuffix(s string) *Lambda {
	return TransformableLambda(func(
		_ context.Context, in *schema.StreamReader[string],
	) (*schema.StreamReader[string], error) {
		return schema.StreamReaderWithConvert(in, func(chunk string) (string, error) { return chunk + s, nil }), nil
	})
}

// keyedSuffix gives map[string]any{key: in + s}, so that several of them can be merged.
func keyedSuffix(key string) *Lambda {
	return InvokableLambda(func(_ context.Context, in string) (map[string]any, error) {
		return map[string]any{key: in + key}, nil
	})
}

// line connects nodes one after another, from START to END.
func line(t *testing.T, g interface {
	AddEdge(string, string) error
}, keys ...string) {
	t.Helper()
	keys = append(append([]string{START}, keys...), END)
	for i := range keys[1:] {
		require.NoError(t, g.AddEdge(keys[i], keys[i+1]))
	}
}

func compiled[I, O any](t *testing.T, g interface {
	Compile(context.Context, ...GraphCompileOption) (Runnable[I, O], error)
}, opts ...GraphCompileOption) Runnable[I, O] {
	t.Helper()
	r, err := g.Compile(context.Background(), opts...)
	require.NoError(t, err)
	return r
}

// forms4 runs a runnable in all four forms and requires the same result of each.
func forms4[I, O any](t *testing.T, r Runnable[I, O], in I, want O, opts ...Option) {
	t.Helper()
	ctx := context.Background()
	out, err := r.Invoke(ctx, in, opts...)
	require.NoError(t, err)
	require.Equal(t, want, out, "Invoke")
	s, err := r.Stream(ctx, in, opts...)
	require.NoError(t, err)
	out, err = concatStream(s)
	require.NoError(t, err)
	require.Equal(t, want, out, "Stream")
	out, err = r.Collect(ctx, singleOf(in), opts...)
	require.NoError(t, err)
	require.Equal(t, want, out, "Collect")
	s, err = r.Transform(ctx, singleOf(in), opts...)
	require.NoError(t, err)
	out, err = concatStream(s)
	require.NoError(t, err)
	require.Equal(t, want, out, "Transform")
}

// fails runs a runnable as values and as streams and returns the two errors.
func fails[I, O any](t *testing.T, r Runnable[I, O], in I, opts ...Option) []error {
	t.Helper()
	_, invokeErr := r.Invoke(context.Background(), in, opts...)
	require.Error(t, invokeErr, "Invoke")
	s, streamErr := r.Stream(context.Background(), in, opts...)
	if streamErr == nil {
		_, streamErr = concatStream(s)
	}
	require.Error(t, streamErr, "Stream")
	return []error{invokeErr, streamErr}
}

// store is an in-memory checkpoint store.
type store struct {
	mu      sync.Mutex
	data    map[string][]byte
	sets    int
	deleted []string
	fail    error
}

func newStore() *store { return &store{data: map[string][]byte{}} }

func (s *store) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.data[id]
	return data, ok, s.fail
}

func (s *store) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.sets++
	s.data[id] = data
	return nil
}

func (s *store) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = append(s.deleted, id)
	delete(s.data, id)
	return nil
}

// interrupted requires that err is an interrupt.
func interrupted(t *testing.T, err error) *InterruptInfo {
	t.Helper()
	info, ok := ExtractInterruptInfo(err)
	require.True(t, ok, "not an interrupt: %v", err)
	return info
}

// tracked is a stream that says when it was closed.
func tracked(chunks ...string) (*schema.StreamReader[string], <-chan struct{}) {
	sr, sw := schema.Pipe[string](0)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer sw.Close()
		for _, c := range chunks {
			if sw.Send(c, nil) {
				return
			}
		}
	}()
	return sr, closed
}

func readAll[T any](t *testing.T, s *schema.StreamReader[T]) []T {
	t.Helper()
	defer s.Close()
	var all []T
	for {
		v, err := s.Recv()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, v)
	}
}
