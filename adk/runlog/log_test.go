package runlog_test

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// talking is a run whose model streams so many pieces.
func talking(t testing.TB, pieces int) *adk.Runner {
	text := slices.Repeat([]string{"word "}, pieces)
	return adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: true, Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, adktest.Streams(text...).Repeated())})})
}

func finish(t testing.TB, r *adk.Runner, opts ...adk.AgentRunOption) {
	for e := range r.Query(t.Context(), "Hello", opts...).All() {
		require.NoError(t, e.Err)
		if e.Output != nil && e.Output.MessageOutput != nil {
			_, err := e.Output.MessageOutput.GetMessage()
			require.NoError(t, err)
		}
	}
}

// A reader whose position is of another life of a run that has ended gets all messages, and the end.
// Rule runlog/E5.
func TestLog_AReaderThatHasMissedEverythingGetsTheEnd(t *testing.T) {
	log := runlog.New(runlog.Config{})
	finish(t, talking(t, 5), runlog.Observe(log, runlog.About{ID: "run"})...)
	for _, after := range []runs.Cursor{{Token: 99, Seq: 1}, {Seq: 1 << 40}} {
		var types []runlog.Type
		var at runs.Cursor
		for e, err := range log.Events(t.Context(), "run", after) {
			require.NoError(t, err)
			require.Positive(t, e.Cursor().Compare(at))
			types, at = append(types, e.Type), e.Cursor()
		}
		require.Equal(t, []runlog.Type{runlog.Snapshot, runlog.RunEnd}, types)
	}
	require.NoError(t, log.Close(t.Context()))
}

// Rule runlog/RL9.
func TestLog_DropsDeltasFirst(t *testing.T) {
	log := runlog.New(runlog.Config{MaxEvents: 100})
	for range 3 {
		finish(t, talking(t, 250), runlog.Observe(log, runlog.About{ID: "run"})...)
	}
	var got []runlog.Event
	var last uint64
	for e, err := range log.Events(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		if d, ok := e.Data.(*runlog.DroppedData); ok {
			require.Equal(t, last+1, d.From)
			require.Equal(t, e.Seq, d.To)
		} else {
			require.Equal(t, last+1, e.Seq)
		}
		last = e.Seq
		if got = append(got, e); e.Type == runlog.RunEnd && e.Data.(*runlog.RunEndData).ModelCalls == 1 && e.Seq > 750 {
			break
		}
	}
	require.Less(t, len(got), 130)
	require.Contains(t, typesOf(got), "dropped")
	require.Len(t, runlog.Transcript[*schema.Message](got), 1, "a run that takes the ID of another one")
	require.NoError(t, log.Close(t.Context()))
}

// Rule runlog/RL7.
func TestLog_ForgetsARunAfterItLingered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := runlog.New(runlog.Config{Linger: time.Minute})
		finish(t, talking(t, 2), runlog.Observe(log, runlog.About{ID: "run"})...)
		time.Sleep(59 * time.Second)
		require.NotEmpty(t, eventsOf(t, log))
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for e, err := range log.Events(ctx, "run", runs.Cursor{}) {
			require.ErrorIs(t, err, context.DeadlineExceeded, "%v", e)
		}
		require.NoError(t, log.Close(t.Context()))
	})
}

// A run, and readers that read, do not wait for those that do not. All of them cost no more than their place.
//
// Rules runlog/E7, runlog/RL9.
func TestLog_HasAnyNumberOfReaders(t *testing.T) {
	log := runlog.New(runlog.Config{})
	stuck, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var ready sync.WaitGroup
	const readers, slow = 1000, 100
	ready.Add(slow)
	for i := range readers {
		all.Go(func() {
			n := 0
			for e, err := range log.Events(t.Context(), "run", runs.Cursor{}) {
				if err != nil {
					t.Error(err)
				}
				if n++; n == 1 && i < slow {
					ready.Done()
					<-stuck.Done()
				}
				if e.Type == runlog.RunEnd && n < 4 {
					t.Errorf("reader %d got %d events", i, n)
				}
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	finish(t, talking(t, 5000), runlog.Observe(log, runlog.About{ID: "run"})...)
	ready.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<20), "64 KiB a reader")
	stop()
	all.Wait()
	require.NoError(t, log.Close(t.Context()))
}

// stored are the events of a run in a store, as JSON.
func stored(t *testing.T, conf runlog.Config, do func(log *runlog.Log)) []string {
	t.Helper()
	store := runlog.NewMemoryStore()
	conf.Store = store
	log := runlog.New(conf)
	do(log)
	require.NoError(t, log.Close(t.Context()))
	var lines []string
	for e, err := range store.Read(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		data, err := json.Marshal(e)
		require.NoError(t, err)
		lines = append(lines, string(data))
	}
	return lines
}

// Rule runlog/RL7.
func TestLog_StoresWhatThePolicyLeaves(t *testing.T) {
	image := strings.Repeat("QUFB", 2000)
	ask := func(log *runlog.Log) {
		agent := agentOf(t, adk.ChatModelAgentConfig{Model: adktest.NewModel(t,
			adktest.Says("secret").Calling(adktest.Call("weather", `{"city":"secret"}`)), adktest.Says("secret"))},
			toolOf(t, "weather", func(context.Context) (string, error) { return "secret", nil }))
		m := schema.UserMessage("secret")
		m.UserInputMultiContent = []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &image, MIMEType: "image/png"}}}}
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
		for e := range runner.Run(t.Context(), []adk.Message{m}, runlog.Observe(log, runlog.About{ID: "run"})...).All() {
			require.NoError(t, e.Err)
		}
	}
	full := strings.Join(stored(t, runlog.Config{}, ask), "\n")
	require.Contains(t, full, "secret")
	require.NotContains(t, full, image)
	require.Contains(t, full, `"bytes":6000`)
	require.Contains(t, full, `"mime":"image/png"`)
	require.Contains(t, strings.Join(stored(t, runlog.Config{Media: true}, ask), "\n"), image)

	shape := strings.Join(stored(t, runlog.Config{Policy: runlog.Shape}, ask), "\n")
	require.NotContains(t, shape, "secret")
	require.Contains(t, shape, `"shape":{"role":"assistant","chars":6,"calls":["weather"]}`)

	redacted := stored(t, runlog.Config{Redact: func(e runlog.Event) runlog.Event {
		switch e.Type {
		case runlog.RunStart:
			panic("oh")
		case runlog.ModelStart:
			return runlog.Event{}
		}
		e.Data = nil
		return e
	}}, ask)
	require.NotContains(t, strings.Join(redacted, "\n"), "secret")
	require.NotContains(t, strings.Join(redacted, "\n"), "model.start")
	require.Contains(t, strings.Join(redacted, "\n"), "model.end")
}

