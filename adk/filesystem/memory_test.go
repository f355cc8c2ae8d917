package filesystem_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/internal/conformance"
)

// TestInMemoryBackend runs the tests that all bundled backends have to pass. What only this backend promises is below.
func TestInMemoryBackend(t *testing.T) {
	conformance.Run(t, func(*testing.T) conformance.Backend { return filesystem.NewInMemoryBackend() })
}

// Rules batteries/IM-2, batteries/IM-11, batteries/IM-12.
func TestInMemoryBackend_WritesAndEditsSetModifiedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, b := t.Context(), filesystem.NewInMemoryBackend()
		stamp := func() string { return time.Now().Format(time.RFC3339Nano) }
		ls := func(path string) (at string) {
			got, err := b.LsInfo(ctx, &filesystem.LsInfoRequest{Path: path})
			require.NoError(t, err)
			require.Len(t, got, 1)
			return got[0].ModifiedAt
		}

		require.NoError(t, b.Write(ctx, &filesystem.WriteRequest{FilePath: "/d/old", Content: "x"}))
		first := stamp()
		time.Sleep(time.Hour)
		require.NoError(t, b.Write(ctx, &filesystem.WriteRequest{FilePath: "/d/sub/new", Content: "x"}))
		second := stamp()
		require.Equal(t, first, ls("/d/old"), "the time of the write")
		require.Equal(t, second, ls("/"), "a directory is as new as the newest file below it")

		time.Sleep(time.Hour)
		require.NoError(t, b.Edit(ctx, &filesystem.EditRequest{FilePath: "/d/old", OldString: "x", NewString: "y"}))
		require.Equal(t, stamp(), ls("/d/old"), "an edit counts")
		require.Equal(t, stamp(), ls("/"))
	})
}

// A write without a path, which a model may well ask for, makes a file at the top. It must not hide the others.
// Rule batteries/IM-2.
func TestInMemoryBackend_AFileAtTheTopHidesNoOther(t *testing.T) {
	ctx, b := t.Context(), filesystem.NewInMemoryBackend()
	for _, path := range []string{"", "/d", "/d/f"} {
		require.NoError(t, b.Write(ctx, &filesystem.WriteRequest{FilePath: path, Content: "at " + path}))
	}
	for path, want := range map[string][]string{"/": {"d", "d"}, "/d": {"f"}, "/d/f": {"f"}} {
		got, err := b.LsInfo(ctx, &filesystem.LsInfoRequest{Path: path})
		require.NoError(t, err)
		var names []string
		for _, info := range got {
			names = append(names, info.Path)
		}
		require.Equal(t, want, names, path)
	}
	matches, err := b.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "at"})
	require.NoError(t, err)
	require.Len(t, matches, 3, "nothing is searched twice")
}

func TestInMemoryBackend_NulBytesAreText(t *testing.T) {
	ctx, b := t.Context(), filesystem.NewInMemoryBackend()
	require.NoError(t, b.Write(ctx, &filesystem.WriteRequest{FilePath: "/f", Content: "a\x00b\n"}))
	got, err := b.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "b"})
	require.NoError(t, err)
	require.Equal(t, []filesystem.GrepMatch{{Content: "a\x00b", Path: "/f", Line: 1}}, got)
}

// TestInMemoryBackend_ConcurrentUse is for the race detector, and for the deadlock of a search that locks again while
// a writer waits.
// Rules batteries/B13.11, batteries/IM-13.
func TestInMemoryBackend_ConcurrentUse(t *testing.T) {
	ctx, b := t.Context(), filesystem.NewInMemoryBackend()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				p := fmt.Sprintf("/d%d/f%d", i%4, n%5)
				_ = b.Write(ctx, &filesystem.WriteRequest{FilePath: p, Content: "one\ntwo\n"})
				_ = b.Edit(ctx, &filesystem.EditRequest{FilePath: p, OldString: "two", NewString: "three"})
				_, _ = b.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "t", BeforeLines: 1, AfterLines: 1})
				_, _ = b.LsInfo(ctx, &filesystem.LsInfoRequest{})
				_, _ = b.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: "**"})
				_ = b.Delete(ctx, &filesystem.DeleteRequest{FilePath: p})
			}
		})
	}
	wg.Wait()
}

// endsAfter is a context that ends when it was asked so many times.
type endsAfter struct {
	context.Context
	checks int
}

func (c *endsAfter) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

// Rule batteries/B13.29.
func TestInMemoryBackend_GrepSortsByPathAndObeysItsContext(t *testing.T) {
	b := filesystem.NewInMemoryBackend()
	for i := range 20 {
		require.NoError(t, b.Write(t.Context(),
			&filesystem.WriteRequest{FilePath: fmt.Sprintf("/%02d", 19-i), Content: "x\n"}))
	}
	matches, err := b.GrepRaw(t.Context(), &filesystem.GrepRequest{Pattern: "x"})
	require.NoError(t, err)
	require.Len(t, matches, 20)
	for i, m := range matches {
		require.Equal(t, fmt.Sprintf("/%02d", i), m.Path, "by path")
	}
	_, err = b.GrepRaw(&endsAfter{Context: t.Context(), checks: 10}, &filesystem.GrepRequest{Pattern: "x"})
	require.ErrorIs(t, err, context.Canceled, "while it searches")
}

func ExampleInMemoryBackend() {
	ctx := context.Background()
	var backend filesystem.Backend = filesystem.NewInMemoryBackend()

	_ = backend.Write(ctx, &filesystem.WriteRequest{FilePath: "/notes/todo.md", Content: "- buy milk\n- write tests\n"})
	_ = backend.Edit(ctx, &filesystem.EditRequest{FilePath: "/notes/todo.md", OldString: "milk", NewString: "bread"})
	matches, _ := backend.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "buy|sell", Glob: "*.md"})
	for _, m := range matches {
		fmt.Printf("%s:%d: %s\n", m.Path, m.Line, m.Content)
	}
	// Output: /notes/todo.md:1: - buy bread
}
