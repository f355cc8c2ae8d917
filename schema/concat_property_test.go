package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// randomChunk draws from few values, so that chunks agree and clash often.
func randomChunk(r *rand.Rand) *Message {
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	extra := func() map[string]any {
		switch r.IntN(4) {
		case 0:
			return map[string]any{pick("a", "b"): pick("x", "y")}
		case 1:
			return map[string]any{pick("a", "b", "n"): pick("x", "y"), "num": r.IntN(5), "nil": nil}
		}
		return nil
	}
	m := &Message{Content: pick("", "a", "b"), ReasoningContent: pick("", "r"),
		Role: RoleType(pick("", "", string(Assistant))), Extra: extra()}
	for range r.IntN(3) {
		call := ToolCall{Type: pick("", "function"), Function: FunctionCall{Arguments: pick("", "1", "2")}, Extra: extra()}
		if i := r.IntN(4); i < 3 {
			call.Index = &i
			call.ID = pick("", fmt.Sprint(i))
			if r.IntN(50) == 0 {
				call.ID = "other"
			}
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	for range r.IntN(3) {
		p := MessageOutputPart{Type: ChatMessagePartType(pick("text", "reasoning", "audio_url", "image_url")),
			Text: pick("", "t"), Extra: extra()}
		if i := r.IntN(3); i < 2 {
			p.StreamingMeta = &MessageStreamingMeta{Index: i}
		}
		if r.IntN(2) == 0 {
			p.Reasoning = &MessageOutputReasoning{Text: pick("a", "b"), Signature: pick("", "s")}
			p.Audio = &MessageOutputAudio{MessagePartCommon{Base64Data: pointer(pick("", "d")), MIMEType: pick("", "m")}}
		}
		m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, p)
	}
	return m
}

// modelToolCalls joins tool calls in the plainest form (rules schema/C20, schema/C21, schema/C22).
func modelToolCalls(chunks []*Message) (joined []ToolCall, ok bool) {
	byIndex := map[int]*ToolCall{}
	lowest, highest := 0, -1
	for _, m := range chunks {
		for _, c := range m.ToolCalls {
			if c.Index == nil {
				joined = append(joined, c)
				continue
			}
			lowest, highest = min(lowest, *c.Index), max(highest, *c.Index)
			have := byIndex[*c.Index]
			if have == nil {
				have = &ToolCall{Index: c.Index}
				byIndex[*c.Index] = have
			}
			for _, f := range []struct {
				have *string
				new  string
			}{{&have.ID, c.ID}, {&have.Type, c.Type}, {&have.Function.Name, c.Function.Name}} {
				if f.new != "" && *f.have != "" && f.new != *f.have {
					return nil, false
				}
				*f.have = cmpOr(*f.have, f.new)
			}
			have.Function.Arguments += c.Function.Arguments
			if have.Extra == nil {
				have.Extra = c.Extra
			}
		}
	}
	for i := lowest; i <= highest; i++ {
		if c := byIndex[i]; c != nil {
			joined = append(joined, *c)
		}
	}
	return joined, true
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestConcatMessages_Property(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var chunks []*Message
		var acc MessageAccumulator
		var text string
		for range r.IntN(8) {
			chunk := randomChunk(r)
			chunks = append(chunks, chunk)
			text += chunk.Content
			require.NoError(t, acc.Add(chunk))
		}
		before, err := json.Marshal(chunks)
		require.NoError(t, err)
		want, wantErr := ConcatMessages(chunks)
		got, err := acc.Message()
		require.Equal(t, wantErr, err)
		require.Equal(t, want, got)
		after, err := json.Marshal(chunks)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))

		model, ok := modelToolCalls(chunks)
		if !ok {
			require.ErrorContains(t, wantErr, "cannot concat ToolCalls with different tool id")
			continue
		}
		require.NoError(t, wantErr)
		require.Equal(t, model, want.ToolCalls)
		require.Equal(t, text, want.Content)
		// Joining in two steps must give the same texts and parts as joining at once.
		cut := r.IntN(len(chunks) + 1)
		first, second := mustConcat(t, chunks[:cut]...), mustConcat(t, chunks[cut:]...)
		two := mustConcat(t, first, second)
		require.Equal(t, want.Content, two.Content)
		require.Equal(t, want.AssistantGenMultiContent, two.AssistantGenMultiContent)
		require.Equal(t, want.Extra, two.Extra)
	}
}

