package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// streaming makes runners of a new agent for each stretch, as a new process would.
func streaming(agent func() adk.Agent) dispatch.Agents {
	return dispatch.Agents{"a": func(
		ctx context.Context, run runs.Info, store checkpoint.Store,
	) (*adk.Runner, error) {
		return dispatch.RunnerOf(agent())(ctx, run, store)
	}}
}

// streamingJob is a job whose agent streams.
func streamingJob() dispatch.Job {
	job := jobOf("1", "a")
	job.Streaming = true
	return job
}

func speaking(t *testing.T, m model.BaseChatModel, tools ...string) adk.Agent {
	conf := &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: m}
	for _, name := range tools {
		conf.ToolsConfig.Tools = append(conf.ToolsConfig.Tools, toolNamed(t, name, func(context.Context) (string, error) {
			return name + " worked", nil
		}))
	}
	agent, err := adk.NewChatModelAgent(t.Context(), conf)
	require.NoError(t, err)
	return agent
}

// logOf makes the log of a process.
func logOf(t *testing.T, events runlog.Store) *runlog.Log {
	log := runlog.New(runlog.Config{Store: events})
	t.Cleanup(func() { require.NoError(t, log.Close(context.WithoutCancel(t.Context()))) })
	return log
}

// readAll reads the events of a run to its end.
func readAll(t *testing.T, d *dispatch.Dispatcher, id string, after runs.Cursor) (events []runlog.Event) {
	t.Helper()
	for e, err := range d.Events(t.Context(), id, after) {
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

func lines(events []runlog.Event) (all []string) {
	for _, m := range runlog.Transcript[*schema.Message](events) {
		all = append(all, adktest.Line(m))
	}
	return all
}

func typesOf(events []runlog.Event) (all []runlog.Type) {
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

// A process that executes nothing reads what another one does, while it does it.
//
// Rules runlog/E1, runlog/E4, runlog/E6.
func TestEvents_AreReadByAProcessThatDoesNotExecuteTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
		script := func() adk.Agent {
			return speaking(t, adktest.NewModel(t,
				adktest.Streams("I ", "look").Calling(adktest.Call("look", `{}`)).Every(time.Second),
				adktest.Streams("all ", "is ", "well").Every(time.Second)), "look")
		}
		front := dispatch.New(store, dispatch.Config{Log: logOf(t, events)})
		_, stop := working(t, store, dispatch.Config{Agents: streaming(script), Log: logOf(t, events)}, dispatch.WorkerConfig{})
		defer stop()
		_, err := front.Submit(t.Context(), streamingJob())
		require.NoError(t, err)
		var got []runlog.Event
		var text string
		for e, err := range front.Events(t.Context(), "1", runs.Cursor{}) {
			require.NoError(t, err)
			got = append(got, e)
			if d, ok := e.Data.(*runlog.ModelDeltaData); ok && d.Kind == runlog.Text {
				text += d.Text
				if age := time.Since(time.UnixMicro(e.T)); age > 200*time.Millisecond {
					t.Errorf("a piece of the answer comes after %v", age)
				}
			}
		}
		require.Equal(t, "I lookall is well", text)
		require.Equal(t, []string{`assistant: I look [look#call_1 {}]`, "tool look#call_1: look worked",
			"assistant: all is well"}, lines(got))
		require.Equal(t, runlog.RunEnd, got[len(got)-1].Type)
		require.Equal(t, runs.Done, got[len(got)-1].Data.(*runlog.RunEndData).Status)

		// A reader that comes later, from any cursor, has the same picture in the end.
		for i, e := range got[:len(got)-1] {
			rest := readAll(t, front, "1", e.Cursor())
			require.Equal(t, lines(got), lines(append(got[:i+1:i+1], rest...)), "behind %v", e.Cursor())
		}
		for _, text := range []string{"", "garbage", "ff.999999", "1.999", "0.1"} {
			at, _ := runs.ParseCursor(text)
			require.Equal(t, lines(got), lines(readAll(t, front, "1", at)), "behind %q", text)
		}
		require.Empty(t, readAll(t, front, "1", got[len(got)-1].Cursor()))
	})
}

