package reduction_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/local"
	"github.com/weftgo/weft/adk/middlewares/reduction"
	"github.com/weftgo/weft/schema"
)

// spillBackend takes one file piece by piece.
type spillBackend struct {
	text      strings.Builder
	path      string
	closed    int
	createErr error
	writeErr  error

	ctx        context.Context
	ctxAtClose error
}

func (b *spillBackend) Write(p []byte) (int, error) {
	if b.writeErr != nil {
		return 0, b.writeErr
	}
	return b.text.Write(p)
}

func (b *spillBackend) Close() error {
	b.closed++
	b.ctxAtClose = b.ctx.Err()
	return nil
}

// spillFiles is the backend around the file: both have a method Write.
type spillFiles struct{ *spillBackend }

func (spillFiles) Write(context.Context, *filesystem.WriteRequest) error {
	return errors.New("the whole was written at once")
}

func (f spillFiles) Create(ctx context.Context, path string) (io.WriteCloser, error) {
	f.ctx, f.path = ctx, path
	return f.spillBackend, f.createErr
}

// much is more than is held in memory.
var much = strings.Repeat("0123456789abcdef", 1<<16+1)

// Rule batteries/B13.33.
func TestTruncate_StreamsToTheBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &spillBackend{}
		m := middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 3})
		r, w := schema.Pipe[string](10)
		s, err := streamText(t, m, r)
		require.NoError(t, err)
		for _, chunk := range []string{"ab", "cd", "", much} {
			w.Send(chunk, nil)
		}
		chunk, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, "ab", chunk)
		synctest.Wait()
		require.True(t, "abcd"+much == b.text.String(), "while the stream flows")
		w.Send("gh", nil)
		w.Close()
		rest, err := items(s)
		require.NoError(t, err)
		require.Len(t, rest, 1)
		require.True(t, strings.HasPrefix(rest[0], "c<persisted-output>"), rest[0])
		require.Contains(t, rest[0], "Full output saved to: "+b.path)
		require.True(t, "abcd"+much+"gh" == b.text.String())
		require.Equal(t, 1, b.closed)
	})
}

// Rule batteries/B13.33.
func TestTruncate_StreamBackendFails(t *testing.T) {
	boom := errors.New("boom")
	for name, b := range map[string]*spillBackend{"create": {createErr: boom}, "write": {writeErr: boom}} {
		t.Run(name, func(t *testing.T) {
			s, err := streamText(t, middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 1}),
				schema.StreamReaderFromArray([]string{"ab", much, "cd"}))
			require.NoError(t, err)
			got, err := items(s)
			require.NoError(t, err)
			require.Contains(t, strings.Join(got, ""), "Failed to save full output: boom.")
		})
	}
	b := &spillBackend{}
	s, err := streamText(t, middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 1}),
		broken("ab", much, "cd"))
	require.NoError(t, err)
	got, err := items(s)
	require.ErrorIs(t, err, errBoom, "that of the source")
	require.Len(t, got, 1)
	require.True(t, strings.HasPrefix(got[0], "a<persisted-output>"))
	require.Contains(t, got[0], "Full output saved to: "+b.path)
	require.True(t, "ab"+much+"cd" == b.text.String())
	require.Equal(t, 1, b.closed)
	require.NoError(t, b.ctxAtClose, "it is complete")
}

// What was held in memory when the source failed is not lost, and makes no file.
// Rule batteries/RT-8.
func TestTruncate_WithAStreamBackend(t *testing.T) {
	b := &spillBackend{}
	s, err := streamText(t, middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 3}),
		broken("a", "bcd", "e"))
	require.NoError(t, err)
	got, err := items(s)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"a", "bcde"}, got)
	require.Empty(t, b.path)
}

// Rule batteries/B13.33.
func TestTruncate_BundledBackends(t *testing.T) {
	onDisk, err := local.NewBackend(t.Context(), &local.Config{Root: t.TempDir(), Mount: "/"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, onDisk.Close()) })
	for name, backend := range map[string]filesystem.Backend{"memory": filesystem.NewInMemoryBackend(), "local": onDisk} {
		t.Run(name, func(t *testing.T) {
			require.Implements(t, (*reduction.StreamBackend)(nil), backend)
			m := middleware(t, &reduction.Config{Backend: backend, MaxLengthForTrunc: 3})
			s, err := streamText(t, m, schema.StreamReaderFromArray([]string{"ab", much, "cd"}))
			require.NoError(t, err)
			_, err = items(s)
			require.NoError(t, err)
			got, err := backend.Read(t.Context(), &filesystem.ReadRequest{FilePath: "/tmp/trunc/id"})
			require.NoError(t, err)
			require.True(t, "ab"+much+"cd" == got.Content)
		})
	}
}

// Rule batteries/B13.33.
func TestTruncate_ReaderGoneWhileItStreamsToTheBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &spillBackend{}
		r, w := schema.Pipe[string](10)
		s, err := streamText(t, middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 1}), r)
		require.NoError(t, err)
		w.Send("ab", nil)
		w.Send(much, nil)
		synctest.Wait()
		s.Close()
		synctest.Wait()
		require.Equal(t, 1, b.closed)
		require.ErrorIs(t, b.ctxAtClose, context.Canceled, "the file is not wanted any more")
		require.True(t, w.Send("more", nil))
	})
}
