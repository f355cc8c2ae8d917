package checkpoint_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// What is elsewhere does not count in RunInfo.Bytes, which a rule about 4 MiB looks at: larger ones are.
func TestSpill_Conforms(t *testing.T) {
	conformsInMemory(t, func(s *clockedStore) checkpoint.Store {
		return checkpoint.Spill(s, checkpoint.NewMemoryBlobs(), 5<<20)
	})
}

// namesOf are the names of all large values.
func namesOf(t *testing.T, b checkpoint.Blobs) (names []string) {
	t.Helper()
	for info, err := range b.List(t.Context(), "") {
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	return names
}

// Large values are elsewhere, and gone with what refers to them.
func TestSpill_KeepsLargeValuesElsewhereAndRemovesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain, blobs := checkpoint.NewMemoryStore(), checkpoint.NewMemoryBlobs()
		s := checkpoint.Spill(plain, blobs, 1024)
		large := func(c string) []byte { return []byte(strings.Repeat(c, 2000)) }
		hold := func(id string) runs.Lease {
			_, err := s.Submit(t.Context(), id, runs.Spec{Records: [][]byte{large("b" + id)}})
			require.NoError(t, err)
			l, err := s.Acquire(t.Context(), id, runs.LeaseRequest{TTL: 24 * time.Hour})
			require.NoError(t, err)
			return l
		}
		a := hold("a")
		require.NoError(t, a.AppendRecord(t.Context(), "a", large("r")))
		require.NoError(t, a.AppendRecord(t.Context(), "a", []byte("small")))
		require.NoError(t, a.AppendRecord(t.Context(), "a", []byte("weft-blob\x00{}"))) // looks like one that is elsewhere
		records, err := s.ReadRecords(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, [][]byte{large("ba"), large("r"), []byte("small"), []byte("weft-blob\x00{}")}, records)
		below, err := plain.ReadRecords(t.Context(), "a")
		require.NoError(t, err)
		for _, record := range below {
			require.Less(t, len(record), 512)
		}
		require.Len(t, namesOf(t, blobs), 3)

		require.NoError(t, a.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Checkpoint: large("c"),
			DropRecords: true, Waiting: []runs.Question{{ID: "q"}}}))
		b := hold("b")
		require.NoError(t, b.Settle(t.Context(), runs.Settlement{Status: runs.Done, Result: large("d"), DropRecords: true,
			Keep: 3 * time.Hour}))
		sweep := func() {
			_, err := s.Sweep(t.Context(), 100)
			require.NoError(t, err)
		}
		sweep()
		require.Len(t, namesOf(t, blobs), 6, "what is young may be referred to soon")
		time.Sleep(2 * time.Hour)
		sweep()
		require.Len(t, namesOf(t, blobs), 2, "the checkpoint of one and the result of the other")
		data, _, err := s.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, large("c"), data)
		result, err := s.Result(t.Context(), "b")
		require.NoError(t, err)
		require.Equal(t, large("d"), result)
		time.Sleep(2 * time.Hour)
		sweep() // the second has expired
		require.Len(t, namesOf(t, blobs), 1)
		require.NoError(t, s.Remove(t.Context(), "a", false))
		require.Empty(t, namesOf(t, blobs))
	})
}

// beforeDelete are blobs of which the first is deleted after something else has happened.
type beforeDelete struct {
	checkpoint.Blobs
	do func()
}

func (b *beforeDelete) Delete(ctx context.Context, name string) error {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.Blobs.Delete(ctx, name)
}

// A value that is the same as one that is being deleted stays.
func TestSpill_DeletesNothingThatIsPutMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blobs := &beforeDelete{Blobs: checkpoint.NewMemoryBlobs()}
		s := checkpoint.Spill(checkpoint.NewMemoryStore(), blobs, 512)
		large := bytes.Repeat([]byte("x"), 600)
		put := func() { require.NoError(t, s.Set(t.Context(), "a", large)) }
		stays := func() {
			t.Helper()
			data, _, err := s.Get(t.Context(), "a")
			require.NoError(t, err)
			require.Equal(t, large, data)
		}
		put()
		require.NoError(t, s.Delete(t.Context(), "a"))
		time.Sleep(2 * time.Hour)
		blobs.do = put
		_, err := s.Sweep(t.Context(), 100)
		require.NoError(t, err)
		stays()

		blobs.do = func() {
			put()
			_, err := s.Submit(t.Context(), "a", runs.Spec{})
			require.NoError(t, err)
		}
		require.NoError(t, s.Remove(t.Context(), "a", true))
		stays()
	})
}

func TestSpill_RefusesWhatIsDamagedOrGone(t *testing.T) {
	plain, blobs := checkpoint.NewMemoryStore(), checkpoint.NewMemoryBlobs()
	s := checkpoint.Spill(plain, blobs, 512)
	require.NoError(t, s.Set(t.Context(), "a", bytes.Repeat([]byte("x"), 600)))
	name := namesOf(t, blobs)[0]
	require.NoError(t, blobs.Put(t.Context(), name, []byte("other")))
	_, _, err := s.Get(t.Context(), "a")
	require.ErrorIs(t, err, checkpoint.ErrBlobDamaged)
	require.NoError(t, blobs.Delete(t.Context(), name))
	_, _, err = s.Get(t.Context(), "a")
	require.ErrorIs(t, err, runs.ErrNotFound)
	require.Panics(t, func() { checkpoint.Spill(plain, blobs, 100) })
	require.Panics(t, func() { checkpoint.Spill(plain, nil, 512) })
}

func TestFileBlobs_KeepValues(t *testing.T) {
	dir := t.TempDir()
	b, err := checkpoint.NewFileBlobs(dir)
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), "run/a", []byte("one")))
	require.NoError(t, b.Put(t.Context(), "run/a", []byte("one")))
	require.NoError(t, b.Put(t.Context(), "other/a", nil))
	again, err := checkpoint.NewFileBlobs(dir)
	require.NoError(t, err)
	data, err := again.Get(t.Context(), "run/a")
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	var names []string
	for info, err := range again.List(t.Context(), "run/") {
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), info.Put, time.Minute)
		names = append(names, info.Name)
	}
	require.Equal(t, []string{"run/a"}, names)
	for range 2 {
		require.NoError(t, again.Delete(t.Context(), "run/a"))
	}
	_, err = again.Get(t.Context(), "run/a")
	require.ErrorIs(t, err, runs.ErrNotFound)
	require.Error(t, b.Put(t.Context(), "../out", nil))
}
