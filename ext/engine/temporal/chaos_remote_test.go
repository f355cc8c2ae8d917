//go:build unix

package temporalengine_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
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

// chaosStandalone has a worker process call its tool as an activity without a workflow.
const chaosStandalone = "WEFT_TEMPORAL_TEST_STANDALONE"

// remoteConf is the configuration of the processes whose payments Temporal makes.
var remoteConf = temporalengine.Config{TaskQueue: "remote", IDPrefix: "remote/", Heartbeat: chaosTTL,
	StopGrace: 5 * time.Second}

// keyedBank pays once for each key, as an activity that may be tried again has to, and counts the payments of an account.
type keyedBank struct {
	mu   sync.Mutex // guards the fields below
	paid map[string]map[string]int
}

func (b *keyedBank) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	account := r.FormValue("account")
	if b.paid[account] == nil {
		b.paid[account] = map[string]int{}
	}
	b.paid[account][r.FormValue("key")]++
}

// remotePayment is a remote tool that pays for the run that calls it.
type remotePayment struct{ tool.InvokableTool }

func (p remotePayment) Idempotent() bool { return true }

func (p remotePayment) InvokableRun(ctx context.Context, _ string, opts ...tool.Option) (string, error) {
	run, _ := adk.GetSessionValue(ctx, "run")
	return p.InvokableTool.InvokableRun(ctx, fmt.Sprintf("%q", run), opts...)
}

// pay is the activity of the tool. It takes a while, so that workers die in it.
func pay(ctx context.Context, call temporalengine.RemoteCall) (string, error) {
	time.Sleep(200 * time.Millisecond)
	form := url.Values{"account": {string(call.Arguments)}, "key": {call.Key}}
	resp, err := http.Post(os.Getenv(chaosBank)+"?"+form.Encode(), "", nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	time.Sleep(600 * time.Millisecond)
	return "paid " + string(call.Arguments), err
}

// TestChaos_RemoteChild is a worker process of runs and of their payments, until it is killed.
func TestChaos_RemoteChild(t *testing.T) {
	server := os.Getenv(chaosServer)
	if server == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	store, err := sqlite.Open(t.Context(), os.Getenv(chaosFile))
	require.NoError(t, err)
	c, err := client.Dial(client.Options{HostPort: server, Logger: silent{}})
	require.NoError(t, err)
	remote, err := temporalengine.RemoteTool(c, &schema.ToolInfo{Name: "pay", Desc: "Pays."}, temporalengine.RemoteOptions{
		TaskQueue: remoteConf.TaskQueue, IDPrefix: remoteConf.IDPrefix + "call/", Timeout: 2 * time.Second,
		Standalone: os.Getenv(chaosStandalone) != ""})
	require.NoError(t, err)
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"payer": agentOf(t, remotePayment{remote})}})
	e, err := temporalengine.New(c, d, remoteConf)
	require.NoError(t, err)
	w := worker.New(c, e.TaskQueue(""), worker.Options{StickyScheduleToStartTimeout: time.Second})
	e.Register(w)
	w.RegisterActivityWithOptions(pay, activity.RegisterOptions{Name: "pay"})
	require.NoError(t, w.Start())
	select {} // until it is killed
}

// TestChaos_RemoteToolIsCalledOnce although the workers of its runs and of its calls are killed: a worker that takes a
// run over waits for the call that was begun, and does not make another one.
// Rule temporal/W10.
func TestChaos_RemoteToolIsCalledOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	for name, standalone := range map[string]string{"workflow": "", "standalone activity": "1"} {
		t.Run(name, func(t *testing.T) {
			const many, kills = 20, 6
			dir := t.TempDir()
			server := chaosServerOf(t, dir, "127.0.0.1:0")
			t.Cleanup(server.kill)
			file := filepath.Join(dir, "runs.db")
			store, err := sqlite.Open(t.Context(), file)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			b := &keyedBank{paid: map[string]map[string]int{}}
			bank := httptest.NewServer(b)
			t.Cleanup(bank.Close)
			e, err := temporalengine.New(dial(t, server.address), dispatch.New(store, dispatch.Config{}), remoteConf)
			require.NoError(t, err)
			workers, start := startWorkers(t, "TestChaos_RemoteChild", chaosServer+"="+server.address, chaosFile+"="+file,
				chaosBank+"="+bank.URL, chaosStandalone+"="+standalone)
			for i := range kills {
				for n := range many / kills {
					submitPayer(t, e, i*(many/kills)+n)
				}
				time.Sleep(time.Duration(300+rand.IntN(700)) * time.Millisecond)
				victim := rand.IntN(len(workers))
				_ = workers[victim].Process.Kill()
				_ = workers[victim].Wait()
				workers[victim] = start()
			}
			repeated := 0
			for n := range many / kills * kills {
				id := fmt.Sprint("order-", n)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				o, err := e.Wait(ctx, id)
				cancel()
				require.NoError(t, err)
				for o.Status == runs.Waiting || o.Status == runs.Ready { // the call was released for a while
					time.Sleep(50 * time.Millisecond)
					o, err = e.Wait(t.Context(), id)
					require.NoError(t, err)
				}
				require.Equal(t, runs.Done, o.Status, "%s: %v", id, o.Err)
				b.mu.Lock()
				calls := maps.Clone(b.paid[fmt.Sprintf("%q", id)])
				b.mu.Unlock()
				require.Len(t, calls, 1, "%s was paid by one call", id)
				for _, tries := range calls {
					repeated += tries - 1
				}
			}
			t.Logf("%d workers were killed; %d tries of the activity were repeated", kills, repeated)
		})
	}
}

func submitPayer(t *testing.T, e *temporalengine.Engine, n int) {
	t.Helper()
	job := jobOf(fmt.Sprint("order-", n), "payer")
	job.SessionValues = map[string]any{"run": job.ID}
	_, err := e.Submit(t.Context(), job)
	require.NoError(t, err)
}
