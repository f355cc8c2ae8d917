package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// withoutMadeUpIDs replaces the IDs that differ from answer to answer.
func withoutMadeUpIDs(m *schema.AgenticMessage) *schema.AgenticMessage {
	for n, b := range m.ContentBlocks {
		if b.FunctionToolCall != nil && strings.HasPrefix(b.FunctionToolCall.CallID, "call_") {
			b.FunctionToolCall.CallID = fmt.Sprint(n)
		}
	}
	return m
}

func streamedRecordings(t *testing.T) (list []*kittest.Cassette) {
	for _, recording := range recordings(t) {
		for _, i := range recording.Load(t).Interactions {
			if streams(i) {
				list = append(list, &kittest.Cassette{Interactions: []*kittest.Interaction{i}})
			}
		}
	}
	require.NotEmpty(t, list)
	return list
}

// answerOf returns what a model makes of a recorded response.
func answerOf(t *testing.T, c *kittest.Cassette) (*schema.AgenticMessage, error) {
	return ask(t.Context(), agentic(t, config(t, c)), hello, true)
}

// Holds providers/K23: bytes may be cut anywhere.
func TestRecordedStreams_SplitAnywhere_GiveTheSameMessage(t *testing.T) {
	for n, c := range streamedRecordings(t) {
		want, err := answerOf(t, c.With())
		require.NoError(t, err)
		withoutMadeUpIDs(want)
		for seed := range uint64(8) {
			for _, changed := range []*kittest.Cassette{c.With(kittest.Split(seed)), c.With(kittest.CRLF(), kittest.Split(seed)),
				c.With(func(i *kittest.Interaction) {
					i.Response.Body = []byte(strings.ReplaceAll(string(i.Response.Body), "\r\n", "\n"))
				}, kittest.Split(seed))} {
				got, err := answerOf(t, changed)
				require.NoError(t, err)
				require.Equal(t, want, withoutMadeUpIDs(got), "recording %d, seed %d", n, seed)
			}
		}
	}
}

// Holds providers/K18 and providers/G4: a stream that is cut off is an error, except behind its terminal event.
func TestRecordedStreams_CutAfterEveryEvent_AreErrors(t *testing.T) {
	for _, c := range streamedRecordings(t) {
		events := len(c.Interactions[0].Events())
		for n := range events {
			_, err := answerOf(t, c.With(kittest.Cut(n)))
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d of %d", n, events)
			require.True(t, kit.IsRetryable(err))
		}
		_, err := answerOf(t, c.With(kittest.Cut(events)))
		require.NoError(t, err)
	}
}

// TestMisbehaviours plays what goes wrong between a client and a service: providers/K18 to K22, K30, G3 to G5, G9.
func TestMisbehaviours(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	kittest.RunMisbehaviours(t, kittest.GeminiStream("Grüße, ", "wor", "ld"), func(ctx context.Context, baseURL string) (string, error) {
		m, err := gemini.NewChatModel(ctx, &gemini.Config{
			APIKey: testKey, BaseURL: baseURL + "/v1beta", Model: "gemini-2.5-flash", HTTPClient: client,
		})
		if err != nil {
			return "", err
		}
		sr, err := m.Stream(ctx, []*schema.Message{schema.UserMessage("Hello")})
		if err != nil {
			return "", err
		}
		defer sr.Close()
		var b strings.Builder
		for {
			chunk, err := sr.Recv()
			if err == io.EOF {
				return b.String(), nil
			}
			if err != nil {
				return b.String(), err
			}
			b.WriteString(chunk.Content)
		}
	})
}

// Holds providers/G3: nothing comes behind an error.
func TestStream_EndsWithTheFirstError(t *testing.T) {
	conf, _ := fake(t, sse(piece(text("a")), `{"candidates":`, piece(text("b")), parts(text("c"))))
	sr, err := agentic(t, conf).Stream(t.Context(), hello)
	require.NoError(t, err)
	defer sr.Close()
	_, err = sr.Recv()
	require.NoError(t, err)
	_, err = sr.Recv()
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF)
	_, err = sr.Recv()
	require.ErrorIs(t, err, io.EOF)
}

// Holds providers/G5: proxies send comments and names of events.
func TestStream_CommentsAndNamesOfEvents(t *testing.T) {
	conf, _ := fake(t, ": waiting\n\nevent: message\ndata: "+piece(text("a"))+"\n\nid: 1\n: x\ndata: "+parts(text("b"))+"\n\n")
	m, err := streamed(t, conf)
	require.NoError(t, err)
	require.Equal(t, "ab", m.ContentBlocks[0].AssistantGenText.Text)
}