// A process is cut off in the middle of an answer. The reader sees that it is said again.
//
// Rules runlog/E4, runlog/RL1.
func TestEvents_FollowATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
		var dead atomic.Bool
		cut := checkpointtest.Faulty(store, func(int, string) checkpointtest.Fault {
			if dead.Load() {
				return checkpointtest.Fails
			}
			return checkpointtest.NoFault
		})
		first := func() adk.Agent {
			return speaking(t, adktest.NewModel(t,
				adktest.Calls(adktest.Call("look", `{}`)), adktest.Streams("it ", "is ").ThenBlocks()), "look")
		}
		second := func() adk.Agent {
			return speaking(t, adktest.NewModel(t, adktest.Streams("all ", "is well").Every(time.Second)), "look")
		}
		front := dispatch.New(store, dispatch.Config{Log: logOf(t, events)})
		_, err := front.Submit(t.Context(), streamingJob())
		require.NoError(t, err)
		_, stop := working(t, cut, dispatch.Config{Agents: streaming(first), Log: logOf(t, events), TTL: 2 * time.Second},
			dispatch.WorkerConfig{DrainTimeout: -1})
		defer stop()
		var got []runlog.Event
		var shown string // as a page shows it: what is being said
		for e, err := range front.Events(t.Context(), "1", runs.Cursor{}) {
			require.NoError(t, err)
			got = append(got, e)
			switch d := e.Data.(type) {
			case *runlog.ModelDeltaData:
				if d.Kind == runlog.Text {
					shown += d.Text
				}
				if shown == "it is " {
					dead.Store(true)
					_, stop := working(t, store, dispatch.Config{Agents: streaming(second), Log: logOf(t, events)},
						dispatch.WorkerConfig{})
					defer stop()
				}
			case *runlog.RestartedData:
				require.Equal(t, "it is ", shown)
				require.Equal(t, "tool look#call_1: look worked", adktest.Line(d.Message.Chat))
				shown = ""
			}
		}
		require.Equal(t, "all is well", shown)
		require.Equal(t, []string{"assistant: [look#call_1 {}]", "tool look#call_1: look worked", "assistant: all is well"},
			lines(got))
		require.Contains(t, typesOf(got), runlog.Restarted)
		for i := 1; i < len(got); i++ {
			require.Positive(t, got[i].Cursor().Compare(got[i-1].Cursor()))
		}
		for i := range got {
			rest := readAll(t, front, "1", got[i].Cursor())
			require.Equal(t, lines(got), lines(append(got[:i+1:i+1], rest...)), "behind %v", got[i].Cursor())
		}
	})
}

// A run that waits for an answer is followed until it has ended.
//
// Rule runlog/E4.
func TestEvents_FollowARunThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
		ask := toolNamed(t, "ask", func(ctx context.Context) (string, error) {
			if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
				return answer, nil
			}
			return "", tool.Interrupt(ctx, "may I?")
		})
		agent := agentOf(t, "a", ask)
		log := logOf(t, events)
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, Log: log},
			dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		var got []runlog.Event
		for e, err := range d.Events(t.Context(), "1", runs.Cursor{}) {
			require.NoError(t, err)
			got = append(got, e)
			if stop, ok := e.Data.(*runlog.WaitingData); ok {
				require.Len(t, stop.Questions, 1)
				require.Equal(t, "may I?", stop.Questions[0].Text)
				require.Equal(t, "c0", stop.Questions[0].Call)
				waitFor(t, d, "1", runs.Waiting)
				answer, err := runs.EncodeReply(stop.Questions[0].ID, "you may")
				require.NoError(t, err)
				require.NoError(t, d.Reply(t.Context(), "1", answer))
			}
		}
		require.Equal(t, []runlog.Type{
			"run.start", "agent.start", "model.start", "model.end", "tool.start", "tool.end", "waiting", "agent.end", "run.end",
			"run.start", "replies", "agent.start", "tool.start", "tool.end", "model.start", "model.end", "agent.end", "run.end",
		}, withoutSaved(typesOf(got)))
		require.Equal(t, []string{`assistant: [ask#c0 {"request":"do it"}]`, "tool ask#c0: you may", "assistant: done: you may"}, lines(got))
	})
}

