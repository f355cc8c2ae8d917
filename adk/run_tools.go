package adk

import (
	"context"

	"github.com/weftgo/weft/schema"
)

// ToolInfoOf returns the description of the tool that the innermost run of ctx calls by a name, which may be an alias:
// as the tool described itself when the run began or was resumed, after BeforeAgent and WrapTool. It is for reading. It
// returns nil for a name that no tool has, and outside of a run of a chat model agent. It does not block, and is safe
// for concurrent use from hooks and tools of the run; BeforeAgent itself comes too early.
func ToolInfoOf(ctx context.Context, name string) *schema.ToolInfo {
	r := innermostRun(ctx)
	if r == nil {
		return nil
	}
	return r.toolInfo(name)
}

func (r *agentRun[M]) toolInfo(name string) *schema.ToolInfo {
	if r.graph == nil {
		return nil
	}
	if own, ok := r.graph.canonical[name]; ok {
		name = own
	}
	for i := len(r.graph.infos) - 1; i >= 0; i-- { // a later tool takes the place of one of its name
		if info := r.graph.infos[i]; info != nil && info.Name == name {
			return info
		}
	}
	return nil
}
