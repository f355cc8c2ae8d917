package mcptool

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outgoing sees all requests to the server on their way, and what they are answered with.
func (s *Server) outgoing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if p, ok := r.GetParams().(*mcp.InitializeParams); ok && p != nil {
			s.declare(p)
		}
		if _, ours := ctx.Value(passageKey{}).(*passage); ours {
			if err := s.addMeta(ctx, r.GetParams()); err != nil {
				return nil, err
			}
		}
		result, err := next(ctx, method, r)
		if err == nil {
			neverKeep(result)
		}
		return result, err
	}
}

// declare keeps servers of older protocols from asking what would never be answered: an interrupt cannot answer them.
func (s *Server) declare(p *mcp.InitializeParams) {
	if p.Capabilities != nil && s.conf.Elicit == nil {
		p.Capabilities.Elicitation = nil
	}
}

// addMeta adds what Config.Meta returns, and changes nothing that is there.
func (s *Server) addMeta(ctx context.Context, p mcp.Params) error {
	added, err := s.conf.metaOf(ctx)
	if err != nil || len(added) == 0 {
		return err
	}
	meta := mcp.Meta{}
	for name, v := range added {
		meta[name] = v
	}
	for name, v := range p.GetMeta() {
		meta[name] = v
	}
	p.SetMeta(meta)
	return nil
}

// neverKeep has the SDK keep nothing of what was read: it would answer the next reader with it, who may be another user
// with other headers. How long the list of tools is kept is decided by the list.
func neverKeep(result mcp.Result) {
	switch r := result.(type) {
	case *mcp.ReadResourceResult:
		r.TTLMs = 0
	case *mcp.ListResourcesResult:
		r.TTLMs = 0
	case *mcp.ListResourceTemplatesResult:
		r.TTLMs = 0
	case *mcp.ListPromptsResult:
		r.TTLMs = 0
	}
}
