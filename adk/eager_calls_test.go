package adk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// TestEagerCalls_E5_E9_C23_Pieces: which calls are complete, by the pieces that they come in. Each line of pieces is
// index id name arguments, with - for none; what is wanted is what starts after each of them.
func TestEagerCalls_E5_E9_C23_Pieces(t *testing.T) {
	for name, c := range map[string]struct {
		pieces string
		starts string // one line a piece
		err    string
	}{
		"E-6 whole":                     {"0 a f {}", "a f {}", ""},
		"E-6 whole without index":       {"- a f {}|- b f {}", "a f {}|b f {}", ""},
		"E-5 same index":                {`0 a f {"x"|0 - - :1}`, `-|a f {"x":1}`, ""},
		"E-5 interleaved":               {`0 a f {|1 b g {|1 - - }|0 - - }`, `-|-|b g {}|a f {}`, ""},
		"E-5 name later":                {`0 a - -|0 - f {}`, `-|a f {}`, ""},
		"E-5 ID last":                   {`0 - f {}|0 a - -`, `-|a f {}`, ""},
		"E-5 repeated ID and name":      {`0 a f {|0 a f }`, `-|a f {}`, ""},
		"E-7 no index, continued":       {`- a f {|- - - }`, `-|a f {}`, ""},
		"E-7 no index, new ID":          {`- a f {|- b f {}`, `-|b f {}`, ""},
		"E-7 no index, same ID":         {`- a f {|- a - }`, `-|a f {}`, ""},
		"E-8 blanks":                    {"0 a f ·|0 - - ··", "-|-", ""},
		"E-8 blanks around":             {"0 a f ·{}·", "a f ·{}·", ""},
		"E-8 array":                     {"0 a f []", "-", ""},
		"E-8 bare word":                 {"0 a f null", "-", ""},
		"E-8 not valid":                 {"0 a f {x}", "-", ""},
		"E-8 two objects":               {"0 a f {}{}", "-", ""},
		"E-8 bracket in text":           {`0 a f {"x":"}|0 - - "}`, `-|a f {"x":"}"}`, ""},
		"E-8 escaped quote":             {`0 a f {"x":"\|0 - - "}"}`, `-|a f {"x":"\"}"}`, ""},
		"E-9 once":                      {"0 a f {}|0 - - ·", "a f {}|-", ""},
		"E-9 no ID":                     {"0 - f {}", "-", ""},
		"E-9 no name":                   {"0 a - {}", "-", ""},
		"E-5 conflicting IDs":           {"0 a f {|0 b - }", "-|-", "conflicting tool call ID in same accumulator"},
		"E-5 conflicting names":         {"0 a f {|0 - g }", "-|-", "conflicting tool call name in same accumulator"},
		"E-7 no conflict without index": {"- a f {|- b g {}|- - - ·", "-|b g {}|-", ""},
		"C3 indexes that start above 0": {"5 a f {}|7 b f {}", "a f {}|b f {}", ""},
		"nothing but an index":          {"0 - - -", "-", ""},
	} {
		var joins callJoins
		var starts []string
		var last error
		for _, p := range strings.Split(c.pieces, "|") {
			call, err := joins.add(piece(p))
			if err != nil {
				last = err
			}
			if call == nil {
				starts = append(starts, "-")
				continue
			}
			starts = append(starts, fmt.Sprintf("%s %s %s", call.ID, call.Function.Name, strings.ReplaceAll(call.Function.Arguments, " ", "·")))
		}
		require.Equal(t, strings.Split(c.starts, "|"), starts, name)
		if c.err == "" {
			require.NoError(t, last, name)
		} else {
			require.ErrorContains(t, last, c.err, name)
		}
	}
}

// piece reads one piece: a dash is nothing, a dot in the middle is a blank.
func piece(line string) *schema.ToolCall {
	f := strings.SplitN(line, " ", 4)
	for i := range f {
		f[i] = strings.ReplaceAll(strings.TrimSuffix(f[i], "-"), "·", " ")
	}
	call := &schema.ToolCall{ID: f[1], Function: schema.FunctionCall{Name: f[2], Arguments: f[3]}}
	if f[0] != "" {
		var index int
		fmt.Sscan(f[0], &index)
		call.Index = &index
	}
	return call
}

// TestEagerCalls_E5_Types: types conflict like names do, and Extra is that of the first piece with one.
func TestEagerCalls_E5_Types(t *testing.T) {
	var joins callJoins
	zero := 0
	_, err := joins.add(&schema.ToolCall{Index: &zero, Type: "function", ID: "a", Extra: map[string]any{"k": 1}})
	require.NoError(t, err)
	call, err := joins.add(&schema.ToolCall{Index: &zero, Extra: map[string]any{"k": 2, "more": 3}, Function: schema.FunctionCall{Name: "f", Arguments: "{}"}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"k": 1}, call.Extra)
	_, err = joins.add(&schema.ToolCall{Index: &zero, Type: "other"})
	require.ErrorContains(t, err, "conflicting tool call type in same accumulator")
}

// TestEagerCalls_E10_Agentic: calls of agentic chunks, with the place of their block.
func TestEagerCalls_E10_Agentic(t *testing.T) {
	m := agenticChunk("text", wanted{"f", "a", "{}"})
	m.ContentBlocks = append(m.ContentBlocks, nil, &schema.ContentBlock{}, schema.NewContentBlock(&schema.FunctionToolCall{CallID: "b", Name: "g"}))
	calls := agenticOps.callChunks(m)
	require.Len(t, calls, 2)
	require.Equal(t, 1, *calls[0].Index)
	require.Equal(t, "a", calls[0].ID)
	require.Nil(t, calls[1].Index)
	require.Empty(t, agenticOps.callChunks(nil))
}