// Holds providers/K24: what joining appends is in one chunk, and only the last one has usage.
func TestStream_ChunksHaveIndexesAndSayThingsOnce(t *testing.T) {
	conf, _ := fake(t, sse(piece(text("a")), piece(text("b")), piece(`{"text":"c","thoughtSignature":"czE="}`), parts(text("d"))))
	sr, err := agentic(t, conf).Stream(t.Context(), hello)
	require.NoError(t, err)
	defer sr.Close()
	var indexes []int
	extras := map[string]int{}
	var last *schema.AgenticMessage
	for m, err := range sr.All() {
		require.NoError(t, err)
		for _, b := range m.ContentBlocks {
			indexes = append(indexes, b.StreamingMeta.Index)
		}
		for key := range m.Extra {
			extras[key]++
		}
		require.True(t, last == nil || last.ResponseMeta == nil || last.ResponseMeta.TokenUsage == nil)
		last = m
	}
	require.Equal(t, []int{0, 0, 1, 2}, indexes)
	require.Equal(t, map[string]int{"origin": 1, "finish_reason": 1, kit.UsageRawKey: 1}, extras)
	require.NotNil(t, last.ResponseMeta.TokenUsage)
}

// The service may go on after it has said why an answer ended, as old models do in every event; it may also keep the
// connection open for nothing.
func TestStream_AfterTheReason(t *testing.T) {
	conf, _ := fake(t, sse(parts(text("a")), parts(text("b")), `{"usageMetadata":{"promptTokenCount":77}}`))
	m, err := streamed(t, conf)
	require.NoError(t, err)
	require.Equal(t, "ab", m.ContentBlocks[0].AssistantGenText.Text)
	require.Equal(t, 77, m.ResponseMeta.TokenUsage.PromptTokens)

	synctest.Test(t, func(t *testing.T) {
		conf, _ := fake(t, "")
		body, w := io.Pipe()
		conf.HTTPClient.Transport = transport(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
		})
		go func() { _, _ = io.WriteString(w, sse(parts(text("a")))) }()
		begin := time.Now()
		m, err := streamed(t, conf)
		require.NoError(t, err)
		require.Equal(t, "a", m.ContentBlocks[0].AssistantGenText.Text)
		require.LessOrEqual(t, time.Since(begin), 3*time.Second)
		body.Close()
	})
}

// Rule providers/K21.
func TestStream_IdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf, _ := fake(t, "")
		body, w := io.Pipe()
		conf.HTTPClient.Transport = transport(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
		})
		go func() { _, _ = io.WriteString(w, sse(piece(text("a")))) }()
		_, err := streamed(t, conf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.ErrorContains(t, err, "IdleTimeout")
		require.True(t, kit.IsRetryable(err))
	})
}

// Holds providers/K22 and the core's promise that streams can be closed at any time: many at once, some of them cancelled.
func TestStream_ManyAtOnceWithCancels(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, marker, _ := strings.Cut(string(body), "marker ")
		marker, _, _ = strings.Cut(marker, ".")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(piece(text(marker)), piece(text("-"))))
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, sse(parts(text(marker))))
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50, MaxConnsPerHost: 50}}
	defer client.CloseIdleConnections()
	m := agentic(t, &gemini.Config{APIKey: testKey, BaseURL: server.URL, Model: "m", HTTPClient: client})
	n := 1000
	if testing.Short() {
		n = 200
	}
	var failed atomic.Value
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := oneOfMany(t.Context(), m, i); err != nil {
				failed.Store(err)
			}
		})
	}
	wg.Wait()
	require.Nil(t, failed.Load())
}

// oneOfMany reads an answer, or leaves off in the middle, by its context or by closing the reader.
func oneOfMany(ctx context.Context, m *gemini.AgenticModel, i int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sr, err := m.Stream(ctx, []*schema.AgenticMessage{schema.UserAgenticMessage(fmt.Sprintf("marker %d.", i))})
	if err != nil {
		return err
	}
	defer sr.Close()
	var b strings.Builder
	for chunk, err := range sr.All() {
		switch {
		case i%3 == 0 && errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return err
		}
		for _, block := range chunk.ContentBlocks {
			b.WriteString(block.AssistantGenText.Text)
		}
		switch i % 3 {
		case 0:
			cancel()
		case 1:
			return nil
		}
	}
	if want := fmt.Sprintf("%d-%d", i, i); i%3 == 2 && b.String() != want {
		return fmt.Errorf("answer %q, not %q", b.String(), want)
	}
	return nil
}
