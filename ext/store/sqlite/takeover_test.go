//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/store/sqlite"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Workers of these tests are processes: this test binary again, with a folder in its environment.
const workerDir = "WEFT_SQLITE_WORKER"

const (
	workerTTL  = time.Second
	workerPoll = 100 * time.Millisecond
)

// calling is an agent that calls its tool so many times.
func calling(t testing.TB, times int, call func(ctx context.Context)) adk.Agent {
	t.Helper()
	step, err := utils.InferTool("step", "step", func(ctx context.Context, _ struct{}) (string, error) {
		call(ctx)
		return "ok", nil
	}, utils.WithIdempotent())
	require.NoError(t, err)
	m := modelFunc(func(history []*schema.Message) *schema.Message {
		done := 0
		for _, m := range history {
			if m.Role == schema.Tool {
				done++
			}
		}
		if done == times {
			return schema.AssistantMessage("done", nil)
		}
		return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint(done),
			Function: schema.FunctionCall{Name: "step", Arguments: "{}"}}})
	})
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: m,
		MaxIterations: times + 2,
		ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{step}}}})
	require.NoError(t, err)
	return agent
}

func TestWorker_Child(t *testing.T) {
	dir := os.Getenv(workerDir)
	if dir == "" {
		return // run by itself, it has nothing to do: the tests below start it
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "runs.db"))
	require.NoError(t, err)
	defer store.Close()
	log, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer log.Close()
	agent := calling(t, 1000, func(context.Context) {
		fmt.Fprintf(log, "%d begins\n", os.Getpid())
		time.Sleep(50 * time.Millisecond)
	})
	d := dispatch.New(store, dispatch.Config{TTL: workerTTL, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
	require.NoError(t, d.Work(ctx, dispatch.WorkerConfig{Poll: workerPoll, DrainTimeout: -1}))
}

// workers are the processes, and what they write when a call begins.
type workers struct {
	t     *testing.T
	dir   string
	calls chan string
}

func newWorkers(t *testing.T) *workers {
	t.Helper()
	w := &workers{t: t, dir: t.TempDir(), calls: make(chan string, 10_000)}
	path := filepath.Join(w.dir, "calls")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	log, err := os.Open(path)
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer log.Close()
		for lines := bufio.NewReader(log); t.Context().Err() == nil; {
			line, err := lines.ReadString('\n')
			if err != nil {
				time.Sleep(time.Millisecond) // a file has no other way to say that it has grown
				continue
			}
			w.calls <- strings.TrimSpace(line)
		}
	}()
	t.Cleanup(func() { <-ended })
	store, err := sqlite.Open(t.Context(), filepath.Join(w.dir, "runs.db"))
	require.NoError(t, err)
	_, err = dispatch.New(store, dispatch.Config{}).Submit(t.Context(), job(1))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	return w
}

func (w *workers) start() *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWorker_Child$")
	cmd.Env, cmd.Stderr = append(os.Environ(), workerDir+"="+w.dir), os.Stderr
	require.NoError(w.t, cmd.Start())
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// begins waits for a call that a worker begins, and returns when that was.
func (w *workers) begins(cmd *exec.Cmd) time.Time {
	w.t.Helper()
	for {
		select {
		case call := <-w.calls:
			if call == fmt.Sprintf("%d begins", cmd.Process.Pid) {
				return time.Now()
			}
		case <-time.After(30 * time.Second):
			w.t.Fatal("the worker begins no call")
		}
	}
}

// TestTakeover_FollowsAKillWithinALeaseAndAPoll: the next worker begins its first call then. The goal is 100 ms more, on a
// machine that does nothing else; N6 in docs/workers.md is what is logged here.
// Rule distributed/D5.
func TestTakeover_FollowsAKillWithinALeaseAndAPoll(t *testing.T) {
	w := newWorkers(t)
	first := w.start()
	w.begins(first)
	second := w.start()
	for range 20 { // it is up by then, and looks once in a poll
		w.begins(first)
	}
	require.NoError(t, first.Process.Kill())
	killed := time.Now()
	took := w.begins(second).Sub(killed)
	t.Logf("the next call begins %v after the kill: a lease is %v, a poll %v", took.Round(time.Millisecond), workerTTL, workerPoll)
	require.Less(t, took, workerTTL+workerPoll*13/10+2*time.Second)
}