// Joining takes time in proportion to the chunks, of whatever kind.
func TestConcatMessages_Linear(t *testing.T) {
	const n = 4000
	data := strings.Repeat("x", 100)
	for name, chunk := range map[string]func(i int) *Message{
		"text":      func(int) *Message { return &Message{Content: data} },
		"reasoning": func(int) *Message { return &Message{ReasoningContent: data} },
		"one call": func(int) *Message {
			return calls(ToolCall{Index: pointer(0), Function: FunctionCall{Arguments: data}})
		},
		"two calls": func(i int) *Message {
			return calls(ToolCall{Index: pointer(i % 2), Function: FunctionCall{Arguments: data}})
		},
		"many calls": func(i int) *Message { return calls(ToolCall{Index: pointer(n - i)}) },
		"text parts": func(int) *Message { return parts(MessageOutputPart{Type: ChatMessagePartTypeText, Text: data}) },
		"separate parts": func(i int) *Message {
			return parts(MessageOutputPart{Type: ChatMessagePartTypeText, Text: data,
				StreamingMeta: &MessageStreamingMeta{Index: i}})
		},
		"audio": func(int) *Message {
			return parts(MessageOutputPart{Type: ChatMessagePartTypeAudioURL,
				Audio: &MessageOutputAudio{MessagePartCommon{Base64Data: &data}}})
		},
		"extra":      func(int) *Message { return &Message{Extra: map[string]any{"k": data}} },
		"extra keys": func(i int) *Message { return &Message{Extra: map[string]any{fmt.Sprint(i): data}} },
		"log probs": func(int) *Message {
			return &Message{ResponseMeta: &ResponseMeta{LogProbs: &LogProbs{Content: make([]LogProb, 1)}}}
		},
	} {
		chunks := make([]*Message, n)
		for i := range chunks {
			chunks[i] = chunk(i)
		}
		elapsed, allocated := measure(func() { mustConcat(t, chunks...) })
		require.Less(t, elapsed, time.Second, name)
		require.Less(t, allocated, uint64(20*n*len(data)), name)
	}
}

// measure returns the time that f takes and the bytes it allocates.
func measure(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	return elapsed, after.TotalAlloc - before.TotalAlloc
}

// Rule schema/B15.3.14.
func TestConcatMessages_AllocatesLittle(t *testing.T) {
	chunks := make([]*Message, 1000)
	for i := range chunks {
		chunks[i] = AssistantMessage("some ", nil)
	}
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { mustConcat(t, chunks...) }), 10.0)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		var acc MessageAccumulator
		for _, chunk := range chunks {
			_ = acc.Add(chunk)
		}
		_, _ = acc.Message()
	}), 20.0)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { mustConcat(t, chunks[0]) }), 2.0)
}

func BenchmarkConcatMessages(b *testing.B) {
	text := make([]*Message, 1000)
	args := make([]*Message, 1000)
	for i := range text {
		text[i] = AssistantMessage("word ", nil)
		args[i] = calls(ToolCall{Index: pointer(i / 500), Function: FunctionCall{Arguments: "word "}})
	}
	for name, chunks := range map[string][]*Message{"Text1": text[:1], "Text1000": text, "ToolCalls1000": args} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ConcatMessages(chunks); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Accumulator1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var acc MessageAccumulator
			for _, chunk := range text {
				if err := acc.Add(chunk); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := acc.Message(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Whatever chunks a provider's adapter makes, joining them ends in a message or an error.
func FuzzConcatMessages(f *testing.F) {
	f.Add([]byte(`[{"role":"assistant","content":"a","tool_calls":[{"index":0,"id":"i","function":{"arguments":"{"}}]},{"extra":{"k":[1]}}]`))
	f.Add([]byte(`[{"assistant_output_multi_content":[{"type":"audio_url","audio":{"base64data":"a"}},{"type":"audio_url"}]},null]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var chunks []*Message
		if json.Unmarshal(data, &chunks) != nil {
			return
		}
		m, err := ConcatMessages(chunks)
		if (m == nil) == (err == nil) {
			t.Errorf("%s gave %v and %v", data, m, err)
		}
		_ = m.String()
	})
}

// The same for agentic messages.
func FuzzConcatAgenticMessages(f *testing.F) {
	f.Add([]byte(`[{"content_blocks":[{"type":"reasoning","reasoning":{"text":"a"},"streaming_meta":{"index":0}}]},{"content_blocks":[null]}]`))
	f.Add([]byte(`[{"content_blocks":[{"type":"server_tool_call","server_tool_call":{"arguments":{"a":[1]}},"streaming_meta":{}}]},{"extra":{}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var chunks []*AgenticMessage
		if json.Unmarshal(data, &chunks) != nil {
			return
		}
		m, err := ConcatAgenticMessages(chunks)
		if (m == nil) == (err == nil) {
			t.Errorf("%s gave %v and %v", data, m, err)
		}
		_ = m.String()
	})
}
