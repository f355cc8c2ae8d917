package adk

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// goldenRun is a run of this release that a tool of an agent inside a sequence has interrupted.
const goldenRun = "testdata/run-v1.golden"

func goldenRunner(t *testing.T, store CheckPointStore) *Runner {
	t.Helper()
	before := newOrdinary(t, "before", &replies{all: []*schema.Message{schema.AssistantMessage("first", nil)}})
	asking := newOrdinary(t, "asking", recall(callOf("ask", "c1", "x"), schema.AssistantMessage("done", nil)),
		askTool("ask"))
	seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{before, asking}})
	require.NoError(t, err)
	return NewRunner(t.Context(), RunnerConfig{Agent: seq, CheckPointStore: store})
}

// TestRunner_GoldenCheckpoint: what this release has saved can be resumed. WEFT_WRITE_GOLDEN=1 writes the file again,
// which is for a new format only: files of released formats stay.
func TestRunner_GoldenCheckpoint(t *testing.T) {
	if os.Getenv("WEFT_WRITE_GOLDEN") != "" {
		store := memory{}
		drainAll(t, goldenRunner(t, store).Query(t.Context(), "hi", WithCheckPointID("1"),
			WithSessionValues(map[string]any{"user": "me"})))
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(goldenRun, store["1"], 0o644))
	}
	data, err := os.ReadFile(goldenRun)
	require.NoError(t, err)
	saved, err := openRun(data)
	require.NoError(t, err)
	targets := map[string]any{}
	for _, p := range saved.Points {
		if p.Address[len(p.Address)-1].Type == AddressSegmentTool {
			targets[p.ID] = "yes"
		}
	}
	require.Len(t, targets, 1)
	it, err := goldenRunner(t, memory{"1": data}).ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: targets})
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"asking: answered yes", "asking: done"}, texts)
}

// goldenJournal is the journal of a run of this release whose process died in its second tool call: a JSON array of the
// records.
const goldenJournal = "testdata/journal-v3.golden"

// TestRunner_GoldenJournal: a run whose steps this release has recorded continues behind them.
// Rule distributed/J8.
func TestRunner_GoldenJournal(t *testing.T) {
	var looked, paid int
	left := new(atomic.Int32)
	left.Store(1000)
	look := &toolFunc{"look", func(context.Context, string) (string, error) { looked++; return "seen", nil }}
	pay := &toolFunc{"pay", func(context.Context, string) (string, error) {
		paid++
		left.Store(0)
		return "paid", nil
	}}
	runner := func(store CheckPointStore) *Runner {
		return NewRunner(t.Context(), RunnerConfig{CheckPointStore: store, Durability: EveryStep, Agent: newOrdinary(t, "a",
			recall(callOf("look", "c1", "{}"), callOf("pay", "c2", `{"amount":40}`), chatAnswer("done")), look, pay)})
	}
	if os.Getenv("WEFT_WRITE_GOLDEN") != "" {
		store := checkpoint.NewMemoryStore()
		err := lastError(runner(dyingJournal{store, left}).Query(t.Context(), "hi", WithCheckPointID("1")))
		require.ErrorIs(t, err, errDied)
		records, err := store.ReadRecords(t.Context(), "1")
		require.NoError(t, err)
		data, err := json.Marshal(records)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(goldenJournal, data, 0o644))
	}
	data, err := os.ReadFile(goldenJournal)
	require.NoError(t, err)
	var records [][]byte
	require.NoError(t, json.Unmarshal(data, &records))
	store := checkpoint.NewMemoryStore()
	for _, r := range records {
		require.NoError(t, store.AppendRecord(t.Context(), "1", r))
	}
	looked, paid = 0, 0
	points := interruptOf(t, resumed(t, runner(store), nil))
	unknown, ok := points[0].Info.(*OutcomeUnknown)
	require.True(t, ok)
	require.Equal(t, "pay", unknown.ToolName)
	texts, _ := drainAll(t, resumed(t, runner(store), map[string]any{points[0].ID: &ToolOutcome{Result: "paid before"}}))
	require.Equal(t, "a: done", texts[len(texts)-1])
	require.Zero(t, looked+paid, "both calls had been made")
}

func resumed(t *testing.T, r *Runner, targets map[string]any) *AsyncIterator[*AgentEvent] {
	t.Helper()
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: targets})
	require.NoError(t, err)
	return it
}

