package runlog

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/callbacks"
)

// isNode reports whether a component is recorded as a node of a graph: one that is none of those with events of their
// own.
func isNode(info *callbacks.RunInfo) bool {
	switch info.Component {
	case adk.ComponentOfAgent, adk.ComponentOfAgenticAgent, components.ComponentOfChatModel,
		components.ComponentOfAgenticModel, components.ComponentOfTool:
		return false
	}
	return true
}

// nodeKey is the key of the node of a context. What is inside a node is inside the agent or the call all the same, so that a
// reader that leaves the events of nodes out has everything else as if they were not recorded.
type nodeKey struct{}

// nodeIn is the node of a context, nil if there is none.
func (r *recorder) nodeIn(ctx context.Context) *span {
	if s, ok := ctx.Value(nodeKey{}).(*span); ok && s.rec == r {
		return s
	}
	return nil
}

// startNode records that a node begins, with mu locked. Its parent is the node around it, if both are inside the same
// agent or call.
func (h *handler) startNode(ctx context.Context, info *callbacks.RunInfo, parent *span) context.Context {
	if around := h.nodeIn(ctx); around != nil && around.insideOf() == parent {
		parent = around
	}
	s := h.newSpan(nodeSpan, parent)
	start := &NodeStartData{Component: string(info.Component), Name: info.Name}
	if at := compose.GetCurrentAddress(ctx); len(at) > 0 && at[len(at)-1].Type == compose.AddressSegmentNode {
		start.Node = at[len(at)-1].ID
	}
	e := s.of(NodeStart, start)
	e.T = s.since
	h.emit(e)
	return context.WithValue(ctx, nodeKey{}, s)
}

// insideOf is the agent or the call that a node is inside of.
func (s *span) insideOf() *span {
	for s != nil && s.kind == nodeSpan {
		s = s.parent
	}
	return s
}

// endNode records that a node has ended.
func (h *handler) endNode(ctx context.Context, err error) {
	s := h.nodeIn(ctx)
	if s == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.phase != spanOpen {
		return
	}
	s.phase = spanClosed
	h.remove(s)
	h.emit(s.of(NodeEnd, &NodeEndData{Error: errOf(err)}))
}
