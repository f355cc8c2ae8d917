package runlog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Rule runlog/RL8.
func TestMemoryStore_IsAStore(t *testing.T) {
	runlogtest.Run(t, func(*testing.T) runlog.Store { return runlog.NewMemoryStore() })
}

// Rule runlog/RL8.
func TestFileStore_IsAStore(t *testing.T) {
	runlogtest.Run(t, func(t *testing.T) runlog.Store {
		s, err := runlog.NewFileStore(t.TempDir())
		require.NoError(t, err)
		return s
	})
}

// A line that a crash has cut off is not there, and the next event takes its place.
func TestFileStore_CutsATornLine(t *testing.T) {
	dir := t.TempDir()
	s, err := runlog.NewFileStore(dir)
	require.NoError(t, err)
	events := []runlog.Event{said(1, "one"), said(2, "two"), said(3, "three")}
	require.NoError(t, s.Append(t.Context(), "run", events[:2]))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for cut := range len(whole) {
		require.NoError(t, os.WriteFile(files[0], whole[:cut], 0o600))
		var seqs []uint64
		for e, err := range s.Read(t.Context(), "run", runs.Cursor{}) {
			require.NoError(t, err)
			seqs = append(seqs, e.Seq)
		}
		require.NoError(t, s.Append(t.Context(), "run", events))
		n := uint64(0)
		for e, err := range s.Read(t.Context(), "run", runs.Cursor{}) {
			require.NoError(t, err)
			n++
			require.Equal(t, n, e.Seq, "cut at %d, before %v", cut, seqs)
		}
		require.Equal(t, uint64(3), n)
	}
}

// TestFileStore_OfTwoProcessesThatWriteOneRunOneGoesOn: the one that has lost the run is refused, and neither of them harms
// what the other one writes.
// Rules runlog/RL8, runlog/E4.
func TestFileStore_OfTwoProcessesThatWriteOneRunOneGoesOn(t *testing.T) {
	const each = 300
	dir := t.TempDir()
	open := func() *runlog.FileStore {
		s, err := runlog.NewFileStore(dir)
		require.NoError(t, err)
		return s
	}
	var both sync.WaitGroup
	write := func(token uint64) {
		s := open()
		both.Go(func() {
			for seq := range uint64(each) {
				e := said(seq+1, strings.Repeat("text ", int(seq)))
				e.Token = token
				if err := s.Append(t.Context(), "run", []runlog.Event{e}); errors.Is(err, runlog.ErrOvertaken) {
					return
				} else if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	write(1)
	write(2)
	both.Wait()
	next := map[uint64]uint64{}
	var last runs.Cursor
	for e, err := range open().Read(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		require.Positive(t, e.Cursor().Compare(last))
		last = e.Cursor()
		next[e.Token]++
		require.Equal(t, next[e.Token], e.Seq)
	}
	require.Equal(t, runs.Cursor{Token: 2, Seq: each}, last)
}

func said(seq uint64, text string) runlog.Event {
	return runlog.Event{V: 1, Run: "run", Seq: seq, T: 1, Type: runlog.Said, Span: 1,
		Data: &runlog.MessageData{Message: runlog.MessageOf(schema.AssistantMessage(text, nil))}}
}
