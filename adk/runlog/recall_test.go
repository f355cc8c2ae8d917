package runlog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// silentStore is a store of events that answers nothing for a while.
type silentStore struct {
	*runlog.MemoryStore
	silent atomic.Bool
}

func (s *silentStore) answer(ctx context.Context) error {
	if s.silent.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s *silentStore) Append(ctx context.Context, run string, events []runlog.Event) error {
	if err := s.answer(ctx); err != nil {
		return err
	}
	return s.MemoryStore.Append(ctx, run, events)
}

func (s *silentStore) Inspect(ctx context.Context, run string) (runlog.Info, bool, error) {
	if err := s.answer(ctx); err != nil {
		return runlog.Info{}, false, err
	}
	return s.MemoryStore.Inspect(ctx, run)
}

func (s *silentStore) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	if err := s.answer(ctx); err != nil {
		return func(yield func(runlog.Event, error) bool) { yield(runlog.Event{}, err) }
	}
	return s.MemoryStore.Read(ctx, run, after)
}

// storedEvents are the events of a run in a store.
func storedEvents(t *testing.T, store runlog.Store, run string) (all []runlog.Event) {
	t.Helper()
	for e, err := range store.Read(t.Context(), run, runs.Cursor{}) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

// requireOneRecord checks that events are one record of one run: it begins once, each number and each span is there once, and
// what was said in it is this.
func requireOneRecord(t *testing.T, events []runlog.Event, said ...string) {
	t.Helper()
	starts, begun, at := 0, map[runlog.SpanID]runlog.Type{}, uint64(0)
	for _, e := range events {
		first := e.Seq
		if e.From != 0 {
			first = e.From
		}
		require.Equal(t, at+1, first, "%s", e.Type)
		at = e.Seq
		switch d := e.Data.(type) {
		case *runlog.RunStartData:
			if d.Resumed == nil {
				starts++
			}
		case *runlog.AgentStartData, *runlog.ModelStartData, *runlog.ToolStartData:
			require.Empty(t, begun[e.Span], "span %d", e.Span)
			begun[e.Span] = e.Type
		case *runlog.ModelEndData, *runlog.ToolEndData, *runlog.AgentEndData:
			require.NotEmpty(t, begun[e.Span], "span %d of %s", e.Span, e.Type)
		}
		if e.Parent != 0 {
			require.NotEmpty(t, begun[e.Parent], "parent %d of %s", e.Parent, e.Type)
		}
	}
	require.Equal(t, 1, starts)
	var texts []string
	for _, m := range runlog.Transcript[*schema.Message](events) {
		if m.Content != "" {
			texts = append(texts, m.Content)
		}
	}
	require.Equal(t, said, texts)
}

// A run that continues while the store of its events is silent continues its record: when the store answers again, be that
// before the run ends, after it, or while the log is closed, the events have the numbers behind those that were there.
//
// Rule runlog/RL1.
func TestObserve_ContinuesTheRecordOfARunWhoseStoreWasSilent(t *testing.T) {
	for _, answers := range []string{"in the run", "after the run", "while the log is closed"} {
		for _, ended := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, ended %t", answers, ended), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store, events := checkpoint.NewMemoryStore(), &silentStore{MemoryStore: runlog.NewMemoryStore()}
					pay := toolOf(t, "pay", func(context.Context) (string, error) {
						if answers == "in the run" {
							events.silent.Store(false)
							time.Sleep(time.Minute)
						}
						return "paid", nil
					})
					model := adktest.NewModel(t, adktest.Calls(adktest.Call("pay", `{}`)), adktest.Says("Done."))
					runner := func() *adk.Runner {
						return adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: true, CheckPointStore: store,
							Agent: agentOf(t, adk.ChatModelAgentConfig{Model: model,
								Handlers: []adk.ChatModelAgentMiddleware{approves(t)}}, tool.BaseTool(pay))})
					}
					run := runlog.About{ID: "run"}
					log := runlog.New(runlog.Config{Store: events})
					for range runner().Query(t.Context(), "Pay!", append(runlog.Observe(log, run), adk.WithCheckPointID("run"))...).All() {
					}
					require.NoError(t, log.Close(t.Context()))
					first := storedEvents(t, events, "run")
					approvals := pointsAsked(t, first).approvals
					if !ended { // the process died before it had stored the end
						require.NoError(t, events.Delete(t.Context(), "run"))
						require.NoError(t, events.MemoryStore.Append(t.Context(), "run", first[:len(first)-1]))
					}

					events.silent.Store(true)
					log = runlog.New(runlog.Config{Store: events})
					resumed, err := runner().ResumeWithParams(t.Context(), "run", &adk.ResumeParams{Targets: approvals},
						runlog.Observe(log, run)...)
					require.NoError(t, err)
					for range resumed.All() {
					}
					switch answers {
					case "in the run":
						require.NoError(t, log.Close(t.Context()))
					case "after the run":
						time.Sleep(20 * time.Second)
						events.silent.Store(false)
						time.Sleep(20 * time.Second)
						live := 0
						for range log.Events(t.Context(), "run", runs.Cursor{}) {
							live++
						}
						require.NotZero(t, live)
						require.NoError(t, log.Close(t.Context()))
					default:
						time.AfterFunc(20*time.Second, func() { events.silent.Store(false) })
						require.NoError(t, log.Close(t.Context()))
					}
					all := storedEvents(t, events, "run")
					requireOneRecord(t, all, "paid", "Done.")
					require.Equal(t, !ended, len(dataOf[runlog.RestartedData](all)) == 1)
					require.Equal(t, runs.Done, all[len(all)-1].Data.(*runlog.RunEndData).Status)
				})
			})
		}
	}
}

