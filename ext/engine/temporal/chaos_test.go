//go:build unix

package temporalengine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/ext/store/sqlite"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// The test of several processes runs this test binary again, with what it needs in its environment.
const (
	chaosServer = "WEFT_TEMPORAL_TEST_SERVER"
	chaosFile   = "WEFT_TEMPORAL_TEST_FILE"
	chaosBank   = "WEFT_TEMPORAL_TEST_BANK"
)

// chaosTTL is the time for which the leases of the workers last.
const chaosTTL = 2 * time.Second

// chaosRuns is the number of runs, $WEFT_TEMPORAL_CHAOS or 60, and chaosDisturbances how often a worker is
// killed, frozen or drained, or the server killed.
var (
	chaosRuns         = chaosSize()
	chaosDisturbances = max(chaosRuns/6, 1)
)

func chaosSize() int {
	if n, err := strconv.Atoi(os.Getenv("WEFT_TEMPORAL_CHAOS")); err == nil && n > 0 {
		return n
	}
	return 60
}

// chaosConf is the configuration of all processes.
var chaosConf = temporalengine.Config{TaskQueue: "chaos", IDPrefix: "chaos/", Heartbeat: chaosTTL,
	StopGrace: 5 * time.Second}

// bank counts payments. It knows them by their keys, and runs by the greatest fencing token: a worker whose run was
// taken over is refused.
type bank struct {
	mu       sync.Mutex // guards the fields below
	receipts map[string]string
	paid     map[string]int
	tokens   map[string]uint64
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, run := r.FormValue("key"), r.FormValue("run")
	if r.Method == http.MethodPost {
		token, err := strconv.ParseUint(r.FormValue("token"), 10, 64)
		if err != nil || token < b.tokens[run] {
			http.Error(w, "another worker has the run", http.StatusConflict)
			return
		}
		b.tokens[run] = token
		b.paid[run]++
		b.receipts[key] = "receipt"
	}
	fmt.Fprint(w, b.receipts[key])
}

// payment is a tool that pays. What became of a payment whose process died, it asks the bank.
type payment struct{ bank string }

func (p *payment) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "pay", Desc: "Pays.", ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"request": {Type: schema.String}})}, nil
}

func (p *payment) Outcome(ctx context.Context, u *adk.OutcomeUnknown) (*adk.ToolOutcome, error) {
	receipt, err := p.ask(ctx, http.MethodGet, url.Values{"key": {u.IdempotencyKey}})
	return &adk.ToolOutcome{Result: receipt, Rerun: receipt == ""}, err
}

func (p *payment) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	run, _ := adk.GetSessionValue(ctx, "run")
	time.Sleep(30 * time.Millisecond)
	return p.ask(ctx, http.MethodPost, url.Values{"key": {adk.GetIdempotencyKey(ctx)}, "run": {fmt.Sprint(run)},
		"token": {strconv.FormatUint(adk.GetFencingToken(ctx), 10)}})
}

func (p *payment) ask(ctx context.Context, method string, form url.Values) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.bank+"?"+form.Encode(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the bank: %s", text)
	}
	return string(text), err
}

