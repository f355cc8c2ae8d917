package mcptool_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// A server that does not answer the request for its stream of notices, or answers late, can be used like any other.
// Rules mcp/MC1, mcp/MC7.
func TestTools_DoNotWaitForTheStreamOfNotices(t *testing.T) {
	url := serves(t, &web{get: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	srv := open(t, mcptool.Config{URL: url})
	began := time.Now()
	require.Equal(t, []string{"t"}, names(t, srv))
	result, err := call(t.Context(), named(t, srv, "t"), "{}")
	require.NoError(t, err)
	require.Equal(t, "done", result.Parts[0].Text)
	require.NoError(t, srv.Close())
	require.Less(t, time.Since(began), 5*time.Second)
}

// Notices that come over the stream are heard, and what is missed between two streams is read again.
// Rule mcp/MC4.
func TestTools_AreReadAnewBehindAStreamThatEnded(t *testing.T) {
	h := &web{}
	var end atomic.Bool
	h.get = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		if !end.CompareAndSwap(false, true) {
			<-r.Context().Done()
		}
	}
	srv := open(t, mcptool.Config{URL: serves(t, h)})
	require.Equal(t, []string{"t"}, names(t, srv))
	h.list.Store(`{"tools":[{"name":"u","inputSchema":{"type":"object"}}]}`)
	require.Eventually(t, func() bool { return names(t, srv)[0] == "u" }, 10*time.Second, 10*time.Millisecond)
	require.EqualValues(t, 1, h.connects.Load(), "over the same connection")
	require.EqualValues(t, 2, h.gets.Load())
}

// deaf is a transport that listens to no context: what it is asked for takes for ever.
type deaf struct {
	connects bool // is all that works
	forever  chan struct{}
	began    *atomic.Int32
}

func (d *deaf) Connect(context.Context) (mcp.Connection, error) {
	if d.began.Add(1); !d.connects {
		<-d.forever
		return nil, mcp.ErrConnectionClosed
	}
	return d, nil
}

func (d *deaf) Read(context.Context) (jsonrpc.Message, error) {
	<-d.forever
	return nil, mcp.ErrConnectionClosed
}

func (d *deaf) Write(context.Context, jsonrpc.Message) error {
	<-d.forever
	return mcp.ErrConnectionClosed
}

func (d *deaf) Close() error {
	<-d.forever
	return nil
}

func (d *deaf) SessionID() string { return "" }

// Callers that wait return when the time is over, from Close as well, whatever a transport does; and the number of
// attempts that are left behind is limited.
// Rule mcp/MC7.
func TestLimits_HoldForTransportsThatKnowNone(t *testing.T) {
	for _, connects := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &deaf{connects: connects, forever: make(chan struct{}), began: &atomic.Int32{}}
			srv, err := mcptool.New(mcptool.Config{Name: "s", ConnectTimeout: 3 * time.Second,
				Transport: func(context.Context) (mcp.Transport, error) { return d, nil }})
			require.NoError(t, err)
			began := time.Now()
			_, err = srv.Tools(t.Context())
			require.ErrorContains(t, failure(t, err, mcptool.Connect), "no connection within 3s")
			require.Equal(t, 3*time.Second, time.Since(began))
			for range 10 {
				_, err = srv.Tools(t.Context())
				failure(t, err, mcptool.Connect)
			}
			require.ErrorContains(t, err, "4 attempts to connect were given up and have not ended")
			require.EqualValues(t, 4, d.began.Load())
			began = time.Now()
			require.ErrorContains(t, srv.Close(), "has not ended within 12s")
			require.Equal(t, 12*time.Second, time.Since(began))
			close(d.forever)
			synctest.Wait()
			require.NoError(t, srv.Close())
		})
	}
}

// stuckCall is a connection that forgets its contexts once it is connected.
type stuckCall struct {
	mcp.Transport
	forever chan struct{}
}

func (s *stuckCall) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := s.Transport.Connect(ctx)
	return &stuckWrites{c, s.forever}, err
}

