package dispatch_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
)

// TestWork_LeavesWhatANewerReleaseHasWrittenToOthers: an older worker changes nothing of a run whose journal it cannot
// read, as during an upgrade. Rules distributed/J8.
func TestWork_LeavesWhatANewerReleaseHasWrittenToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		job := jobOf("1", "a")
		run, err := job.NewRun()
		require.NoError(t, err)
		newer := ofNextFormat(run.Records[0])
		require.NotEqual(t, run.Records[0], newer)
		run.Records[0] = newer
		_, err = store.Submit(t.Context(), "1", run)
		require.NoError(t, err)

		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a"))}}
		_, err = dispatch.New(store, conf).Execute(t.Context(), "1")
		require.ErrorIs(t, err, runs.ErrNewerFormat)
		var record *runs.DamageError
		require.ErrorAs(t, err, &record)
		require.Equal(t, "1", record.Run)
		require.Equal(t, 1, record.Record)
		require.Len(t, record.Life, 16)

		_, stop := working(t, store, conf, dispatch.WorkerConfig{})
		defer stop()
		time.Sleep(time.Minute)
		info, _, err := store.Inspect(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Ready, info.Status)
		there, err := store.ReadRecords(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, [][]byte{newer}, there)
	})
}

// ofNextFormat is a record as the next format would have it: the record, its sum over that and the mark, and the mark.
func ofNextFormat(record []byte) []byte {
	n := len(record) - 7
	mark := bytes.Clone(record[n+4:])
	mark[2]++
	sum := crc32.Checksum(append(bytes.Clone(record[:n]), mark...), crc32.MakeTable(crc32.Castagnoli))
	return append(binary.LittleEndian.AppendUint32(bytes.Clone(record[:n]), sum), mark...)
}

// TestWork_KeepsAnswersOfTypesThatItDoesNotKnow for workers that know them.
func TestWork_KeepsAnswersOfTypesThatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		ask := toolNamed(t, "ask", func(ctx context.Context) (string, error) { return "", tool.Interrupt(ctx, "may I?") })
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a", ask))}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		o, err := d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Waiting, o.Status)
		answer, err := runs.EncodeReply(o.Questions[0].ID, urgent{Until: time.Now()})
		require.NoError(t, err)
		answer.Data = bytes.ReplaceAll(answer.Data, []byte("_weft_dispatch_test_urgent"), []byte("type_of_others"))
		require.NoError(t, d.Reply(t.Context(), "1", answer))

		_, err = d.Execute(t.Context(), "1")
		require.ErrorIs(t, err, runs.ErrUnknownType)
		lease, err := store.Acquire(t.Context(), "1", runs.LeaseRequest{})
		require.NoError(t, err)
		require.Equal(t, runs.Ready, lease.Info().Status)
		kept, err := lease.Replies(t.Context())
		require.NoError(t, err)
		require.Len(t, kept, 1)
		require.Equal(t, answer.Data, kept[0].Data)
	})
}

// TestWork_LeavesWhatItHasNoKeyForToOthers. Rules distributed/X3.
func TestWork_LeavesWhatItHasNoKeyForToOthers(t *testing.T) {
	plain := checkpoint.NewMemoryStore()
	sealed := func(key string) runs.Store {
		return checkpoint.Seal(plain, checkpoint.OneKey(key, bytes.Repeat([]byte{1}, 32)))
	}
	agents := dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a"))}
	_, err := dispatch.New(sealed("new"), dispatch.Config{}).Submit(t.Context(), jobOf("1", "a"))
	require.NoError(t, err)
	_, err = dispatch.New(sealed("old"), dispatch.Config{Agents: agents}).Execute(t.Context(), "1")
	require.ErrorIs(t, err, checkpoint.ErrNoKey)
	require.ErrorContains(t, err, `"new"`)
	info, _, err := plain.Inspect(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, runs.Ready, info.Status)
}
