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
}

func (b *spillBackend) Write(p []byte) (int, error) {
	if b.writeErr != nil {
		return 0, b.writeErr
	}
	return b.text.Write(p)
}

func (b *spillBackend) Close() error { b.closed++; return nil }

// spillFiles is the backend around the file: both have a method Write.
type spillFiles struct{ *spillBackend }

func (spillFiles) Write(context.Context, *filesystem.WriteRequest) error {
	return errors.New("the whole was written at once")
}

func (f spillFiles) Create(_ context.Context, path string) (io.WriteCloser, error) {
	f.path = path
	return f.spillBackend, f.createErr
}

func TestTruncate_Row33_StreamsToTheBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &spillBackend{}
		m := middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 3})
		r, w := schema.Pipe[string](10)
		s, err := streamText(t, m, r)
		require.NoError(t, err)
		for _, chunk := range []string{"ab", "cd", "", "ef"} {
			w.Send(chunk, nil)
		}
		chunk, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, "ab", chunk)
		synctest.Wait()
		require.Equal(t, "abcdef", b.text.String(), "while the stream flows")
		w.Send("gh", nil)
		w.Close()
		rest, err := items(s)
		require.NoError(t, err)
		require.Len(t, rest, 1)
		require.True(t, strings.HasPrefix(rest[0], "c<persisted-output>"), rest[0])
		require.Contains(t, rest[0], "Full output saved to: "+b.path)
		require.Equal(t, "abcdefgh", b.text.String())
		require.Equal(t, 1, b.closed)
	})
}

func TestTruncate_Row33_Failures(t *testing.T) {
	boom := errors.New("boom")
	for name, b := range map[string]*spillBackend{"create": {createErr: boom}, "write": {writeErr: boom}} {
		t.Run(name, func(t *testing.T) {
			s, err := streamText(t, middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 1}), schema.StreamReaderFromArray([]string{"ab", "cd"}))
			require.NoError(t, err)
			got, err := items(s)
			require.NoError(t, err)
			require.Contains(t, strings.Join(got, ""), "Failed to save full output: boom.")
		})
	}
	b := &spillBackend{}
	s, err := streamText(t, middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 1}), broken("ab", "cd"))
	require.NoError(t, err)
	got, err := items(s)
	require.Error(t, err, "that of the source")
	require.Len(t, got, 1)
	require.Contains(t, got[0], "Full output saved to: "+b.path)
	require.Equal(t, "abcd", b.text.String())
	require.Equal(t, 1, b.closed)
}

func TestTruncate_Row33_ReaderGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &spillBackend{}
		r, w := schema.Pipe[string](10)
		s, err := streamText(t, middleware(t, &reduction.Config{Backend: spillFiles{b}, MaxLengthForTrunc: 1}), r)
		require.NoError(t, err)
		w.Send("ab", nil)
		synctest.Wait()
		s.Close()
		synctest.Wait()
		require.Equal(t, 1, b.closed)
		require.True(t, w.Send("more", nil))
	})
}
