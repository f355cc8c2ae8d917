package openai

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func repeated(entry string, n int) string {
	return strings.TrimSuffix(strings.Repeat(entry+",", n), ",")
}

// A response that is small on the wire, as gzip makes it, must not fill the memory.
func TestLimits_ListsOfAResponse(t *testing.T) {
	const many = 600_000
	for name, test := range map[string]struct{ body, want string }{
		"tool calls": {`{"choices":[{"message":{"tool_calls":[` + repeated("{}", many) + `]}}]}`,
			"more than 4096 entries in tool_calls"},
		"choices": {`{"choices":[` + repeated("{}", many) + `]}`, "more than 1024 entries in choices"},
		"name in upper": {`{"choices":[{"message":{"TOOL_CALLS" : [` + repeated("{}", many) + `]}}]}`,
			"more than 4096 entries in tool_calls"},
		"name with escapes": {`{"choices":[{"message":{"tool\u005fcalls":[` + repeated("{}", many) + `]}}]}`,
			"more than 4096 entries in tool_calls"},
		"images": {`{"choices":[{"message":{"images":[` + repeated("{}", many) + `]}}]}`,
			"more than 1024 entries in images"},
		"parts": {`{"choices":[{"message":{"content":[` + repeated("{}", many) + `]}}]}`,
			"more than 500000 entries in content"},
		"annotations": {`{"choices":[{"message":{"annotations":[` + repeated("0", many) + `]}}]}`,
			"more than 50000 entries in annotations"},
		"reasoning details": {`{"choices":[{"message":{"reasoning_details":[` + repeated("0", many) + `]}}]}`,
			"more than 50000 entries in reasoning_details"},
		"log probabilities": {`{"choices":[{"message":{},"logprobs":{"content":[` + repeated("{}", many) + `]}}]}`,
			"more than 500000 entries in content"},
		"many lists": {
			`{"choices":[` + repeated(`{"message":{"tool_calls":[`+repeated("{}", 3000)+`]}}`, 1000) + `]}`,
			"more than 4096 entries in tool_calls",
		},
		"nesting": {`{"choices":` + strings.Repeat("[", many) + strings.Repeat("]", many) + "}", "exceeded max depth"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := newModel(t, whole(test.body)).Generate(t.Context(), question)
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, test.want)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*len(test.body)+10<<20))
		})
	}
}

