package serve

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// payer is a model that streams a little, wants to pay, and says so when it was answered.
type payer struct{}

func (payer) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return nil, fmt.Errorf("runs are streamed")
}

func (payer) Stream(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	chunks := []*schema.Message{schema.AssistantMessage("Let ", nil), schema.AssistantMessage("me ", nil), schema.AssistantMessage("see.", nil)}
	if history[len(history)-1].Role != schema.Tool {
		chunks = append(chunks, schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Type: "function",
			Function: schema.FunctionCall{Name: "pay", Arguments: "{}"}}}))
	}
	return schema.StreamReaderFromArray(chunks), nil
}

// Clients come and go, answer, stop runs and vanish, at random. No run is lost, nothing is paid without an approval, or
// twice, every record has its end, and nothing is left over.
func TestServer_SoakOfClientsThatDoWhatTheyLike(t *testing.T) {
	runs := 600
	if !testsize.Full() {
		runs = 150
	}
	if n, err := strconv.Atoi(os.Getenv("WEFT_SERVE_SOAK")); err == nil {
		runs = n
	}
	var paid, approved atomic.Int64
	pay, err := utils.InferTool("pay", "Pays.", func(context.Context, struct{}) (string, error) {
		paid.Add(1)
		return "paid", nil
	})
	require.NoError(t, err)
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "pays", Model: payer{},
		Handlers: []adk.ChatModelAgentMiddleware{guard}, ToolsConfig: adktest.Tools(tool.BaseTool(pay))})
	require.NoError(t, err)
	d := newDesk(t, Config{Limits: Limits{StartsPerMinute: 1 << 30, Runs: 1 << 20, RunsPerPrincipal: 1 << 20,
		WaitingPerPrincipal: 1 << 20}}, agent)

	answer := func(random *rand.Rand, run, question string) {
		approve := random.IntN(2) == 0
		body := fmt.Sprintf(`{"replies":{%q:{"approve":%v}}}`, question, approve)
		a := d.do("POST", "/runs/"+run+"/replies", body)
		a.Body.Close()
		if a.StatusCode == http.StatusAccepted && approve {
			approved.Add(1)
		}
	}
	client := func(random *rand.Rand) {
		run := d.call(201, "POST", "/agents/desk/runs", `{"input":"Pay!"}`)["id"].(string)
		for range 1 + random.IntN(3) { // watches, and goes away somewhere
			ctx, leave := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/runs/"+run+"/events", nil)
			require.NoError(t, err)
			r.Header.Set("Accept", "text/event-stream")
			if stream, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.CopyN(io.Discard, stream.Body, int64(random.IntN(4000)))
				leave()
				stream.Body.Close()
			}
			leave()
		}
		if random.IntN(4) == 0 {
			d.do("POST", "/runs/"+run+"/stop", `{"mode":"now"}`).Body.Close()
		}
	}
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 17))
			for range runs / 16 {
				client(random)
			}
		})
	}
	wg.Wait()

	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	var newest []string
	require.Eventually(t, func() bool {
		open := d.call(200, "GET", "/questions", "")["questions"].([]any)
		for _, q := range open {
			q := q.(map[string]any)
			answer(random, q["run"].(string), q["id"].(string))
		}
		active := 0
		for _, status := range []string{"ready", "running", "waiting"} {
			active += len(d.call(200, "GET", "/runs?limit=100&status="+status, "")["runs"].([]any))
		}
		return active == 0
	}, 10*time.Minute, 10*time.Millisecond, "every run comes to an end")
	require.Equal(t, approved.Load(), paid.Load(), "what was approved was paid, once")

	for before := ""; ; {
		page := d.call(200, "GET", "/runs?limit=100&before="+before, "")
		all := page["runs"].([]any)
		if len(all) == 0 {
			break
		}
		before = page["next"].(string)
		for _, r := range all {
			run := r.(map[string]any)
			id := run["id"].(string)
			if seen[id] = true; len(newest) < 50 { // old records leave memory
				newest = append(newest, id)
			}
			require.Contains(t, []any{"done", "stopped"}, run["status"], run)
		}
	}
	require.Len(t, seen, runs/16*16, "no run is lost")
	for _, id := range newest {
		all := d.stream("GET", "/runs/"+id+"/events", "")
		require.NotEmpty(t, all, "the record of run %s", id)
		require.Equal(t, "run.end", all[len(all)-1].event, "the record of run %s has its end", id)
	}
}

// memory returns the number of bytes that the process holds on to.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// A client that reads nothing costs no more than its connection, however much there is for it.
// Rule serving/SV10.
func TestServer_SlowReadersCostTheirConnections(t *testing.T) {
	watchers, pieces, most := 1000, make([]string, 2000), int64(64<<10)
	if racedetector.Enabled {
		watchers, most = 100, 4*most
	}
	for i := range pieces {
		pieces[i] = strings.Repeat("x", 1000)
	}
	d := newDesk(t, Config{Limits: Limits{Watchers: 2 * watchers}}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Streams(pieces...)))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=30")["id"].(string)

	web := httptest.NewUnstartedServer(d.srv)
	web.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4096) // so that the kernel does not take it all
		return ctx
	}
	web.Start()
	defer web.Close()
	before := memory()
	for range watchers {
		conn, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		fmt.Fprintf(conn, "GET /runs/%s/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", run)
	}
	watching := func() (n int) {
		d.srv.watchers.mu.Lock()
		defer d.srv.watchers.mu.Unlock()
		if r := d.srv.watchers.runs[run]; r != nil {
			n = r.clients
		}
		return n
	}
	require.Eventually(t, func() bool { return watching() == watchers }, 30*time.Second, 10*time.Millisecond)
	time.Sleep(time.Second)
	require.Equal(t, watchers, watching(), "they wait for their clients")
	each := (int64(memory()) - int64(before)) / int64(watchers)
	t.Logf("%d bytes for each of %d clients that read nothing of %d MB", each, watchers, len(pieces)*1000/1_000_000)
	require.Less(t, each, most)
}