// TestRunner_DamagedCheckpointsAreErrors: each kind of damage is an error of its own, and none is a panic.
// Rule runtime/R9.
func TestRunner_DamagedCheckpointsAreErrors(t *testing.T) {
	data, err := os.ReadFile(goldenRun)
	require.NoError(t, err)
	resume := func(data []byte) error {
		_, err := goldenRunner(t, memory{"1": data}).Resume(t.Context(), "1")
		return err
	}
	newer := runKind
	newer.Version++
	require.ErrorIs(t, resume(newer.Seal(runCodec, nil)), envelope.ErrNewer)
	require.ErrorIs(t, resume([]byte("something else")), envelope.ErrForeign)
	require.ErrorContains(t, resume(runKind.Seal("other", nil)), `encoded by "other"`)
	for n := 1; n < len(data); n += 97 {
		require.ErrorIs(t, resume(data[:n]), envelope.ErrTruncated, "%d bytes", n)
	}
	for i := 11; i < len(data); i += 53 {
		flipped := append([]byte(nil), data...)
		flipped[i] ^= 4
		require.Error(t, resume(flipped), "byte %d", i)
	}
	_, err = goldenRunner(t, memory{}).Resume(t.Context(), "1")
	require.EqualError(t, err, "failed to load from checkpoint: checkpoint[1] not exist")
	require.ErrorIs(t, err, runs.ErrNotFound)
	_, err = goldenRunner(t, nil).Resume(t.Context(), "1")
	require.ErrorIs(t, err, ErrCheckpointStoreNil)
}

// FuzzOpenRun: bytes that the runner has not written are an error.
func FuzzOpenRun(f *testing.F) {
	if data, err := os.ReadFile(goldenRun); err == nil {
		f.Add(data)
	}
	f.Add(runKind.Seal(runCodec, []byte("no gob")))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if d, err := openRun(data); err == nil {
			_, _, _ = d.points()
			_, _ = d.values()
			_, _ = inputIn[Message](d)
			_, _ = restoreItems[Message](d.History)
		}
	})
}

// TestRunner_UnregisteredValuesAreNamed: the error names what cannot be saved, and the interrupt is emitted all the
// same.
// Rule runtime/R17.
func TestRunner_UnregisteredValuesAreNamed(t *testing.T) {
	type mine struct{ A int }
	agent := newOrdinary(t, "a", recall(callOf("ask", "c1", "x")), askTool("ask"))
	r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: memory{}})
	var errs []error
	interrupted := false
	for e := range r.Query(context.Background(), "hi", WithCheckPointID("1"),
		WithSessionValues(map[string]any{"key": mine{1}})).All() {
		if e.Err != nil {
			errs = append(errs, e.Err)
		}
		interrupted = e.Action != nil && e.Action.Interrupted != nil
	}
	require.True(t, interrupted)
	require.ErrorContains(t, errors.Join(errs...), `failed to save checkpoint: session value "key"`)
}

// TestCancel_ARefusedRunHasEnded: waiting for the cancel of a run that could not begin returns.
func TestCancel_ARefusedRunHasEnded(t *testing.T) {
	option, cancel := WithCancel()
	for range NewRunner(t.Context(), RunnerConfig{}).Query(t.Context(), "hi", option).All() { //nolint:revive // to its end
	}
	handle, _ := cancel()
	require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)
	option, cancel = WithCancel()
	_, err := goldenRunner(t, memory{}).Resume(t.Context(), "none", option)
	require.Error(t, err)
	handle, _ = cancel()
	require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)
}

// A checkpoint of Eino is recognised, and the error says what to do.
func TestRunner_CheckpointsOfEino(t *testing.T) {
	type serialization struct { // what a checkpoint of its runner looks like from outside
		RunCtx              *struct{ RunPath []string }
		EnableStreaming     bool
		InterruptID2Address map[string][]string
		InterruptID2State   map[string]struct{ State []byte }
	}
	var saved bytes.Buffer
	require.NoError(t, gob.NewEncoder(&saved).Encode(&serialization{InterruptID2Address: map[string][]string{"1": {"a"}}}))
	for name, data := range map[string][]byte{
		"runner": saved.Bytes(),
		"graph":  []byte(`{"Type":{"PointerNum":1,"StructType":"_eino_checkpoint"},"MapValues":{"State":null}}`),
	} {
		_, err := goldenRunner(t, memory{"1": data}).Resume(t.Context(), "1")
		require.ErrorContains(t, err, "failed to decode checkpoint: it was written by Eino", name)
		require.ErrorContains(t, err, "finish the runs that are pending with Eino first")
		require.ErrorIs(t, err, envelope.ErrForeign)
	}
}
