package adk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func TestClientTool_AnsweredFromOutside(t *testing.T) {
	info := &schema.ToolInfo{Name: "pick", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"color": {Type: schema.String, Required: true},
	})}
	pick, err := NewClientTool(info)
	require.NoError(t, err)
	for want, answer := range map[string]any{
		"blue": "blue", "green": &ClientToolResult{Text: "green"},
		"the window was closed": &ClientToolResult{Error: "the window was closed"},
	} {
		m := says(
			chatAnswer("", wanted{"pick", "1", `{}`}),
			chatAnswer("", wanted{"pick", "2", `{"color":"any"}`}, wanted{"pick", "3", `{"color":"two"}`}),
			chatAnswer("done"))
		a := setup[*schema.Message](t, m, []tool.BaseTool{pick}, reportsMistakes[*schema.Message](false))
		r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
		all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.Contains(t, linesOf(all), "tool pick#1: The call was not executed: color is required",
			"the client is not asked for nothing")
		stopped := all[len(all)-1].Action.Interrupted.InterruptContexts
		require.Len(t, stopped, 2)
		byCall := map[string]string{}
		for _, point := range stopped {
			call := point.Info.(*ClientToolCall)
			require.Equal(t, "pick", call.Name)
			byCall[call.CallID] = point.ID
		}
		it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{byCall["2"]: answer}})
		require.NoError(t, err)
		all = read(t, it)
		stopped = all[len(all)-1].Action.Interrupted.InterruptContexts
		require.Len(t, stopped, 1, "who is not answered asks again")
		require.Equal(t, &ClientToolCall{Name: "pick", CallID: "3", Arguments: `{"color":"two"}`}, stopped[0].Info)
		it, err = r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{stopped[0].ID: "red"}})
		require.NoError(t, err)
		all = read(t, it)
		require.Contains(t, linesOf(all), "assistant: done")
		last := m.transcript()[m.calls()-1]
		require.Equal(t, []string{"tool pick#2: " + want, "tool pick#3: red"}, last[len(last)-2:])
	}
	for _, info := range []*schema.ToolInfo{nil, {}} {
		_, err := NewClientTool(info)
		require.Error(t, err)
	}
}
func TestClientToolCall_IsListedWhateverItIsMadeWith(t *testing.T) {
	call := &ClientToolCall{Name: "locate", CallID: "c", Arguments: strings.Repeat("é", 16<<10)}
	q := runs.NewQuestion("q", call)
	require.True(t, q.Truncated)
	var listed ClientToolCall
	require.NoError(t, json.Unmarshal(q.Info, &listed))
	require.Equal(t, "locate c", listed.Name+" "+listed.CallID)
	require.True(t, strings.HasPrefix(call.Arguments, listed.Arguments) && listed.Arguments != "")
	require.Less(t, len(q.Info), 16<<10)
}