// TestChaos_Child is a worker process, until it is interrupted.
func TestChaos_Child(t *testing.T) {
	server := os.Getenv(chaosServer)
	if server == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	store, err := sqlite.Open(ctx, os.Getenv(chaosFile))
	require.NoError(t, err)
	defer store.Close()
	quick := toolNamed("quick", func(context.Context) (string, error) {
		time.Sleep(30 * time.Millisecond)
		return "quick", nil
	})
	d := dispatch.New(store, dispatch.Config{TTL: chaosTTL, Agents: dispatch.Agents{
		"clerk":   agentOf(t, quick, asks("ask"), &payment{os.Getenv(chaosBank)}, dispatch.AsRun("courier", "delivers")),
		"courier": agentOf(t, quick)}})
	var c client.Client
	require.Eventually(t, func() bool { // the server may be down just now
		c, err = client.Dial(client.Options{HostPort: server, Logger: silent{}})
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	defer c.Close()
	e, err := temporalengine.New(c, d, chaosConf)
	require.NoError(t, err)
	w := worker.New(c, e.TaskQueue(""), worker.Options{WorkerStopTimeout: 8 * time.Second,
		StickyScheduleToStartTimeout: time.Second, MaxConcurrentActivityExecutionSize: 16})
	e.Register(w)
	require.NoError(t, w.Start())
	<-ctx.Done()
	w.Stop()
	http.DefaultClient.CloseIdleConnections()
}

// startWorkers starts three processes that are a test of this package, and returns what starts another one. Those that are
// in workers when the test ends are killed.
func startWorkers(t *testing.T, test string, env ...string) (workers []*exec.Cmd, start func() *exec.Cmd) {
	t.Helper()
	start = func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=1800s")
		cmd.Env = append(os.Environ(), env...)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return cmd
	}
	workers = []*exec.Cmd{start(), start(), start()}
	t.Cleanup(func() {
		for _, w := range workers {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	})
	return workers, start
}

// TestChaos_EveryRunPaysOnce although workers are killed, frozen and replaced, and the server is killed. (W18)
func TestChaos_EveryRunPaysOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	dir := t.TempDir()
	server := chaosServerOf(t, dir, "127.0.0.1:0")
	address := server.address
	t.Cleanup(func() { server.kill() })
	file := filepath.Join(dir, "runs.db")
	store, err := sqlite.Open(t.Context(), file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	b := &bank{receipts: map[string]string{}, paid: map[string]int{}, tokens: map[string]uint64{}}
	bankServer := httptest.NewServer(b)
	t.Cleanup(bankServer.Close)
	e, err := temporalengine.New(dial(t, address), dispatch.New(store, dispatch.Config{}), chaosConf)
	require.NoError(t, err)

	workers, start := startWorkers(t, "TestChaos_Child", chaosServer+"="+address, chaosFile+"="+file,
		chaosBank+"="+bankServer.URL)
	for n := range chaosRuns {
		job := jobOf(fmt.Sprint("order-", n), "clerk")
		job.SessionValues = map[string]any{"run": job.ID}
		_, err := e.Submit(t.Context(), job)
		require.NoError(t, err)
	}
	begun, last := time.Now(), time.Now()
	killed, frozen, drained := 0, 0, 0
	answering := &people{e, map[string]runs.Reply{}}
	for n := 1; answering.answer(t) < chaosRuns; {
		require.Less(t, time.Since(begun), 15*time.Minute, "the runs do not end")
		time.Sleep(100 * time.Millisecond)
		if n > chaosDisturbances || time.Since(last) < time.Second {
			continue
		}
		i := rand.IntN(len(workers))
		w := workers[i]
		switch {
		case n == 5:
			server.kill()
			time.Sleep(time.Second)
			server = chaosServerOf(t, dir, address)
		case n%3 == 0:
			frozen++
			require.NoError(t, w.Process.Signal(syscall.SIGSTOP))
			time.Sleep(3 * chaosTTL)
			require.NoError(t, w.Process.Signal(syscall.SIGCONT))
		case n == 7:
			drained++
			require.NoError(t, w.Process.Signal(os.Interrupt))
			_ = w.Wait()
			workers[i] = start()
		default:
			killed++
			_ = w.Process.Kill()
			_ = w.Wait()
			workers[i] = start()
		}
		n, last = n+1, time.Now()
	}
	t.Logf("%d runs in %s: %d workers were killed, %d frozen, %d replaced", chaosRuns,
		time.Since(begun).Round(time.Second), killed, frozen, drained)
	for n := range chaosRuns {
		id := fmt.Sprint("order-", n)
		o, err := e.Wait(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, runs.Done, o.Status, "%s: %v", id, o.Err)
		require.Equal(t, 1, b.paid[id], id)
	}
}

func chaosServerOf(t *testing.T, dir, address string) *serverProcess {
	t.Helper()
	s, err := startServer("-addr", address, "-db", filepath.Join(dir, "temporal.db"))
	if err == errNoServer {
		t.Skip(err)
	}
	require.NoError(t, err)
	return s
}

// people answer what orders ask.
type people struct {
	e *temporalengine.Engine
	// unsure are answers that were given while the server was down. They are given again.
	unsure map[string]runs.Reply
}

// answer answers what is asked, and counts the orders that have ended.
func (p *people) answer(t *testing.T) (ended int) {
	for run, err := range p.e.List(t.Context(), runs.Query{Agent: "clerk"}) {
		require.NoError(t, err)
		if run.Status == runs.Done || run.Status == runs.Failed {
			ended++
		}
		for _, q := range run.Waiting {
			if run.Status == runs.Waiting && !q.Answered && q.Kind == runs.KindQuestion {
				p.unsure[run.ID], err = runs.EncodeReply(q.ID, "blue")
				require.NoError(t, err)
			}
		}
	}
	for run, a := range p.unsure {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := p.e.Reply(ctx, run, a)
		late := ctx.Err() != nil
		cancel()
		var unavailable *serviceerror.Unavailable
		if err != nil && (late || errors.As(err, &unavailable)) {
			return ended // the server is down
		}
		delete(p.unsure, run)
	}
	return ended
}
