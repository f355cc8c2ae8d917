package openai

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

var madeUp = regexp.MustCompile(`^call_[0-9a-f]{24}$`)

func TestToolCalls_Dialects(t *testing.T) {
	type call = schema.ToolCall
	add := call{ID: "1", Type: "function", Function: schema.FunctionCall{Name: "add", Arguments: `{"a":1}`}}
	mul := call{ID: "2", Type: "function", Function: schema.FunctionCall{Name: "mul", Arguments: `{"b":2}`}}
	two := []call{add, mul}
	again := add
	again.ID = "2"
	for name, c := range map[string]struct {
		chunks []string // the tool_calls of each chunk
		want   []call
	}{
		"as the API says": {[]string{
			`[{"index":0,"id":"1","type":"function","function":{"name":"add","arguments":""}}]`,
			`[{"index":0,"function":{"arguments":"{\"a\""}}]`, `[{"index":0,"function":{"arguments":":1}"}}]`,
			`[{"index":1,"id":"2","type":"function","function":{"name":"mul","arguments":""}}]`,
			`[{"index":1,"function":{"arguments":"{\"b\":2}"}}]`,
		}, two},
		"interleaved": {[]string{
			`[{"index":0,"id":"1","function":{"name":"add"}},{"index":1,"id":"2","function":{"name":"mul"}}]`,
			`[{"index":1,"function":{"arguments":"{\"b\""}},{"index":0,"function":{"arguments":"{\"a\":"}}]`,
			`[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":":2}"}}]`,
		}, two},
		"whole calls without index": {[]string{
			`[{"id":"1","function":{"name":"add","arguments":"{\"a\":1}"}}]`,
			`[{"id":"2","function":{"name":"mul","arguments":"{\"b\":2}"}}]`,
		}, two},
		"whole calls without index in one chunk": {[]string{
			`[{"id":"1","function":{"name":"add","arguments":"{\"a\":1}"}},{"id":"2","function":{"name":"mul","arguments":"{\"b\":2}"}}]`,
		}, two},
		"pieces without index": {[]string{
			`[{"id":"1","function":{"name":"add","arguments":"{\"a\""}}]`, `[{"function":{"arguments":":1}"}}]`,
			`[{"id":"2","function":{"name":"mul","arguments":"{\"b\""}}]`, `[{"function":{"arguments":":2}"}}]`,
		}, two},
		"pieces with ID and name again": {[]string{
			`[{"index":0,"id":"1","type":"function","function":{"name":"add","arguments":"{\"a\""}}]`,
			`[{"index":0,"id":"1","type":"function","function":{"name":"add","arguments":":1}"}}]`,
			`[{"index":1,"id":"2","type":"function","function":{"name":"mul","arguments":"{\"b\""}}]`,
			`[{"index":1,"id":"2","type":"function","function":{"name":"mul","arguments":":2}"}}]`,
		}, two},
		"pieces by ID alone": {[]string{
			`[{"id":"1","function":{"name":"add","arguments":"{\"a\""}},{"id":"2","function":{"name":"mul","arguments":"{\"b\""}}]`,
			`[{"id":"1","function":{"arguments":":1}"}},{"id":"2","function":{"arguments":":2}"}}]`,
		}, two},
		"every call is number 0": {[]string{
			`[{"index":0,"id":"1","function":{"name":"add","arguments":"{\"a\":1}"}}]`,
			`[{"index":0,"id":"2","function":{"name":"mul","arguments":"{\"b\":2}"}}]`,
		}, two},
		"every call is number 0, the same tool": {[]string{
			`[{"index":0,"id":"1","function":{"name":"add","arguments":"{\"a\""}}]`,
			`[{"index":0,"function":{"arguments":":1}"}}]`,
			`[{"index":0,"id":"2","function":{"name":"add","arguments":"{\"a\""}}]`,
			`[{"index":0,"function":{"arguments":":1}"}}]`,
		}, []call{add, again}},
		"an ID for every piece": {[]string{
			`[{"index":0,"id":"1","function":{"name":"add","arguments":""}}]`,
			`[{"index":0,"id":"x","function":{"arguments":"{\"a\""}}]`, `[{"index":0,"id":"y","function":{"arguments":":1}"}}]`,
		}, []call{add}},
		"name behind the ID": {[]string{
			`[{"index":0,"id":"1","function":{}}]`, `[{"index":0,"function":{"name":"add"}}]`,
			`[{"index":0,"function":{"arguments":"{\"a\":1}"}}]`,
		}, []call{add}},
		"arguments as JSON": {[]string{`[{"index":0,"id":"1","function":{"name":"add","arguments":{"a":1}}}]`}, []call{add}},
		"null fields": {[]string{
			`[{"index":0,"id":"1","type":null,"function":{"name":"add","arguments":null}}]`,
			`[{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{\"a\":1}"}}]`,
		}, []call{add}},
		"absurd index": {[]string{`[{"index":-5,"id":"1","function":{"name":"add","arguments":"{\"a\":1}"}}]`}, []call{add}},
	} {
		t.Run(name, func(t *testing.T) {
			m := streamedCalls(t, c.chunks)
			require.Len(t, m.ToolCalls, len(c.want))
			for i, got := range m.ToolCalls {
				require.Equal(t, i, *got.Index)
				got.Index = nil
				require.Equal(t, c.want[i], got)
			}
		})
	}
}

