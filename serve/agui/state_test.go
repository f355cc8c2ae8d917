package agui

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
)

// apply carries an operation out, as clients do (RFC 6902).
func apply(t *testing.T, in any, path []string, o operation) any {
	t.Helper()
	if len(path) == 0 {
		require.Equal(t, "replace", o.Op)
		return o.Value
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch v := in.(type) {
	case map[string]any:
		before, is := v[name]
		switch {
		case len(path) > 1:
			require.True(t, is)
			v[name] = apply(t, before, path[1:], o)
		case o.Op == "remove":
			require.True(t, is, "what is removed is there")
			delete(v, name)
		default:
			require.Equal(t, o.Op == "replace", is)
			v[name] = o.Value
		}
		return v
	case []any:
		if name == "-" {
			require.Equal(t, "add", o.Op)
			return append(v, o.Value)
		}
		i, err := strconv.Atoi(name)
		require.NoError(t, err)
		if v[i] = apply(t, v[i], path[1:], o); len(path) == 1 {
			require.Equal(t, "replace", o.Op)
		}
		return v
	}
	require.Fail(t, "there is nothing at the path", "%v of %v", path, in)
	return nil
}

// anything is a value as JSON has them, and other is one that has much of another.
func anything(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2 || depth == 0:
		return json.Number(fmt.Sprint(r.IntN(5)))
	case n == 3:
		return fmt.Sprint("text", r.IntN(3))
	case n < 6:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, anything(r, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(4) {
		object[[]string{"a", "b/c", "~", "", "~1"}[r.IntN(5)]] = anything(r, depth-1)
	}
	return object
}

func other(r *rand.Rand, than any, depth int) any {
	if r.IntN(4) == 0 {
		return anything(r, depth)
	}
	switch v := than.(type) {
	case map[string]any:
		object := map[string]any{}
		for name, item := range v {
			if r.IntN(5) > 0 {
				object[name] = other(r, item, depth-1)
			}
		}
		return object
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, other(r, item, depth-1))
		}
		if r.IntN(2) == 0 {
			list = append(list, anything(r, max(0, depth-1)))
		}
		return list
	}
	return than
}

func TestDiff_MakesOneValueOfTheOther(t *testing.T) {
	clone := func(v any) any {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		value, err := decoded(data)
		require.NoError(t, err)
		return value
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		from := anything(r, 4)
		to := other(r, from, 4)
		ops := diff(nil, "", clone(from), clone(to))
		got := clone(from)
		for _, o := range ops {
			path := strings.Split(o.Path, "/")[1:]
			if o.Path == "" {
				path = nil
			}
			got = apply(t, got, slices.Clone(path), o)
		}
		require.Equal(t, to, got, "%v", ops)
		require.Empty(t, diff(nil, "", clone(to), clone(to)))
	}
}

func FuzzDecoded(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.50,null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := decoded(data); err == nil {
			_ = diff(nil, "", v, map[string]any{"a": []any{}})
		}
	})
}

// lines counts what the page and the agent write into one document.
type lines struct {
	Lines []string `json:"lines"`
	Text  string   `json:"text,omitempty"`
}

func writer(t *testing.T) tool.BaseTool {
	w, err := utils.InferTool("write", "Writes a line.", func(ctx context.Context, in struct {
		Line string `json:"line"`
	}) (string, error) {
		var doc lines
		if _, err := State(ctx, &doc); err != nil {
			return "", err
		}
		doc.Lines = append(doc.Lines, in.Line)
		return "written", SetState(ctx, doc)
	})
	require.NoError(t, err)
	return w
}

// states are the events of a stream that show state.
func states(body string) (all []string) {
	for _, line := range strings.Split(body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"type":"STATE_`) {
			all = append(all, data)
		}
	}
	return all
}

// Rule serving/AG4.
func TestState_IsSharedWithThePage(t *testing.T) {
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"ask"}})
	require.NoError(t, err)
	post, _ := pageOf(t, Config{AllowState: true}, adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{guard},
		ToolsConfig: adktest.Tools(writer(t), adktest.NewTool("ask", adktest.Says("fine")))},
		adktest.Calls(adktest.Call("write", `{"line":"two"}`)), adktest.Calls(adktest.Call("ask", `{}`)),
		adktest.Calls(adktest.Call("write", `{"line":"three"}`)), adktest.Says("Done."))
	in := func(more string) string {
		return `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"Write"}],"tools":[],"context":[],` + more + `}`
	}
	post(413, in(`"state":"`+strings.Repeat("x", maxState)+`"`))
	text := `"text":"` + strings.Repeat("long ", 20) + `"`
	asked := post(200, in(`"state":{"lines":["one"],`+text+`}`))
	require.Equal(t, []string{`{"type":"STATE_SNAPSHOT","snapshot":{"lines":["one"],` + text + `}}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/lines/-","value":"two"}]}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"lines":["one","two"],` + text + `}}`}, states(asked), "the last one before it asks")
	_, rest, _ := strings.Cut(asked, `"interrupts":[{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	done := post(200, in(`"state":{"lines":["forged"]},"resume":[{"interruptId":"`+id+`","status":"resolved","payload":{"approved":true}}]`))
	require.Equal(t, []string{`{"type":"STATE_SNAPSHOT","snapshot":{"lines":["one","two"],` + text + `}}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/lines/-","value":"three"}]}`}, states(done), "the run has the state that it had")
}

func TestState_OfAPageIsLeftOutUnlessItIsAllowed(t *testing.T) {
	post, _ := pageOf(t, Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(writer(t))},
		adktest.Calls(adktest.Call("write", `{"line":"one"}`)), adktest.Says("Done."))
	body := post(200, `{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"Write"}],"tools":[],"context":[],"state":{"lines":["forged"]}}`)
	require.Equal(t, []string{`{"type":"STATE_SNAPSHOT","snapshot":{"lines":["one"]}}`}, states(body))
}

func TestSetState_FailsOutsideARun(t *testing.T) {
	require.ErrorContains(t, SetState(t.Context(), 1), "agui.SetState: ")
	require.ErrorContains(t, SetState(t.Context(), func() {}), "cannot be expressed in JSON")
	found, err := State(t.Context(), new(int))
	require.NoError(t, err)
	require.False(t, found)
}
