package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// Holds providers/K18, providers/K19, providers/K20, providers/K21, providers/K27 and providers/K30.
func TestMisbehaviours(t *testing.T) {
	kittest.RunMisbehaviours(t, kittest.AnthropicStream("Grüße ", "an ", "日本", "."), func(ctx context.Context, url string) (string, error) {
		transport := new(http.Transport)
		defer transport.CloseIdleConnections()
		m, err := NewChatModel(ctx, &Config{APIKey: testKey, Model: "claude-sonnet-4-20250514", BaseURL: url, HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			return "", err
		}
		sr, err := m.Stream(ctx, question)
		if err != nil {
			return "", err
		}
		defer sr.Close()
		text := ""
		for chunk, err := range sr.All() {
			if err != nil {
				return text, err
			}
			text += chunk.Content
		}
		return text, nil
	})
}

// Holds providers/K21.
func TestStream_ASilentServerIsGivenUp(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(startEvent))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	sr, err := newAgentic(t, nil, at, func(c *Config) { c.IdleTimeout = new(20 * time.Millisecond) }).Stream(t.Context(), questionBlocks)
	require.NoError(t, err)
	_, err = readAll(t, sr)
	require.ErrorContains(t, err, "silent")
	require.True(t, kit.IsRetryable(err))
}

// A thousand answers at once, a third of which is not read to its end, on one model.
func TestStream_ManyAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	body := sse(searchEvents()...)
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	})
	m := newAgentic(t, nil, at)
	want, err := streamed(t, body)
	require.NoError(t, err)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 100)
	errs := make(chan error, 1000)
	for n := range 1000 {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs <- oneOfMany(m, n, want)
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// oneOfMany reads an answer: every third one in part, every fifth with a context that ends.
func oneOfMany(m *AgenticModel, n int, want *schema.AgenticMessage) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sr, err := m.Stream(ctx, questionBlocks)
	if err != nil {
		return err
	}
	defer sr.Close()
	var acc schema.AgenticMessageAccumulator
	for i := 0; ; i++ {
		chunk, err := sr.Recv()
		switch {
		case err == io.EOF:
			got, err := acc.Message()
			if err == nil && len(got.ContentBlocks) != len(want.ContentBlocks) {
				err = fmt.Errorf("%d blocks", len(got.ContentBlocks))
			}
			return err
		case n%5 == 0 && errors.Is(err, context.Canceled), n%3 == 0 && i == n%7:
			return nil
		case err != nil:
			return err
		}
		if err := acc.Add(chunk); err != nil {
			return err
		}
		if n%5 == 0 && i == n%11 {
			cancel()
		}
	}
}
