package adk

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
)

// TestMatrix_FeaturesOnEveryPath runs the features of feature_matrix_test.go on all the paths that a run can take.
// Rules agent/F-1, agent/FA-5, agent/FA-7, agent/H-1, agent/H-2, agent/H-5, agent/H-8, agent/H-11, agent/H-14,
// agent/H-15, agent/H-16, agent/L-4, agent/MW-1, agent/MW-2, agent/R-4, agent/RD-5, agent/RL-1, agent/W-7.
func TestMatrix_FeaturesOnEveryPath(t *testing.T) {
	bubbled(t, testMatrix[ordinary], testMatrix[agentic])
}

func testMatrix[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for name, feat := range features[M]() {
		for _, path := range []string{"no tools", "tools", "resume"} {
			if feat.withTools && path == "no tools" {
				continue
			}
			name := fmt.Sprintf("%s/%s streaming=%v %T", name, path, streaming, d.nothing)
			f := &field[M]{t: t, d: d, streaming: streaming, tools: path != "no tools", interrupted: path == "resume"}
			f.model = says(d.answer("done"))
			f.conf = &TypedChatModelAgentConfig[M]{Name: "tester", Model: f.model}
			var asks diary
			if f.tools {
				f.model.answers = [][]M{{d.answer("", wanted{"t", "c1", object})}, {d.answer("done")}}
				f.conf.ToolsConfig.Tools = []tool.BaseTool{echo("t")}
			}
			if f.interrupted {
				f.conf.ToolsConfig.Tools = []tool.BaseTool{asksFirst("t", &asks)}
			}
			if feat.grow != nil {
				feat.grow(f)
			}
			if f.conf.Model == nil {
				f.conf.Model = f.model
			}
			a, err := NewTypedChatModelAgent(t.Context(), f.conf)
			require.NoError(t, err, name)
			all := read(t, bare(t.Context(), a, streaming, f.options...))
			if f.interrupted {
				require.NotEmpty(t, all, name)
				last := all[len(all)-1]
				require.NotNil(t, last.Action, "%s: %v %v", name, linesOf(all), last.Err)
				require.NotNil(t, last.Action.Interrupted, name)
				rest := read(t, continueFrom(t.Context(), t, a, all, streaming, f.options...))
				all = append(all[:len(all)-1], rest...)
				require.Equal(t, []string{"t#c1 resumed=false", "t#c1 resumed=true"}, asks.all(), name)
			}
			want := f.story()
			if feat.events != nil {
				want = feat.events(f, want)
			}
			for _, o := range all {
				require.NoError(t, o.Err, name)
			}
			require.Equal(t, want, linesOf(all), name)
			checkIDs(t, name, all)
			if feat.check != nil {
				feat.check(f)
			}
		}
	}
}

// checkIDs: every message event has an ID of its own.
func checkIDs[M MessageType](t *testing.T, name string, all []observed[M]) {
	t.Helper()
	seen := map[string]bool{}
	for i := range all {
		if all[i].Output == nil || all[i].Output.MessageOutput == nil || all[i].broken != nil {
			continue
		}
		require.False(t, seen[all[i].id()], name)
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, all[i].id(),
			"%s: event %d", name, i)
		seen[all[i].id()] = true
	}
}
