package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

// chunks is a model that streams a number of pieces.
type chunks struct{ n int }

func (c chunks) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage("x", nil), nil
}

func (c chunks) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](16)
	go func() {
		defer w.Close()
		for range c.n {
			if w.Send(schema.AssistantMessage("twenty bytes of text", nil), nil) {
				return
			}
		}
	}()
	return r, nil
}

// byHand is a handler written by hand for the same: it reads a model, and writes what it says.
func byHand(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		s, err := chunks{n}.Stream(r.Context(), nil)
		if err != nil {
			return
		}
		defer s.Close()
		rc := http.NewResponseController(w)
		for i := 0; ; i++ {
			m, err := s.Recv()
			if err != nil {
				break
			}
			data, _ := json.Marshal(map[string]any{"type": "text", "delta": m.Content})
			fmt.Fprintf(w, "id: %d\nevent: text\ndata: %s\n\n", i, data)
			_ = rc.Flush()
		}
	})
}

// BenchmarkStream is a run of 1,000 chunks read by a client, beside a handler written by hand for it.
func BenchmarkStream(b *testing.B) {
	const n = 1000
	read := func(b *testing.B, url, body string) {
		for b.Loop() {
			r, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "text/event-stream")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			size, _ := io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if size < n*20 {
				b.Fatal(size)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/chunk")
	}
	b.Run("by hand", func(b *testing.B) {
		web := httptest.NewServer(byHand(n))
		defer web.Close()
		read(b, web.URL, "")
	})
	b.Run("serve", func(b *testing.B) {
		web := httptest.NewServer(benchServer(b, n))
		defer web.Close()
		read(b, web.URL+"/agents/desk/runs", `{"input":"x"}`)
	})
}

func benchServer(t testing.TB, n int) *Server {
	agent, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: "desk", Description: "x", Model: chunks{n}})
	require.NoError(t, err)
	srv, err := New(Config{Agents: []adk.Agent{agent},
		Limits: Limits{StartsPerMinute: 1 << 30, Runs: 5000, RunsPerPrincipal: 5000}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Shutdown(context.Background())) })
	return srv
}

// A thousand clients at once get what they asked for, within a bounded time.
func TestServer_ServesAThousandAtOnce(t *testing.T) {
	web := httptest.NewServer(benchServer(t, 50))
	defer web.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	clients := 1000
	if racedetector.Enabled {
		clients = 100
	}
	failures := make(chan error, clients)
	for range clients {
		wg.Go(func() {
			r, _ := http.NewRequest(http.MethodPost, web.URL+"/agents/desk/runs", strings.NewReader(`{"input":"x"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "text/event-stream")
			answer, err := client.Do(r)
			if err != nil {
				failures <- err
				return
			}
			defer answer.Body.Close()
			data, err := io.ReadAll(answer.Body)
			if err == nil && (!bytes.Contains(data, []byte(`"status":"done"`)) || !bytes.Contains(data, []byte("model.end"))) {
				err = fmt.Errorf("the stream ends with %s", data[max(0, len(data)-500):])
			}
			if err != nil {
				failures <- err
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		t.Fatal(err)
	}
}