// Deltas are stored together.
//
// Rules runlog/E2, runlog/E3.
func TestLog_JoinsDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := stored(t, runlog.Config{}, func(log *runlog.Log) {
			text := slices.Repeat([]string{"word "}, 1000)
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: true, Agent: agentOf(t, adk.ChatModelAgentConfig{
				Model: adktest.NewModel(t, adktest.Streams(text...).Every(time.Millisecond))})})
			finish(t, runner, runlog.Observe(log, runlog.About{ID: "run"})...)
		})
		require.Less(t, len(lines), 40)
		require.Greater(t, len(lines), 20)
		var text strings.Builder
		for _, line := range lines {
			var e runlog.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			if d, ok := e.Data.(*runlog.ModelDeltaData); ok {
				text.WriteString(d.Text)
			}
		}
		require.Equal(t, strings.Repeat("word ", 1000), text.String())
	})
}

func TestLog_RemovesRuns(t *testing.T) {
	store := runlog.NewMemoryStore()
	log := runlog.New(runlog.Config{Store: store})
	for _, run := range []string{"a", "b"} {
		finish(t, talking(t, 2), runlog.Observe(log, runlog.About{ID: run})...)
	}
	waiting := said(1, "still here")
	waiting.Run = "c"
	require.NoError(t, store.Append(t.Context(), "c", []runlog.Event{waiting}))
	require.Eventually(t, func() bool {
		a, _, _ := store.Inspect(t.Context(), "a")
		b, _, _ := store.Inspect(t.Context(), "b")
		return a.End == runs.Done && b.End == runs.Done
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, log.Delete(t.Context(), "a"))
	n, err := log.Sweep(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = log.Sweep(t.Context(), -time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, exists, err := store.Inspect(t.Context(), "c")
	require.NoError(t, err)
	require.True(t, exists)
	require.NoError(t, log.Close(t.Context()))
}

func TestLog_IsOfNoUseWhenItIsClosed(t *testing.T) {
	log := runlog.New(runlog.Config{})
	require.NoError(t, log.Close(t.Context()))
	finish(t, talking(t, 2), runlog.Observe(log, runlog.About{ID: "run"})...)
	for e, err := range log.Events(t.Context(), "run", runs.Cursor{}) {
		t.Errorf("a log that is closed has %v, %v", e, err)
	}
	require.NoError(t, log.Close(t.Context()))
}

func TestCursor_HasATextThatIsReadAgain(t *testing.T) {
	for _, c := range []runs.Cursor{{}, {Token: 0x3f, Seq: 118}, {Token: 1<<64 - 1, Seq: 1<<64 - 1}} {
		again, err := runs.ParseCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	}
	require.Equal(t, "3f.118", runs.Cursor{Token: 0x3f, Seq: 118}.String())
	for _, text := range []string{"x", "3f", "3f.", ".1", "3f.1x", "-1.1"} {
		c, err := runs.ParseCursor(text)
		require.Error(t, err, text)
		require.Zero(t, c)
	}
}

// Rule runlog/RL10.
func BenchmarkObserve(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[recorded], func(b *testing.B) {
			log := runlog.New(runlog.Config{Linger: -1})
			runner := talking(b, 1000)
			b.ReportAllocs()
			for b.Loop() {
				var opts []adk.AgentRunOption
				if recorded {
					opts = runlog.Observe(log, runlog.About{ID: "run"})
				}
				finish(b, runner, opts...)
			}
			_ = log.Close(context.Background())
		})
	}
}

// Rule runlog/RL10.
func BenchmarkObserve_ACallOfAModel(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[recorded], func(b *testing.B) {
			log := runlog.New(runlog.Config{Linger: -1})
			runner := adk.NewRunner(b.Context(), adk.RunnerConfig{Agent: agentOf(b, adk.ChatModelAgentConfig{
				Model: adktest.NewModel(b, adktest.Says("hello").Repeated())})})
			b.ReportAllocs()
			for b.Loop() {
				var opts []adk.AgentRunOption
				if recorded {
					opts = runlog.Observe(log, runlog.About{ID: "run"})
				}
				finish(b, runner, opts...)
			}
			_ = log.Close(context.Background())
		})
	}
}