// A record that waits for its store for too long is given up, with a line in the log, and so is one of a run that is deleted.
// Neither holds a goroutine.
//
// Rule runlog/RL1.
func TestObserve_GivesUpARecordWhoseStoreStaysSilent(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			events := &silentStore{MemoryStore: runlog.NewMemoryStore()}
			log := runlog.New(runlog.Config{Store: events})
			events.silent.Store(true)
			record := log.Record(runlog.About{ID: "run"}, 7)
			record.Finish(runs.Done, nil)
			if deleted {
				require.NoError(t, log.Delete(t.Context(), "run"))
			} else {
				time.Sleep(5 * time.Minute)
			}
			events.silent.Store(false)
			time.Sleep(time.Minute)
			require.Empty(t, storedEvents(t, events, "run"))
			require.NoError(t, log.Close(t.Context()))
		})
	}
}

// damagedFrom is a store whose events are damaged from a number on.
type damagedFrom struct {
	*runlog.MemoryStore
	seq uint64
}

func (s damagedFrom) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	return func(yield func(runlog.Event, error) bool) {
		for e, err := range s.MemoryStore.Read(ctx, run, after) {
			if err == nil && e.Seq >= s.seq {
				e, err = runlog.Event{}, fmt.Errorf("run %q: %w", run, runlog.ErrDamaged)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// The record of a run some of whose events are damaged continues behind them.
//
// Rule runlog/RL1.
func TestObserve_ContinuesBehindDamagedEvents(t *testing.T) {
	events := runlog.NewMemoryStore()
	for token := range uint64(3) {
		log := runlog.New(runlog.Config{Store: damagedFrom{events, 2}})
		record := log.Record(runlog.About{ID: "run"}, token+1)
		record.Finish(runs.Failed, errors.New("no"))
		require.NoError(t, log.Close(t.Context()))
	}
	at := uint64(0)
	for _, e := range storedEvents(t, events, "run") {
		require.Equal(t, at+1, e.Seq)
		at = e.Seq
	}
	require.Equal(t, uint64(6), at)
}