type stuckWrites struct {
	mcp.Connection
	forever chan struct{}
}

func (s *stuckWrites) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "tools/call" {
		<-s.forever
	}
	return s.Connection.Write(ctx, m)
}

// Rule mcp/MC7.
func TestCall_EndsAlthoughItsWriteDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		dial := scripted(calls(func(int, jsonRaw) string { return `{"content":[]}` }))
		srv, err := mcptool.New(mcptool.Config{Name: "s", Timeout: 5 * time.Second,
			Transport: func(ctx context.Context) (mcp.Transport, error) {
				inner, err := dial(ctx)
				return &stuckCall{inner, forever}, err
			}})
		require.NoError(t, err)
		tool := named(t, srv, "t0")
		began := time.Now()
		_, err = call(t.Context(), tool, "{}")
		require.ErrorContains(t, failure(t, err, mcptool.Timeout), `tool "t0"`)
		require.LessOrEqual(t, time.Since(began), 7*time.Second)
		close(forever)
		require.NoError(t, srv.Close())
	})
}

// slow answers a call with "slow" in its arguments when it is let go, and another at once.
func slow(release chan struct{}, other func(http.ResponseWriter, *http.Request, webMessage) bool) *web {
	return &web{answer: func(w http.ResponseWriter, r *http.Request, m webMessage) bool {
		if m.Method == "tools/call" && m.has("slow") {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return m.result(w, `{"content":[{"type":"text","text":"slow"}]}`)
		}
		return other(w, r, m)
	}}
}

// What a server refuses or answers wrongly costs that request, and none that another user waits for.
// Rule mcp/MC4.
func TestCall_IsNotHarmedByWhatAnotherIsAnswered(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, webMessage) {
		return func(w http.ResponseWriter, _ webMessage) { w.WriteHeader(code) }
	}
	body := func(kind, text string) func(http.ResponseWriter, webMessage) {
		return func(w http.ResponseWriter, m webMessage) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, strings.ReplaceAll(text, "ID", string(m.ID)))
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter, webMessage){
		"400": status(400), "401": status(401), "403": status(403), "404": status(404), "500": status(500), "501": status(501),
		"302": status(302), "202": status(202), "page": body("text/html", "<p>"), "no JSON": body("application/json", "{"),
		"other ID": body("application/json", `{"jsonrpc":"2.0","id":"x","result":{}}`),
		"event":    body("text/event-stream", "data: {\n\n"),
		"cut":      func(w http.ResponseWriter, _ webMessage) { panic(http.ErrAbortHandler) },
	} {
		for _, cancels := range []bool{true, false} {
			t.Run(fmt.Sprint(name, cancels), func(t *testing.T) {
				release := make(chan struct{})
				h := slow(release, func(w http.ResponseWriter, _ *http.Request, m webMessage) bool {
					if cancels && m.Method == "notifications/cancelled" || !cancels && m.Method == "tools/call" {
						answer(w, m)
						return true
					}
					return false
				})
				refused := make(chan struct{}, 1)
				other := h.answer
				h.answer = func(w http.ResponseWriter, r *http.Request, m webMessage) bool {
					defer func() {
						if m.Method == "notifications/cancelled" {
							refused <- struct{}{}
						}
					}()
					return other(w, r, m)
				}
				srv := open(t, mcptool.Config{URL: serves(t, h)})
				tool := named(t, srv, "t")
				ended := make(chan error, 1)
				go func() {
					_, err := call(t.Context(), tool, `{"x":"slow"}`)
					ended <- err
				}()
				if cancels {
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					defer cancel()
					_, err := call(ctx, tool, `{"x":"slow"}`)
					require.Error(t, err)
					<-refused
				} else {
					_, err := call(t.Context(), tool, `{}`)
					require.Error(t, err)
				}
				require.Equal(t, []string{"t"}, names(t, srv))
				close(release)
				require.NoError(t, <-ended)
			})
		}
	}
}

