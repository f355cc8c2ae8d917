package anthropic

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit/kittest"
)

// recordedSearch returns a recorded answer with the results of searches.
func recordedSearch(t testing.TB) []byte {
	t.Helper()
	for _, r := range kittest.Cassettes(t, "anthropic/web-search") {
		for _, i := range r.Load(t).Interactions {
			if body := []byte(i.Response.Body); bytes.Contains(body, []byte("web_search_tool_result")) {
				return body
			}
		}
	}
	t.Skip("the recordings are not there")
	return nil
}

// searched returns a question whose answer is the answer of a recording.
func searched(t testing.TB) (ask func(), size int) {
	body := string(recordedSearch(t))
	transport := roundTrip(func(req *http.Request) (*http.Response, error) { return whole(body)(req) })
	m := newAgentic(t, transport, func(c *Config) { c.ServerTools = []ServerTool{WebSearch{}.Tool()} })
	return func() {
		_, err := m.Generate(context.Background(), questionBlocks)
		require.NoError(t, err)
	}, len(body)
}

// BenchmarkWhole is a question whose answer comes whole and has the results of searches.
func BenchmarkWhole(b *testing.B) {
	ask, size := searched(b)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// Blocks of the server that came whole are kept as they came, and are not decoded into fields.
func TestWhole_ServerToolsCostFewAllocations(t *testing.T) {
	ask, _ := searched(t)
	require.LessOrEqual(t, testing.AllocsPerRun(20, ask), 1000.0)
}
