package eager

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// TestJoins_WhichAreComplete: which calls are complete, by the pieces that they come in. Each line of pieces is
// index id name arguments, with - for none; what is wanted is what starts after each of them.
// Rules agent/E-5, agent/E-6, agent/E-7, agent/E-8, agent/E-9.
func TestJoins_WhichAreComplete(t *testing.T) {
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
		var pieces joins
		var starts []string
		var last error
		for _, p := range strings.Split(c.pieces, "|") {
			call, _, err := pieces.add(piece(p))
			if err != nil {
				last = err
			}
			if call == nil {
				starts = append(starts, "-")
				continue
			}
			starts = append(starts, fmt.Sprintf("%s %s %s", call.ID, call.Function.Name,
				strings.ReplaceAll(call.Function.Arguments, " ", "·")))
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

// TestEagerCalls_ConflictingTypes: types conflict like names do, and Extra comes from the first piece that has one.
// Rule agent/E-5.
func TestJoins_ConflictingTypes(t *testing.T) {
	var pieces joins
	zero := 0
	_, _, err := pieces.add(&schema.ToolCall{Index: &zero, Type: "function", ID: "a", Extra: map[string]any{"k": 1}})
	require.NoError(t, err)
	call, _, err := pieces.add(&schema.ToolCall{Index: &zero, Extra: map[string]any{"k": 2, "more": 3},
		Function: schema.FunctionCall{Name: "f", Arguments: "{}"}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"k": 1}, call.Extra)
	_, _, err = pieces.add(&schema.ToolCall{Index: &zero, Type: "other"})
	require.ErrorContains(t, err, "conflicting tool call type in same accumulator")
}

// TestJoins_ArgumentsCostLinear: four times the arguments in four times the pieces cost four times as much.
func TestJoins_ArgumentsCostLinear(t *testing.T) {
	cost := func(kb int) float64 {
		args := `{"q":"` + strings.Repeat("abcd", kb*256) + `"}`
		return testing.AllocsPerRun(3, func() {
			var pieces joins
			call := schema.ToolCall{ID: "a", Function: schema.FunctionCall{Name: "f"}}
			var whole *schema.ToolCall
			for i := 0; i < len(args); i += 4 {
				call.Function.Arguments = args[i:min(i+4, len(args))]
				if done, _, err := pieces.add(&call); err != nil || done != nil {
					whole = done
				}
			}
			if whole == nil || whole.Function.Arguments != args {
				t.Error("the call is not complete")
			}
		})
	}
	require.Less(t, cost(256), 100.0, "the text grows geometrically, and nothing else is made")
}

func BenchmarkArguments(b *testing.B) {
	args := `{"q":"` + strings.Repeat("abcd", 256*256) + `"}`
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		var pieces joins
		call := schema.ToolCall{ID: "a", Function: schema.FunctionCall{Name: "f"}}
		for i := 0; i < len(args); i += 4 {
			call.Function.Arguments = args[i:min(i+4, len(args))]
			if _, _, err := pieces.add(&call); err != nil {
				b.Fatal(err)
			}
		}
	}
}
