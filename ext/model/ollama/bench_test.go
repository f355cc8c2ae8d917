package ollama

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftgo/weft/schema"
)

const benchChunks = 2000

// benchBody is a streamed answer as Ollama sends it: thinking first, or text alone.
func benchBody(thinking bool) string {
	var body strings.Builder
	said := `"content":" word"`
	if thinking {
		said = `"content":"","thinking":" word"`
	}
	for i := range benchChunks {
		fmt.Fprintf(&body, `{"model":"qwen3:8b","created_at":"2026-11-22T20:00:00.%09dZ","message":{"role":"assistant",%s},"done":false}`+"\n", i, said)
	}
	body.WriteString(`{"model":"qwen3:8b","message":{"role":"assistant","content":"."},` + done + "\n")
	return body.String()
}

// BenchmarkStream is the cost of an answer of 2,000 chunks, from the bytes to the reader.
func BenchmarkStream(b *testing.B) {
	for name, thinking := range map[string]bool{"text": false, "thinking": true} {
		b.Run(name, func(b *testing.B) {
			body := benchBody(thinking)
			m := modelAt(b, "http://server.test", func(c *Config) { c.HTTPClient = &http.Client{Transport: answering(body)} })
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
					n += len(m.Content) + len(m.ReasoningContent)
				}
				if n < benchChunks {
					b.Fatal(n)
				}
			}
		})
	}
}

// BenchmarkByHand reads and decodes the same bytes with no more than that needs.
func BenchmarkByHand(b *testing.B) {
	body := benchBody(false)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		lines := bufio.NewScanner(strings.NewReader(body))
		n := 0
		for lines.Scan() {
			var l struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
				Done bool `json:"done"`
			}
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				b.Fatal(err)
			}
			m := &schema.Message{Role: schema.Assistant, Content: l.Message.Content}
			n += len(m.Content)
		}
		if n < benchChunks {
			b.Fatal(n)
		}
	}
}