func streamedCalls(t *testing.T, chunks []string) *schema.Message {
	var body strings.Builder
	for _, c := range chunks {
		body.WriteString(`data: {"choices":[{"index":0,"delta":{"tool_calls":` + c + `}}]}` + "\n\n")
	}
	return joined(t, stream(t, newModel(t, streaming(body.String()+stopChunk+doneChunk))))
}

func TestToolCalls_WithoutID(t *testing.T) {
	for name, chunks := range map[string][]string{
		"with index": {
			`[{"index":0,"function":{"name":"add","arguments":"{\"a\""}}]`, `[{"index":0,"function":{"arguments":":1}"}}]`,
			`[{"index":1,"function":{"name":"add","arguments":"{\"a\":1}"}}]`,
		},
		"without index": {`[{"function":{"name":"add","arguments":"{\"a\":1}"}},{"function":{"name":"add","arguments":"{\"a\":1}"}}]`},
		"name again, without index": {`[{"function":{"name":"add","arguments":"{\"a\":"}}]`,
			`[{"function":{"name":"add","arguments":"1}"}},{"function":{"name":"add","arguments":"{\"a\":1}"}}]`},
		"ID that comes too late": {`[{"index":0,"function":{"name":"add","arguments":"{\"a\":1}"}}]`,
			`[{"index":0,"id":"late","function":{"name":"add","arguments":""}}]`,
			`[{"index":1,"function":{"name":"add","arguments":"{\"a\":1}"}}]`},
		"every call is number 0": {`[{"index":0,"function":{"name":"add","arguments":"{\"a\":1}"}}]`,
			`[{"index":0,"function":{"name":"add","arguments":"{\"a\":1}"}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			m := streamedCalls(t, chunks)
			require.Len(t, m.ToolCalls, 2)
			for _, c := range m.ToolCalls {
				require.Regexp(t, madeUp, c.ID)
				require.Equal(t, schema.FunctionCall{Name: "add", Arguments: `{"a":1}`}, c.Function)
			}
			require.NotEqual(t, m.ToolCalls[0].ID, m.ToolCalls[1].ID)
		})
	}
	m := answerOf(t,
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":"now","arguments":""}},{"function":{"name":"now"}}]}}]}`)
	require.Len(t, m.ToolCalls, 2)
	require.Regexp(t, madeUp, m.ToolCalls[0].ID)
	require.Nil(t, m.ToolCalls[0].Index)
	require.Equal(t, "function", m.ToolCalls[0].Type)
}

func TestToolCalls_FirstChunkHasAllThatIsKnown(t *testing.T) {
	body := `data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}` + "\n\n" + doneChunk
	sr := stream(t, newModel(t, streaming(body)))
	defer sr.Close()
	first, err := sr.Recv()
	require.NoError(t, err)
	require.Regexp(t, madeUp, first.ToolCalls[0].ID)
	second, err := sr.Recv()
	require.NoError(t, err)
	require.Equal(t, schema.ToolCall{Index: new(0), Function: schema.FunctionCall{Arguments: "}"}}, second.ToolCalls[0])
}

func TestToolCalls_ExtraContentComesBack(t *testing.T) {
	const signed = `{"id":"1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"abc"}}}`
	m := answerOf(t, `{"choices":[{"message":{"tool_calls":[`+signed+`]}}]}`)
	require.JSONEq(t, `[{"role":"assistant","tool_calls":[`+signed+`]},{"role":"tool","tool_call_id":"1","content":""}]`, sentMessages(t, unchanged, m, schema.ToolMessage("", "1")))
	m = streamedCalls(t, []string{`[` + signed + `]`})
	require.JSONEq(t, `[{"role":"assistant","tool_calls":[`+signed+`]},{"role":"tool","tool_call_id":"1","content":""}]`, sentMessages(t, unchanged, m, schema.ToolMessage("", "1")))
}

// TestToolCalls_AnythingCanBeJoined feeds chunks that no server would send.
func TestToolCalls_AnythingCanBeJoined(t *testing.T) {
	pick := func(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 0))
		var tracker callTracker
		var joined schema.MessageAccumulator
		var want string
		for range r.IntN(12) {
			var c toolCall
			if r.IntN(3) > 0 {
				c.Index = new(r.IntN(4) - 1)
			}
			c.ID, c.Type = pick(r, "", "a", "b"), pick(r, "", "function", "custom")
			c.Function.Name = pick(r, "", "", "f", "g")
			c.Function.Arguments = arguments(pick(r, "", "{", "}", "{}", `"x"`))
			want += string(c.Function.Arguments)
			require.NoError(t, joined.Add(&schema.Message{ToolCalls: tracker.add(nil, c, place{}, false)}), seed)
		}
		m, err := joined.Message()
		require.NoError(t, err, seed)
		var got int
		for _, call := range m.ToolCalls {
			require.NotEmpty(t, call.ID, seed)
			require.NotEmpty(t, call.Type, seed)
			require.NotNil(t, call.Index, seed)
			got += len(call.Function.Arguments)
		}
		require.Equal(t, len(want), got, seed)
	}
}