// A run goes from one process to another and back, and each time it continues. The one that has it again counts behind what
// the other one has recorded, and a reader in each of them sees the same.
//
// Rules runlog/RL1, runlog/E4.
func TestEvents_OfARunThatComesBackToAProcessAreOneSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
		ask := toolNamed(t, "ask", func(ctx context.Context) (string, error) {
			if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
				return answer, nil
			}
			return "", tool.Interrupt(ctx, "may I?")
		})
		var processes [2]*dispatch.Dispatcher
		for i := range processes {
			processes[i] = dispatch.New(store, dispatch.Config{Log: logOf(t, events),
				Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a", ask, ask, ask, ask))}})
		}
		_, err := processes[0].Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		for stretch := range 5 {
			d := processes[stretch%2]
			o, err := d.Execute(t.Context(), "1")
			require.NoError(t, err)
			synctest.Wait() // what it says is stored
			for _, q := range o.Questions {
				answer, err := runs.EncodeReply(q.ID, fmt.Sprint(stretch))
				require.NoError(t, err)
				require.NoError(t, d.Reply(t.Context(), "1", answer))
			}
		}
		waitFor(t, processes[0], "1", runs.Done)
		all := readAll(t, processes[0], "1", runs.Cursor{})
		for i, e := range all {
			require.EqualValues(t, i+1, e.Seq, "%s", e.Type)
		}
		require.Len(t, lines(all), 9)
		require.Equal(t, all, readAll(t, processes[1], "1", runs.Cursor{}))
	})
}

// The record of a run that fails and is tried again, whichever call of the store fails, has each message once.
//
// Rule runlog/E4.
func TestEvents_AreTheMessagesThatCountWhereverTheStoreFails(t *testing.T) {
	calls := 1
	for at := 0; at <= calls; at++ {
		synctest.Test(t, func(t *testing.T) {
			memory, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
			var n atomic.Int32
			var what atomic.Value
			plan := func(call int, name string) checkpointtest.Fault {
				n.Store(int32(call))
				if call == at {
					what.Store(name)
					return checkpointtest.Fails
				}
				return checkpointtest.NoFault
			}
			agent := agentOf(t, "a", again{toolNamed(t, "work", func(context.Context) (string, error) { return "worked", nil }).(tool.InvokableTool)},
				again{toolNamed(t, "rest", func(context.Context) (string, error) { return "rested", nil }).(tool.InvokableTool)})
			conf := dispatch.Config{TTL: 2 * time.Second, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, Log: logOf(t, events)}
			front := dispatch.New(memory, dispatch.Config{Log: logOf(t, events)})
			_, err := front.Submit(t.Context(), jobOf("1", "a"))
			require.NoError(t, err)
			_, stop := working(t, checkpointtest.Faulty(memory, plan), conf, dispatch.WorkerConfig{Slots: 1, SweepEvery: -1})
			defer stop()
			got := readAll(t, front, "1", runs.Cursor{})
			require.Equal(t, []string{`assistant: [work#c0 {"request":"do it"}]`, "tool work#c0: worked",
				`assistant: [rest#c1 {"request":"do it"}]`, "tool rest#c1: rested", "assistant: done: rested"}, lines(got),
				"fault at call %d, %v: %v", at, what.Load(), typesOf(got))
			if at == 0 {
				calls = int(n.Load())
			}
		})
	}
	require.Greater(t, calls, 10)
}

// slowStore is a store whose appends take a second.
type slowStore struct{ runlog.Store }

func (s slowStore) Append(ctx context.Context, run string, events []runlog.Event) error {
	time.Sleep(time.Second)
	return s.Store.Append(ctx, run, events)
}

// failingStore is a store that fails.
type failingStore struct{ runlog.Store }

func (failingStore) Append(context.Context, string, []runlog.Event) error {
	return errors.New("no space left")
}

