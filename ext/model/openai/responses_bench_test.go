package openai

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

	"github.com/weftgo/weft/schema"
)

const responsesBenchChunks = 2000

// responsesBenchBody is a streamed answer as OpenAI sends it.
func responsesBenchBody() string {
	const at = `"item_id":"msg_0200025d411b0585016a3c13b6174481a392b9817b2c15a5b4"`
	var b strings.Builder
	for i := range responsesBenchChunks {
		fmt.Fprintf(&b, "event: response.output_text.delta\n"+`data: {"type":"response.output_text.delta","content_index":0,`+
			`"delta":" word%d",%s,"logprobs":[],"obfuscation":"%s","output_index":1,"sequence_number":%d}`+"\n\n",
			i, at, strings.Repeat("x", i%7), i)
	}
	b.WriteString(`data: {"type":"response.completed","response":{"id":"resp_1","status":"completed"}}` + "\n\n")
	return b.String()
}

type responsesBenchTransport string

func (body responsesBenchTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(string(body))),
	}, nil
}

func newResponsesBench(t testing.TB, body string) *responsesEngine {
	e, err := newResponsesEngine(&ResponsesConfig{
		APIKey: "the-key-of-the-test", Model: "gpt-5", HTTPClient: &http.Client{Transport: responsesBenchTransport(body)},
	})
	require.NoError(t, err)
	return e
}

// readResponsesBench reads an answer to its end.
func readResponsesBench(t testing.TB, e *responsesEngine) {
	chunks, err := e.Open(t.Context(), []*schema.AgenticMessage{schema.UserAgenticMessage("go")}, nil, true)
	require.NoError(t, err)
	for {
		if _, err := chunks.Next(); err != nil {
			require.Equal(t, io.EOF, err)
			break
		}
	}
	chunks.Finish()
}

// BenchmarkResponsesChunk measures what the adapter spends on a chunk of text: reading the events and making messages of
// them.
func BenchmarkResponsesChunk(b *testing.B) {
	body := responsesBenchBody()
	e := newResponsesBench(b, body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		readResponsesBench(b, e)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*responsesBenchChunks), "ns/chunk")
}

// BenchmarkResponsesChunkByHand is the twin of BenchmarkResponsesChunk: the least that reads the same bytes.
func BenchmarkResponsesChunkByHand(b *testing.B) {
	body := responsesBenchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		text := 0
		lines := bufio.NewScanner(strings.NewReader(body))
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok {
				continue
			}
			var e struct {
				Type    string `json:"type"`
				Output  int    `json:"output_index"`
				Content int    `json:"content_index"`
				Delta   string `json:"delta"`
			}
			if err := json.Unmarshal(data, &e); err != nil {
				b.Fatal(err)
			}
			text += len(e.Delta)
		}
		if text == 0 {
			b.Fatal("no text")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*responsesBenchChunks), "ns/chunk")
}

// A chunk of text costs no more than six allocations.
func TestResponsesChunk_CostsFewAllocations(t *testing.T) {
	e := newResponsesBench(t, responsesBenchBody())
	allocs := testing.AllocsPerRun(5, func() { readResponsesBench(t, e) })
	require.LessOrEqual(t, allocs/responsesBenchChunks, 6.0)
}
