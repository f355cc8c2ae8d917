package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

const benchChunks = 2000

func benchStream() string {
	pieces := make([]string, benchChunks)
	for i := range pieces {
		pieces[i] = " some words of it"
	}
	return sse(messageEvents("end_turn", textEvents(0, pieces...))...)
}

// BenchmarkChunk measures what the adapter spends on a chunk of text: reading the events and making messages of them.
func BenchmarkChunk(b *testing.B) {
	body := benchStream()
	m := newAgentic(b, roundTrip(nil))
	for b.Loop() {
		chunks := openChunks(b, m, body)
		for {
			if _, err := chunks.Next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		chunks.Finish()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchChunks), "ns/chunk")
}

func openChunks(t testing.TB, m *AgenticModel, body string) kit.Chunks[*schema.AgenticMessage] {
	e := *m.engine
	conf := testConfig(streaming(body))
	e.client = kit.NewClient(conf.client())
	chunks, err := e.Open(context.Background(), questionBlocks, nil, true)
	require.NoError(t, err)
	return chunks
}

// BenchmarkChunkByHand is the twin of BenchmarkChunk: the least that reads the same bytes.
func BenchmarkChunkByHand(b *testing.B) {
	body := benchStream()
	for b.Loop() {
		text := 0
		lines := bufio.NewScanner(strings.NewReader(body))
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok {
				continue
			}
			var e struct {
				Type  string `json:"type"`
				Index int    `json:"index"`
				Delta struct {
					Type string `json:"type"`
					Text string `json:"text"`
				} `json:"delta"`
			}
			if err := json.Unmarshal(data, &e); err != nil {
				b.Fatal(err)
			}
			text += len(e.Delta.Text)
		}
		if text == 0 {
			b.Fatal("no text")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchChunks), "ns/chunk")
}

// A chunk of text costs no more than six allocations.
func TestChunk_CostsFewAllocations(t *testing.T) {
	body := benchStream()
	m := newAgentic(t, roundTrip(nil))
	allocs := testing.AllocsPerRun(5, func() {
		chunks := openChunks(t, m, body)
		for {
			if _, err := chunks.Next(); err != nil {
				require.Equal(t, io.EOF, err)
				break
			}
		}
		chunks.Finish()
	})
	require.LessOrEqual(t, allocs/benchChunks, 6.0)
}
