package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write sends text in pieces of so many bytes, at once each.
func write(w http.ResponseWriter, text string, size int) {
	w.Header().Set("Content-Type", "text/event-stream")
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = io.WriteString(w, text[:n])
		w.(http.Flusher).Flush()
		text = text[n:]
	}
}

func TestServer_Retries(t *testing.T) {
	var asked atomic.Int32
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if asked.Add(1) < 3 || len(body) == 0 {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		write(w, chunk("a")+stopChunk+doneChunk, 1000)
	}, func(c *Config) { c.MaxRetries = nil })
	require.Equal(t, "a", joined(t, stream(t, m)).Content)
	require.EqualValues(t, 3, asked.Load())
}

func TestServer_SlowBytes(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		write(w, ": hello\r\n\r\n"+chunk("ä")+strings.ReplaceAll(chunk("b"), "\n", "\r\n")+stopChunk+doneChunk, 1)
	})
	require.Equal(t, "äb", joined(t, stream(t, m)).Content)
}

func TestServer_HugeLine(t *testing.T) {
	text := strings.Repeat("0123456789", 1<<19) // 5 MB
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		write(w, chunk(text)+stopChunk+doneChunk, 1<<20)
	})
	require.Equal(t, text, joined(t, stream(t, m)).Content)
}

func TestServer_CutConnection(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		write(w, chunk("a")+chunk("b")[:20], 1000)
		panic(http.ErrAbortHandler)
	})
	text, err := requireOneError(t, stream(t, m))
	require.Equal(t, "a", text)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestServer_NotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	l.Close()
	m := serve(t, nil, func(c *Config) { c.BaseURL = "http://" + addr })
	for name, call := range calls(m) {
		err := call(t.Context())
		var failure *net.OpError
		require.ErrorAs(t, err, &failure, name)
		require.ErrorContains(t, err, "openai: request: ")
	}
}

// endless answers with chunks until the client goes away, which it reports on gone.
func endless(gone chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() { gone <- struct{}{} }()
		write(w, chunk("a"), 1000)
		<-r.Context().Done()
	}
}

func TestServer_BodyWithoutEnd(t *testing.T) {
	within := func(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
	}
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(20*time.Millisecond, cancel)
		return ctx, cancel
	}
	for name, c := range map[string]struct {
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		timeout time.Duration
		want    error
	}{
		"cancel":   {cancelled, 0, context.Canceled},
		"deadline": {within(20 * time.Millisecond), 0, context.DeadlineExceeded},
		"timeout":  {within(time.Hour), 20 * time.Millisecond, context.DeadlineExceeded},
	} {
		gone := make(chan struct{}, 1)
		m := serve(t, endless(gone), func(conf *Config) { conf.Timeout = c.timeout })
		for kind, call := range calls(m) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				require.ErrorIs(t, call(ctx), c.want)
				<-gone
			})
		}
	}
}

func TestServer_ClosedReader(t *testing.T) {
	gone := make(chan struct{}, 1)
	sr := stream(t, serve(t, endless(gone)))
	_, err := sr.Recv()
	require.NoError(t, err)
	sr.Close()
	<-gone
}

func TestServer_ConnectionIsUsedAgain(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write(w, chunk("a")+stopChunk+doneChunk, 1000)
	}))
	var connections atomic.Int32
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	m := newModel(t, transport, func(c *Config) { c.BaseURL = server.URL })
	idle := make(chan error, 3)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{PutIdleConn: func(err error) { idle <- err }})
	for range 3 {
		sr, err := m.Stream(ctx, question)
		require.NoError(t, err)
		require.Equal(t, "a", joined(t, sr).Content)
		require.NoError(t, <-idle)
	}
	require.EqualValues(t, 1, connections.Load())
}

func TestServer_ManyAtOnce(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		write(w, chunk(string(body))+stopChunk+doneChunk, 100)
	})
	errs := make(chan error)
	for i := range 20 {
		go func() {
			marker := fmt.Sprintf("marker %d.", i)
			sr, err := m.Stream(t.Context(), question, WithUser(marker))
			if err == nil {
				var text strings.Builder
				for chunk, failure := range sr.All() {
					err = errors.Join(err, failure)
					text.WriteString(chunk.Content)
				}
				if !strings.Contains(text.String(), marker) {
					err = errors.Join(err, errors.New("the answer is another one's"))
				}
			}
			errs <- err
		}()
	}
	for range 20 {
		require.NoError(t, <-errs)
	}
}