// A message over the limit costs its request, which says so, and is not read.
// Rule mcp/MC34.
func TestCall_WithAnAnswerOverTheLimitIsTooLarge(t *testing.T) {
	large := func(w http.ResponseWriter, head, tail string) {
		fmt.Fprint(w, head)
		piece := strings.Repeat("x", 1<<16)
		for range 64 {
			if _, err := fmt.Fprint(w, piece); err != nil {
				return
			}
		}
		fmt.Fprint(w, tail)
	}
	result := `"result":{"content":[{"type":"text","text":"`
	for name, answer := range map[string]func(http.ResponseWriter, webMessage){
		"body": func(w http.ResponseWriter, m webMessage) {
			w.Header().Set("Content-Type", "application/json")
			large(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+result, `"}]}}`)
		},
		"event": func(w http.ResponseWriter, m webMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			large(w, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,`+result, "\"}]}}\n\n")
		},
		"event with an ID": func(w http.ResponseWriter, m webMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			large(w, "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+string(m.ID)+`,`+result, "\"}]}}\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			srv := open(t, mcptool.Config{MaxMessage: 1 << 20,
				URL: serves(t, slow(release, func(w http.ResponseWriter, _ *http.Request, m webMessage) bool {
					if m.Method == "tools/call" {
						answer(w, m)
					}
					return m.Method == "tools/call"
				}))})
			tool := named(t, srv, "t")
			ended := make(chan error, 1)
			go func() {
				_, err := call(t.Context(), tool, `{"x":"slow"}`)
				ended <- err
			}()
			_, err := call(t.Context(), tool, "{}")
			require.ErrorContains(t, failure(t, err, mcptool.TooLarge), "Config.MaxMessage")
			close(release)
			require.NoError(t, <-ended)
		})
	}
	for name, frame := range map[string]string{
		"ID ahead":  `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`,
		"ID behind": `{"result":{"content":[{"type":"text","text":"%[2]s"}]},"jsonrpc":"2.0","id":%[1]s}`,
	} {
		t.Run(name, func(t *testing.T) {
			srv := open(t, mcptool.Config{MaxMessage: 1 << 20, Transport: framed(func(id string, n int) string {
				if n > 1 {
					return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
				}
				return "Listening on standard input\n" + fmt.Sprintf(frame, id, strings.Repeat("x", 4<<20))
			})})
			tool := named(t, srv, "t0")
			_, err := call(t.Context(), tool, "{}")
			require.ErrorContains(t, failure(t, err, mcptool.TooLarge), "Config.MaxMessage")
			_, err = call(t.Context(), tool, "{}")
			require.NoError(t, err, "over the same connection")
		})
	}
}

// Arguments stay with the server that they are for.
// Rule mcp/MC35.
func TestCall_IsNotRedirectedToAnotherOrigin(t *testing.T) {
	for _, status := range []int{302, 307, 308} {
		var stolen atomic.Int32
		thief := serves(t, &web{answer: func(http.ResponseWriter, *http.Request, webMessage) bool {
			stolen.Add(1)
			return false
		}, get: func(http.ResponseWriter, *http.Request) { stolen.Add(1) }})
		srv := open(t, mcptool.Config{URL: serves(t, &web{answer: func(w http.ResponseWriter, r *http.Request, m webMessage) bool {
			if m.Method == "tools/call" {
				http.Redirect(w, r, thief, status)
			}
			return m.Method == "tools/call"
		}})})
		_, err := call(t.Context(), named(t, srv, "t"), `{"secret":"x"}`)
		require.ErrorContains(t, failure(t, err, mcptool.Protocol), "redirects to another origin")
		require.Zero(t, stolen.Load(), status)
	}
	var moved atomic.Int32
	url := serves(t, &web{answer: func(w http.ResponseWriter, r *http.Request, _ webMessage) bool {
		if r.URL.Path == "/new" {
			return false
		}
		moved.Add(1)
		http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
		return true
	}})
	require.Equal(t, []string{"t"}, names(t, open(t, mcptool.Config{URL: url})), "another path of the server is well")
	require.NotZero(t, moved.Load())
}