func TestLimits_LargeAnswersPass(t *testing.T) {
	text, _ := json.Marshal(strings.Repeat(`tool_calls":[,,,{\`, 100_000))
	token := `{"token":"x","logprob":-1,"bytes":[1,2,3],"top_logprobs":[` +
		repeated(`{"token":"y","logprob":-2,"bytes":[1]}`, 20) + `]}`
	m := answerOf(t, `{"choices":[{"message":{"content":`+string(text)+`,"tool_calls":[`+
		repeated(`{"id":"1","function":{"name":"f","arguments":"{}"}}`, 1000)+`]},"logprobs":{"content":[`+repeated(token,
		1000)+`]}}],
		"unknown":[`+repeated("0", 200_000)+`]}`)
	require.Len(t, m.ToolCalls, 1000)
	require.Len(t, m.ResponseMeta.LogProbs.Content, 1000)
	require.Len(t, m.Content, 1_800_000)
}

// None of the limits of a whole response can be evaded by sending it in pieces.
func TestLimits_Streams(t *testing.T) {
	delta := func(fields string) string { return `data: {"choices":[{"delta":{` + fields + `}}]}` + "\n\n" }
	for name, test := range map[string]struct {
		used        quota // by what came before
		event, want string
	}{
		"tool calls": {quota{}, delta(`"tool_calls":[` + repeated(`{"function":{"name":"f","arguments":"{}"}}`, 1000) + `]`),
			"more than 4096 tool calls"},
		"pieces": {quota{pieces: maxPieces - 10}, delta(`"tool_calls":[` + repeated(`{}`, 5) + `]`),
			"more than 1000000 pieces"},
		"media": {quota{pieces: maxPieces - 10}, delta(`"images":[` + repeated(`{}`, 5) + `]`), "more than 1000000 pieces"},
		"log probabilities": {
			quota{logProbs: maxLogProbs - 100},
			`data: {"choices":[{"logprobs":{"content":[{"top_logprobs":[` + repeated("{}", 30) + `]}]}}]}` + "\n\n",
			"more than 3000000 log probabilities",
		},
		"events": {quota{}, "data: {}\n\n", "more than 500000 events"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, answering("text/event-stream", &endlessly{text: test.event}))
			opened, err := m.Engine().Open(t.Context(), question, nil, true)
			require.NoError(t, err)
			defer opened.Close()
			s := opened.(*chunks)
			s.quota = test.used
			events := 0
			for ; err == nil; events++ {
				_, err = s.next()
			}
			require.ErrorContains(t, err, test.want)
			require.Greater(t, events, 1)
		})
	}
}

func TestLimits_SilentServer(t *testing.T) {
	silence := func(d time.Duration) func(*Config) {
		return func(c *Config) { c.IdleTimeout = &d }
	}
	for name, test := range map[string]struct {
		change func(*Config)
		after  time.Duration
	}{
		"default":    {unchanged, 5 * time.Minute},
		"configured": {silence(time.Second), time.Second},
		"none":       {silence(0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				sr := stream(t, newModel(t, answering("text/event-stream", w), test.change))
				w.chunks <- chunk("a")
				_, err := sr.Recv()
				require.NoError(t, err)
				if test.after > 0 {
					time.Sleep(test.after - 1)
				}
				w.chunks <- ": still there\n\n" // a sign of life
				start := time.Now()
				if test.after == 0 {
					time.Sleep(24 * time.Hour)
					w.chunks <- stopChunk + doneChunk
					_, err = sr.Recv()
					require.NoError(t, err)
					_, err = sr.Recv()
					require.Equal(t, io.EOF, err)
					return
				}
				_, err = sr.Recv()
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				require.ErrorContains(t, err, "silent for "+test.after.String())
				require.Equal(t, test.after, time.Since(start))
				<-w.closed
			})
		})
	}
}

// A reader that takes its time is no server that is silent.
func TestLimits_SlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat(chunk("a"), 10*streamBuffer) + stopChunk + doneChunk
		second := time.Second
		sr := stream(t, newModel(t, streaming(body), func(c *Config) { c.IdleTimeout = &second }))
		defer sr.Close()
		for {
			time.Sleep(time.Minute)
			if _, err := sr.Recv(); err == io.EOF {
				return
			} else {
				require.NoError(t, err)
			}
		}
	})
}

// completeByHand reports of a whole text what jsonObject finds out piece by piece.
func completeByHand(args string) bool {
	return strings.HasSuffix(strings.TrimSpace(args), "}") && json.Valid([]byte(args))
}

func TestJSONObject_IsCompleteWhenTheTextIsAnObject(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	complete := 0
	for range 50_000 {
		var o jsonObject
		text := ""
		for range r.IntN(8) {
			piece := []string{"{", "}", "{}", `"`, `"a":`, `\`, "[", "]", " ", "1", `{"a":"}"}`, `"\"}`, ","}[r.IntN(13)]
			o.write(piece)
			text += piece
			require.Equal(t, completeByHand(text), o.complete(), text)
		}
		if o.complete() {
			complete++
		}
	}
	require.NotZero(t, complete)
}

// The time for the calls of a stream grows with their number, not with its square.
func TestToolCalls_ManyPieces(t *testing.T) {
	var tracker callTracker
	for i := range 20_000 {
		var c toolCall
		c.Function.Name, c.Function.Arguments = "f", `[{}`
		if i > 0 {
			c.Function.Arguments = `,{}`
		}
		tracker.add(nil, c, place{}, false)
	}
	require.Len(t, tracker.all, 1)
	tracker = callTracker{}
	for i := range 20_000 {
		tracker.add(nil, toolCall{Index: new(i), ID: "x"}, place{}, false)
	}
	require.Len(t, tracker.all, 20_000)
	require.Len(t, tracker.add(nil, toolCall{}, place{}, false), 1)
}

// endlessly repeats a text.
type endlessly struct{ text, rest string }

func (e *endlessly) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A stream of the greatest length takes no more memory than a short one if its reader drops the chunks.
func TestStream_ManyChunksInBoundedMemory(t *testing.T) {
	const many = 100_000
	one := chunk("some words of the answer")
	body := io.MultiReader(io.LimitReader(&endlessly{text: one}, int64(many*len(one))), strings.NewReader(stopChunk+doneChunk))
	sr := stream(t, newModel(t, answering("text/event-stream", body)))
	defer sr.Close()
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	chunks := 0
	for _, err := range sr.All() {
		require.NoError(t, err)
		if chunks++; chunks%25_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			require.Less(t, int64(now.HeapAlloc)-int64(before.HeapAlloc), int64(1<<20))
		}
	}
	require.GreaterOrEqual(t, chunks, many)
}
