package adk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// TestEagerCalls_WhichAreComplete: which calls are complete, by the pieces that they come in. Each line of pieces is
// index id name arguments, with - for none; what is wanted is what starts after each of them.
// Rules agent/E-5, agent/E-6, agent/E-7, agent/E-8, agent/E-9.
func TestEagerCalls_WhichAreComplete(t *testing.T) {
	for name, c := range map[string]struct {
		pieces string
		starts string // one line a piece
		err    string
	}{
		"whole":                      {"0 a f {}", "a f {}", ""},
		"whole without index":        {"- a f {}|- b f {}", "a f {}|b f {}", ""},
		"same index":                 {`0 a f {"x"|0 - - :1}`, `-|a f {"x":1}`, ""},
		"interleaved":                {`0 a f {|1 b g {|1 - - }|0 - - }`, `-|-|b g {}|a f {}`, ""},
		"name later":                 {`0 a - -|0 - f {}`, `-|a f {}`, ""},
		"ID last":                    {`0 - f {}|0 a - -`, `-|a f {}`, ""},
		"repeated ID and name":       {`0 a f {|0 a f }`, `-|a f {}`, ""},
		"no index, continued":        {`- a f {|- - - }`, `-|a f {}`, ""},
		"no index, new ID":           {`- a f {|- b f {}`, `-|b f {}`, ""},
		"no index, same ID":          {`- a f {|- a - }`, `-|a f {}`, ""},
		"blanks":                     {"0 a f ·|0 - - ··", "-|-", ""},
		"blanks around":              {"0 a f ·{}·", "a f ·{}·", ""},
		"array":                      {"0 a f []", "-", ""},
		"bare word":                  {"0 a f null", "-", ""},
		"not valid":                  {"0 a f {x}", "-", ""},
		"two objects":                {"0 a f {}{}", "-", ""},
		"bracket in text":            {`0 a f {"x":"}|0 - - "}`, `-|a f {"x":"}"}`, ""},
		"escaped quote":              {`0 a f {"x":"\|0 - - "}"}`, `-|a f {"x":"\"}"}`, ""},
		"once":                       {"0 a f {}|0 - - ·", "a f {}|-", ""},
		"no ID":                      {"0 - f {}", "-", ""},
		"no name":                    {"0 a - {}", "-", ""},
		"conflicting IDs":            {"0 a f {|0 b - }", "-|-", "conflicting tool call ID in same accumulator"},
		"conflicting names":          {"0 a f {|0 - g }", "-|-", "conflicting tool call name in same accumulator"},
		"no conflict without index":  {"- a f {|- b g {}|- - - ·", "-|b g {}|-", ""},
		"indexes that start above 0": {"5 a f {}|7 b f {}", "a f {}|b f {}", ""},
		"nothing but an index":       {"0 - - -", "-", ""},
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

// TestEagerCalls_ConflictingTypes: types conflict like names do, and Extra is that of the first piece with one.
// Rule agent/E-5.
func TestEagerCalls_ConflictingTypes(t *testing.T) {
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

// TestEagerCalls_OfAgenticChunks: calls of agentic chunks, with the place of their block.
// Rule agent/E-10.
func TestEagerCalls_OfAgenticChunks(t *testing.T) {
	m := agenticChunk("text", wanted{"f", "a", "{}"})
	m.ContentBlocks = append(m.ContentBlocks, nil, &schema.ContentBlock{}, schema.NewContentBlock(&schema.FunctionToolCall{CallID: "b", Name: "g"}))
	calls := agenticOps.callChunks(m)
	require.Len(t, calls, 2)
	require.Equal(t, 1, *calls[0].Index)
	require.Equal(t, "a", calls[0].ID)
	require.Nil(t, calls[1].Index)
	require.Empty(t, agenticOps.callChunks(nil))
}
