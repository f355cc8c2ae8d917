package serve

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
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
	"github.com/weftgo/weft/internal/racedetector"
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

// Clients come and go, answer, stop runs and vanish, at random. No run is lost, nothing is paid that nobody approved, or
// twice, every record has its end, and nothing is left over.
func TestServer_SoakOfClientsThatDoWhatTheyLike(t *testing.T) {
	runs := 600
	if racedetector.Enabled {
		runs = 150
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
	d := newDesk(t, Config{Limits: Limits{StartsPerMinute: 1 << 30, Runs: 1 << 20, RunsPerPrincipal: 1 << 20}}, agent)

	answer := func(random *rand.Rand, run, question string) {
		approve := random.IntN(2) == 0
		body := fmt.Sprintf(`{"answers":{%q:{"approve":%v}}}`, question, approve)
		a := d.do("POST", "/runs/"+run+"/resume", body)
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
			d.do("POST", "/runs/"+run+"/cancel", `{"mode":"now"}`).Body.Close()
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
	require.Eventually(t, func() bool {
		open := d.call(200, "GET", "/interrupts", "")["interrupts"].([]any)
		for _, q := range open {
			q := q.(map[string]any)
			answer(random, q["run"].(string), q["id"].(string))
		}
		active := 0
		for _, status := range []string{"ready", "running", "waiting"} {
			active += len(d.call(200, "GET", "/runs?limit=100&status="+status, "")["runs"].([]any))
		}
		return active == 0
	}, time.Minute, 10*time.Millisecond, "every run comes to an end")
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
			seen[run["id"].(string)] = true
			require.Contains(t, []any{"done", "cancelled"}, run["status"], run)
		}
	}
	require.Len(t, seen, runs/16*16, "no run is lost")
	n := 0
	for id := range seen {
		if n++; n > 50 {
			break
		}
		all := d.stream("GET", "/runs/"+id+"/events", "")
		require.Equal(t, "run.end", all[len(all)-1].event, "the record of run %s has its end", id)
	}
}
