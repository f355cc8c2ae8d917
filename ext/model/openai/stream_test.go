package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// A wire is the body of a response that is written while it is read. Reads wait for what is written, unless the body
// was closed; contexts mean nothing to it.
type wire struct {
	chunks chan string
	closed chan struct{}
	once   sync.Once
	rest   string
	reads  int
}

func newWire() *wire { return &wire{chunks: make(chan string), closed: make(chan struct{})} }

func (w *wire) Read(p []byte) (int, error) {
	w.reads++
	if w.rest == "" {
		select {
		case w.rest = <-w.chunks:
		case <-w.closed:
			return 0, errors.New("read on a closed body")
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func TestStream_ChunksComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		sr := stream(t, newModel(t, answering("text/event-stream", w)))
		defer sr.Close()
		for _, text := range []string{"a", "b", "c"} {
			w.chunks <- chunk(text)
			m, err := sr.Recv()
			require.NoError(t, err)
			require.Equal(t, text, m.Content)
			time.Sleep(time.Second)
		}
	})
}

func TestStream_CloseStopsTheRequest(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, w *wire, sr *schema.StreamReader[*schema.Message]){
		"before the first chunk": func(*testing.T, *wire, *schema.StreamReader[*schema.Message]) {},
		"while the server is silent": func(t *testing.T, w *wire, sr *schema.StreamReader[*schema.Message]) {
			w.chunks <- chunk("a")
			_, err := sr.Recv()
			require.NoError(t, err)
			time.Sleep(time.Minute)
		},
		"with a Recv waiting": func(t *testing.T, _ *wire, sr *schema.StreamReader[*schema.Message]) {
			go func() { _, _ = sr.Recv() }()
			synctest.Wait()
		},
		"with a full buffer": func(_ *testing.T, w *wire, _ *schema.StreamReader[*schema.Message]) {
			for range streamBuffer {
				w.chunks <- chunk("a")
			}
			time.Sleep(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				sr := stream(t, newModel(t, answering("text/event-stream", w)))
				use(t, w, sr)
				start := time.Now()
				sr.Close()
				<-w.closed
				require.Zero(t, time.Since(start))
			})
		})
	}
}

func TestStream_ContextStopsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire() // does not know the context
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		sr, err := newModel(t, answering("text/event-stream", w)).Stream(ctx, question)
		require.NoError(t, err)
		go func() {
			w.chunks <- chunk("a")
			cancel(because)
		}()
		text, err := requireOneError(t, sr)
		require.Equal(t, "a", text)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, because)
		<-w.closed
	})
}

func TestStream_ReaderThatIsForgotten(t *testing.T) {
	w := newWire()
	sr := stream(t, newModel(t, answering("text/event-stream", w)))
	runtime.KeepAlive(sr)
	sr = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-w.closed:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
}

func TestStream_SlowReaderHoldsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chunks = 1000
		w := newWire()
		written := 0
		go func() {
			for range chunks {
				w.chunks <- chunk("a")
				written++
			}
			w.chunks <- stopChunk + doneChunk
		}()
		sr := stream(t, newModel(t, answering("text/event-stream", w)))
		synctest.Wait()
		require.LessOrEqual(t, written, streamBuffer+2)
		time.Sleep(time.Hour)
		require.LessOrEqual(t, written, streamBuffer+2)

		m := joined(t, sr)
		require.Len(t, m.Content, chunks)
		<-w.closed
	})
}

// faulty panics at the configured place.
type faulty struct {
	io.Reader
	read, close bool
}

func (f *faulty) Read(p []byte) (int, error) {
	if f.read {
		panic(errFault)
	}
	return f.Reader.Read(p)
}

func (f *faulty) Close() error {
	if f.close {
		panic(errFault)
	}
	return nil
}

var errFault = errors.New("fault")

func TestPanics(t *testing.T) {
	for name, m := range map[string]*ChatModel{
		"transport": newModel(t, roundTrip(func(*http.Request) (*http.Response, error) { panic(errFault) })),
		"token source": newModel(t, streaming(""), func(c *Config) {
			c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { panic(errFault) }
		}),
		"read": newModel(t, answering("text/event-stream", &faulty{read: true})),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Generate(t.Context(), question)
			require.ErrorIs(t, err, errFault)
			stream, err := m.Stream(t.Context(), question)
			if err == nil {
				_, err = requireOneError(t, stream)
			}
			require.ErrorIs(t, err, errFault)
			require.ErrorContains(t, err, "panic")
		})
	}
	t.Run("close", func(t *testing.T) {
		m := newModel(t, answering("text/event-stream",
			&faulty{Reader: strings.NewReader(chunk("a") + stopChunk + doneChunk), close: true}))
		require.Equal(t, "a", joined(t, stream(t, m)).Content)
	})
}

func TestStream_ServerThatSaysDoneAndContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		go func() { w.chunks <- chunk("a") + stopChunk + doneChunk }()
		start := time.Now()
		require.Equal(t, "a", joined(t, stream(t, newModel(t, answering("text/event-stream", w)))).Content)
		require.Zero(t, time.Since(start))
		<-w.closed
		require.Equal(t, 50*time.Millisecond, time.Since(start))
	})
}

// Rules providers/C5, providers/C6, providers/K18.
func TestStream_Ends(t *testing.T) {
	lenient := func(c *Config) { c.AllowMissingDone = true }
	optional := func(c *Config) {
		p := ProfileUnknown
		p.FinishOptional = true
		c.Profile = &p
	}
	const halfCall = `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a"}}]}}]}` + "\n\n"
	for name, c := range map[string]struct {
		body    string
		change  func(*Config)
		text    string
		failure error // nil: the stream is complete
	}{
		"done":                              {chunk("a") + stopChunk + doneChunk, unchanged, "a", nil},
		"done without finish reason":        {chunk("a") + doneChunk, unchanged, "a", io.ErrUnexpectedEOF},
		"server that never says why":        {chunk("a") + doneChunk, optional, "a", nil},
		"half a call":                       {chunk("a") + halfCall + doneChunk, optional, "a", io.ErrUnexpectedEOF},
		"done without line end":             {chunk("a") + stopChunk + "data: [DONE]", unchanged, "a", nil},
		"nothing":                           {"", unchanged, "", io.ErrUnexpectedEOF},
		"cut behind a chunk":                {chunk("a"), unchanged, "a", io.ErrUnexpectedEOF},
		"cut behind the finish reason":      {chunk("a") + stopChunk, unchanged, "a", nil},
		"cut in a chunk":                    {chunk("a") + chunk("b")[:30], unchanged, "a", io.ErrUnexpectedEOF},
		"lenient, cut behind a chunk":       {chunk("a"), lenient, "a", io.ErrUnexpectedEOF},
		"lenient, cut in a chunk":           {chunk("a") + stopChunk + chunk("b")[:30], lenient, "a", io.ErrUnexpectedEOF},
		"lenient, behind the finish reason": {chunk("a") + stopChunk, lenient, "a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			sr := stream(t, newModel(t, streaming(c.body), c.change))
			if c.failure == nil {
				require.Equal(t, c.text, joined(t, sr).Content)
				return
			}
			text, err := requireOneError(t, sr)
			require.ErrorIs(t, err, c.failure)
			require.Equal(t, c.text, text)
		})
	}
}

func TestStream_WithoutAnswer(t *testing.T) {
	body := `data: {"choices":[],"usage":{"prompt_tokens":1}}` + "\n\n" + doneChunk
	_, err := requireOneError(t, stream(t, newModel(t, streaming(body))))
	require.ErrorContains(t, err, "no answer")
	_, err = newModel(t, whole(`{"choices":[]}`)).Generate(t.Context(), question)
	require.ErrorContains(t, err, "no answer")
}

func TestStream_ServersThatDoNotDoAsAsked(t *testing.T) {
	m := newModel(t, whole(`{"choices":[{"message":{"content":"ok","tool_calls":[{"id":"1","function":{"name":"f"}}]}}]}`))
	got := joined(t, stream(t, m))
	require.Equal(t, "ok", got.Content)
	require.Equal(t, "f", got.ToolCalls[0].Function.Name)

	got, err := newModel(t, streaming(chunk("o")+chunk("k")+stopChunk+doneChunk)).Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, "ok", got.Content)
	require.Equal(t, "stop", got.ResponseMeta.FinishReason)

	for _, contentType := range []string{"application/json", "text/html", ""} {
		_, err = newModel(t, answering(contentType, strings.NewReader("<html>log in</html>"))).Generate(t.Context(), question)
		require.ErrorContains(t, err, "<html>log in</html>", contentType)
		if contentType != "" {
			_, err = requireOneError(t, stream(t, newModel(t, answering(contentType, strings.NewReader("<html>log in</html>")))))
			require.ErrorContains(t, err, "<html>log in</html>", contentType)
		}
		_, err = newModel(t, answering(contentType, strings.NewReader(""))).Generate(t.Context(), question)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, contentType)
	}
}