// TestTakeover_AProcessThatWakesUpBeginsNoCall: it was frozen for three leases, in the middle of a call or beside one, and
// another worker has the run.
// Rule distributed/F8.
func TestTakeover_AProcessThatWakesUpBeginsNoCall(t *testing.T) {
	w := newWorkers(t)
	first, second := w.start(), (*exec.Cmd)(nil)
	w.begins(first)
	require.NoError(t, first.Process.Signal(syscall.SIGSTOP))
	second = w.start()
	w.begins(second)
	time.Sleep(3 * workerTTL) // as long as it stays frozen
	for len(w.calls) > 0 {
		<-w.calls
	}
	require.NoError(t, first.Process.Signal(syscall.SIGCONT))
	for n := range 40 { // two seconds of the second worker
		call := <-w.calls
		require.Equal(t, fmt.Sprintf("%d begins", second.Process.Pid), call, "call %d", n)
	}
}

// TestTakeover_OfALifeThatStandsStill at three boundaries of a run, in one process.
// Rule distributed/K8.
func TestTakeover_OfALifeThatStandsStill(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	var all atomic.Int64
	adktest.Explore(t.Context(), t, adktest.Exploration[*schema.Message]{
		Query: "Pay.", Durability: adk.EveryStep, TakeOver: true, Boundaries: 3,
		Agent: func(p *adktest.Probe[*schema.Message]) adk.Agent {
			pay := adktest.NewTool("pay", adktest.Says("paid"), adktest.Says("paid"))
			m := adktest.NewRecallingModel[*schema.Message](t, adktest.Calls(adktest.Call("pay", "1"), adktest.Call("pay", "2")),
				adktest.Says("all paid"))
			agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
				Model: p.Model(m), ToolsConfig: adktest.Tools(p.Tool(pay))})
			require.NoError(t, err)
			return agent
		},
		Store: func() adk.CheckPointStore { return store.Tenant(fmt.Sprint(all.Add(1))) },
	})
}

// BenchmarkNumbers_Drain: a worker with 200 runs in flight ends, and another one continues. No call is made twice. (N8)
func BenchmarkNumbers_Drain(b *testing.B) {
	const many, calls = 200, 20
	for b.Loop() {
		store := open(b)
		var mu sync.Mutex
		made := map[string]int{}
		agent := calling(b, calls, func(ctx context.Context) {
			mu.Lock()
			made[adk.GetIdempotencyKey(ctx)]++
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
		})
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
		for n := range many {
			_, err := d.Submit(b.Context(), job(n))
			require.NoError(b, err)
		}
		work := func() (stop func()) {
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{Slots: many}) }()
			return func() { cancel(); require.NoError(b, <-ended) }
		}
		stop := work()
		require.Eventually(b, func() bool { mu.Lock(); defer mu.Unlock(); return len(made) > many*3 }, time.Minute, time.Millisecond)
		begun := time.Now()
		stop()
		b.ReportMetric(time.Since(begun).Seconds(), "drain-s")
		counts, err := store.Count(b.Context(), runs.Query{})
		require.NoError(b, err)
		require.EqualValues(b, many, counts[runs.Ready])
		begun = time.Now()
		stop = work()
		require.Eventually(b, func() bool {
			counts, err := store.Count(b.Context(), runs.Query{})
			return err == nil && counts[runs.Ready] == 0
		}, time.Minute, time.Millisecond)
		b.ReportMetric(time.Since(begun).Seconds(), "taken-over-s")
		for n := range many {
			o, err := d.Wait(b.Context(), fmt.Sprint(n))
			require.NoError(b, err)
			require.Equal(b, runs.Done, o.Status)
		}
		stop()
		require.Len(b, made, many*calls)
		for _, times := range made {
			require.Equal(b, 1, times)
		}
	}
}
