package gemini_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/gemini"
)

const benchChunks = 2000

// benchBody is a stream of so many chunks of text, as the service sends them.
func benchBody(chunks int) string {
	var events []string
	for n := range chunks {
		finish := ""
		if n == chunks-1 {
			finish = `"finishReason": "STOP",`
		}
		events = append(events, fmt.Sprintf(`{"candidates": [{"content": {"parts": [{"text": "The weather in Florence, %d"}],`+
			`"role": "model"},%s"index": 0}],"usageMetadata": {"promptTokenCount": 146,"candidatesTokenCount": %d,"totalTokenCount": %d,`+
			`"promptTokensDetails": [{"modality": "TEXT","tokenCount": 146}]},"modelVersion": "gemini-2.5-flash","responseId": `+
			`"0ACzaenoJ4Hnz7IPzoP0gAw"}`, n, finish, n, 146+n))
	}
	return sse(events...)
}

// benchModel returns a model whose service streams a body.
func benchModel(t testing.TB, body string) *gemini.AgenticModel {
	return agentic(t, &gemini.Config{APIKey: "k", Model: "m", HTTPClient: &http.Client{Transport: transport(
		func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body: io.NopCloser(strings.NewReader(body))}, nil
		})}})
}

// BenchmarkChunk measures a chunk of streamed text: reading it alone, and through a whole model with its reader.
func BenchmarkChunk(b *testing.B) {
	body := benchBody(benchChunks)
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NotZero(b, readByHand(b, body))
		}
		perChunk(b)
	})
	b.Run("engine", func(b *testing.B) {
		m := benchModel(b, body)
		b.ReportAllocs()
		for b.Loop() {
			readEngine(b, m)
		}
		perChunk(b)
	})
	b.Run("model", func(b *testing.B) {
		m := benchModel(b, body)
		b.ReportAllocs()
		for b.Loop() {
			sr, err := m.Stream(b.Context(), hello)
			require.NoError(b, err)
			for _, err := range sr.All() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		perChunk(b)
	})
}

func perChunk(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}

// readByHand reads a stream with the standard library and nothing else.
func readByHand(b testing.TB, body string) (n int) {
	scanner := bufio.NewScanner(strings.NewReader(body))
	for scanner.Scan() {
		data, ok := bytes.CutPrefix(scanner.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e struct {
			Candidates []struct {
				Content      struct{ Parts []struct{ Text string } }
				FinishReason string
			}
			UsageMetadata struct{ PromptTokenCount, CandidatesTokenCount, TotalTokenCount int }
		}
		if err := json.Unmarshal(data, &e); err != nil {
			b.Fatal(err)
		}
		n += len(e.Candidates[0].Content.Parts[0].Text)
	}
	return n
}

func readEngine(b testing.TB, m *gemini.AgenticModel) {
	chunks, err := m.Engine().Open(b.Context(), hello, nil, true)
	require.NoError(b, err)
	for {
		_, err := chunks.Next()
		if err == io.EOF {
			chunks.Finish()
			return
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestChunk_Allocations holds the cost of a chunk of text down.
func TestChunk_Allocations(t *testing.T) {
	few, many := benchModel(t, benchBody(100)), benchModel(t, benchBody(1100))
	allocs := func(m *gemini.AgenticModel) float64 { return testing.AllocsPerRun(5, func() { readEngine(t, m) }) }
	perChunk := (allocs(many) - allocs(few)) / 1000
	require.LessOrEqual(t, perChunk, 6.0)
}
