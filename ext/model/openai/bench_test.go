package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftgo/weft/schema"
)

const benchChunks = 2000

// benchBody is a streamed answer as OpenAI sends it.
func benchBody() string {
	var b strings.Builder
	for i := range benchChunks {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-CPq2Jx8aBqQeC5EIvPUdEjAQoVAE2","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_eb3c3cb84d","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"%s"}`+"\n\n",
			i, strings.Repeat("x", i%7))
	}
	return b.String() + stopChunk + doneChunk
}

// BenchmarkStream is the cost of an answer of 2,000 chunks, from the bytes to the reader.
func BenchmarkStream(b *testing.B) {
	body := benchBody()
	m := newModel(b, roundTrip(func(req *http.Request) (*http.Response, error) { return streaming(body)(req) }))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		sr, err := m.Stream(b.Context(), question)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for m, err := range sr.All() {
			if err != nil {
				b.Fatal(err)
			}
			n += len(m.Content)
		}
		if n < benchChunks {
			b.Fatal(n)
		}
	}
}

// BenchmarkByHand reads and decodes the same bytes with no more than that needs.
func BenchmarkByHand(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		lines := bufio.NewScanner(strings.NewReader(body))
		n := 0
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok || string(data) == "[DONE]" {
				continue
			}
			var c struct {
				Choices []struct {
					Delta struct {
						Content string `json:"content"`
					} `json:"delta"`
					FinishReason string `json:"finish_reason"`
				} `json:"choices"`
			}
			if err := json.Unmarshal(data, &c); err != nil {
				b.Fatal(err)
			}
			m := &schema.Message{Role: schema.Assistant, Content: c.Choices[0].Delta.Content}
			n += len(m.Content)
		}
		if n < benchChunks {
			b.Fatal(n)
		}
	}
}
