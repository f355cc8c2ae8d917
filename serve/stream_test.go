package serve

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
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
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// blocks is an agent whose tool returns when its context ends or until is closed, and says on started when it begins.
func blocks(t *testing.T, started chan<- struct{}, until <-chan struct{}) adk.Agent {
	t.Helper()
	slow, err := utils.InferTool("slow", "Takes long.", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case started <- struct{}{}:
		default: // the test waits for no other call
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-until:
			return "ok", nil
		}
	})
	require.NoError(t, err)
	return agentOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(tool.BaseTool(slow))},
		adktest.Calls(adktest.Call("slow", `{}`)).Repeated())
}

// translating is a protocol that panics in the middle of a stream.
func translating(srv *Server, run string, panics func(*runlog.Event) bool) http.Handler {
	return srv.Protect(srv.Handle(func(w http.ResponseWriter, r *http.Request, c *Caller) error {
		return srv.Stream(w, r, c, StreamConfig{Run: run, Translate: func(e *runlog.Event, out *Frames) {
			if panics(e) {
				panic("boom")
			}
			out.SendJSON(out.ID(), "", e)
		}})
	}, nil), nil)
}

// A protocol that panics in the middle of a stream cuts it off, so that the client does not take it for whole, and leaves
// room for the next client.
// Rule serving/SV16.
func TestServer_CutsAStreamOffWhoseTranslationPanics(t *testing.T) {
	d := newDesk(t, Config{Limits: Limits{Watchers: 1}}, greeter(t))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	web := httptest.NewServer(translating(d.srv, run, func(e *runlog.Event) bool { return e.Type == runlog.RunEnd }))
	defer web.Close()
	for range 3 {
		answer, err := http.Get(web.URL)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		data, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s", data)
		require.Contains(t, string(data), "model.end")
	}
	require.NotEmpty(t, d.stream("GET", "/runs/"+run+"/events", ""))
}

// Rule serving/SV16.
func TestServer_LeavesRoomBehindAnErrorTextThatPanics(t *testing.T) {
	panics := func(err runlog.Err) string {
		if err.Type != "error" { // in events, not of the run as a whole
			panic("boom")
		}
		return "no"
	}
	d := newDesk(t, Config{Limits: Limits{Watchers: 1}, ErrorText: panics},
		agentOf(t, adk.ChatModelAgentConfig{}, adktest.Fails(errors.New("no"))))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)["id"].(string)
	for range 3 {
		answer := d.do("GET", "/runs/"+run+"/events", "", "Accept", "text/event-stream")
		require.Equal(t, http.StatusOK, answer.StatusCode)
		_, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		require.Error(t, err)
	}
}

// A client that goes away before its stream begins is one that has gone away.
// Rule serving/SV1.
func TestServer_StopsTheRunOfAClientThatNeverWatched(t *testing.T) {
	started := make(chan struct{}, 1)
	d := newDesk(t, Config{}, blocks(t, started, nil))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)["id"].(string)
	<-started
	gone, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(gone, "POST", "/", nil)
	err := d.srv.Stream(httptest.NewRecorder(), r, &Caller{server: d.srv, principal: Principal{ID: "local"}}, StreamConfig{Run: run,
		OnDisconnect: CancelAfter(0), Translate: func(*runlog.Event, *Frames) {}})
	require.NoError(t, err)
	require.Equal(t, "stopped", d.call(200, "GET", "/runs/"+run, "", "Prefer", "wait=10")["status"])
}

// Requests that wait for a run end when the server shuts down, before the run does.
// Rule serving/SV17.
func TestServer_ShutdownEndsRequestsThatWait(t *testing.T) {
	started, until := make(chan struct{}, 1), make(chan struct{})
	srv, err := New(Config{Agents: []adk.Agent{blocks(t, started, until)}})
	require.NoError(t, err)
	c := &Caller{server: srv, principal: Principal{ID: "local"}}
	run, err := c.Start(t.Context(), Start{Agent: "desk", Messages: []*schema.Message{schema.UserMessage("x")}})
	require.NoError(t, err)
	<-started
	type result struct {
		run Run
		err error
	}
	waits, reads := make(chan result, 1), make(chan error, 1)
	go func() {
		r, err := c.Result(t.Context(), run.ID, time.Hour)
		waits <- result{r, err}
	}()
	reading := make(chan struct{}, 100)
	go func() {
		for _, err := range c.Watch(t.Context(), run.ID, runs.Cursor{}) {
			if err != nil {
				reads <- err
			}
			reading <- struct{}{}
		}
	}()
	<-reading
	ended := make(chan error, 1)
	go func() { ended <- srv.Shutdown(t.Context()) }()
	got := <-waits
	require.NoError(t, got.err)
	require.Equal(t, runs.Running, got.run.Status)
	require.Equal(t, ShuttingDown, ProblemOf(<-reads).Code)
	close(until)
	require.NoError(t, <-ended)
}

// A shutdown that has little time stops runs at once before it is over.
// Rule serving/SV17.
func TestServer_ShutdownStopsRunsAtOnceWhenItsTimeIsNearlyOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 1)
		srv, err := New(Config{Agents: []adk.Agent{blocks(t, started, nil)}, DrainTimeout: time.Hour})
		require.NoError(t, err)
		c := &Caller{server: srv, principal: Principal{ID: "local"}}
		_, err = c.Start(t.Context(), Start{Agent: "desk", Messages: []*schema.Message{schema.UserMessage("x")}})
		require.NoError(t, err)
		<-started
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		require.NoError(t, srv.Shutdown(ctx))
		require.Equal(t, 4*time.Second, time.Since(began), "safe points have their time first")
	})
}

// stuckStore does not come back from a submission while stuck is not closed.
type stuckStore struct {
	runs.Store
	armed atomic.Bool
	stuck chan struct{}
}

func (s *stuckStore) Submit(ctx context.Context, id string, run runs.Spec) (runs.Info, error) {
	if s.armed.Load() {
		<-s.stuck
	}
	return s.Store.Submit(ctx, id, run)
}

// A start that hangs does not keep the runs from being stopped.
// Rule serving/SV17.
func TestServer_ShutdownStopsRunsWhileAStartHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 1)
		store := &stuckStore{Store: checkpoint.NewMemoryStore(), stuck: make(chan struct{})}
		srv, err := New(Config{Agents: []adk.Agent{blocks(t, started, nil)}, Store: store})
		require.NoError(t, err)
		c := &Caller{server: srv, principal: Principal{ID: "local"}}
		messages := []*schema.Message{schema.UserMessage("x")}
		run, err := c.Start(t.Context(), Start{Agent: "desk", Messages: messages})
		require.NoError(t, err)
		<-started
		store.armed.Store(true)
		hangs := make(chan error, 1)
		go func() {
			_, err := c.Start(t.Context(), Start{Agent: "desk", Messages: messages})
			hangs <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		require.ErrorContains(t, srv.Shutdown(ctx), "still being started")
		info, _, err := store.Inspect(t.Context(), run.ID)
		require.NoError(t, err)
		require.Equal(t, runs.Ready, info.Status, "it was stopped, for the next process")
		close(store.stuck)
		require.NoError(t, <-hangs)
	})
}

// slowEvents reads an event in 100 ms.
type slowEvents struct{ executor }

func (s *slowEvents) Events(ctx context.Context, id string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	return func(yield func(runlog.Event, error) bool) {
		for e, err := range s.executor.Events(ctx, id, after) {
			time.Sleep(100 * time.Millisecond)
			if err == nil {
				err = ctx.Err()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