// A run does not wait for the store of its events, and what is stored in the end has all messages.
//
// Rule runlog/E3.
func TestEvents_OfASlowStoreDelayNoRun(t *testing.T) {
	for _, slow := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
			pieces := make([]string, 1500)
			for i := range pieces {
				pieces[i] = "word "
			}
			agent := speaking(t, adktest.NewModel(t, adktest.Streams(pieces...).Every(time.Millisecond).Repeated()))
			var sink runlog.Store = failingStore{events}
			if slow {
				sink = slowStore{events}
			}
			log := runlog.New(runlog.Config{Store: sink})
			d := dispatch.New(store, dispatch.Config{Agents: streaming(func() adk.Agent { return agent }), Log: log})
			_, err := d.Submit(t.Context(), streamingJob())
			require.NoError(t, err)
			begun := time.Now()
			o, err := d.Execute(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, runs.Done, o.Status)
			require.Less(t, time.Since(begun), 1600*time.Millisecond)
			if !slow {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(t, log.Close(ctx), context.DeadlineExceeded)
				return
			}
			require.NoError(t, log.Close(t.Context()))
			got := readAll(t, dispatch.New(store, dispatch.Config{Log: logOf(t, events)}), "1", runs.Cursor{})
			require.Equal(t, []string{"assistant: " + o.Message.Content}, lines(got))
			require.Less(t, len(got), 100, "deltas are joined")
		})
	}
}

// What a process did not record any more before it died is made up for: the reader does not wait for ever.
func TestEvents_OfARunThatWasNotRecordedEndWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		agent := agentOf(t, "a")
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		_, err = d.Execute(t.Context(), "1")
		require.NoError(t, err)
		front := dispatch.New(store, dispatch.Config{Log: logOf(t, runlog.NewMemoryStore())})
		got := readAll(t, front, "1", runs.Cursor{Token: 1, Seq: 4})
		require.Equal(t, []runlog.Type{runlog.Snapshot, runlog.RunEnd}, typesOf(got))
		require.Equal(t, []string{"assistant: done: "}, lines(got))

		for e, err := range front.Events(t.Context(), "nobody", runs.Cursor{}) {
			require.ErrorIs(t, err, runs.ErrNotFound, "%v", e)
		}
		for _, err := range d.Events(t.Context(), "1", runs.Cursor{}) {
			require.ErrorContains(t, err, "set Config.Log")
		}
	})
}

func withoutSaved(types []runlog.Type) []runlog.Type {
	return slices.DeleteFunc(types, func(t runlog.Type) bool { return t == runlog.Saved })
}

// A store that has hashes for IDs executes runs, with those that they wait for, and shows their events to who knows the ID.
//
// Rule distributed/X4.
func TestEvents_OfAStoreThatHashesIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain, events, key := checkpoint.NewMemoryStore(), runlog.NewMemoryStore(), make([]byte, 32)
		store := checkpoint.SealWith(plain, checkpoint.OneKey("1", key), checkpoint.SealOptions{HashIDs: key})
		agents := dispatch.Agents{"outer": dispatch.RunnerOf(agentOf(t, "outer", dispatch.AsRun("inner", "helps"))),
			"inner": dispatch.RunnerOf(agentOf(t, "inner"))}
		d, stop := working(t, store, dispatch.Config{Agents: agents, Log: logOf(t, events)}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("customer 17", "outer"))
		require.NoError(t, err)
		for {
			o, err := d.Wait(t.Context(), "customer 17")
			require.NoError(t, err)
			if o.Status == runs.Done {
				require.Equal(t, "done: done: ", o.Message.Content)
				break
			}
			time.Sleep(time.Second)
		}
		require.NotEmpty(t, lines(readAll(t, d, "customer 17", runs.Cursor{})))
		for info, err := range plain.List(t.Context(), runs.Query{}) {
			require.NoError(t, err)
			require.Regexp(t, "^~", info.ID)
		}
		for info, err := range events.List(t.Context(), runlog.Query{}) {
			require.NoError(t, err)
			require.Regexp(t, "^~", info.Run)
		}
		require.NoError(t, d.Remove(t.Context(), "customer 17", false))
		for info := range events.List(t.Context(), runlog.Query{}) {
			t.Errorf("there are events of %s", info.Run)
		}
	})
}
