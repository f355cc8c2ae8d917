package mcptool

import (
	"context"
	"errors"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outgoing sees all requests to the server on their way, and what they are answered with.
func (s *Server) outgoing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if p, ok := r.GetParams().(*mcp.InitializeParams); ok && p != nil {
			s.declare(p)
		}
		_, connecting := ctx.Value(connectingKey{}).(*unreachable)
		if _, ours := ctx.Value(passageKey{}).(*passage); ours && !connecting {
			if err := s.addMeta(ctx, r.GetParams()); err != nil {
				return nil, err
			}
		}
		result, err := s.handshake(ctx, method, func() (mcp.Result, error) { return next(ctx, method, r) })
		if _, isAnswer := rpcError(err); err != nil && !isAnswer && ctx.Err() == nil {
			if saved := s.salvage(ctx, method, rawOf(ctx).result()); saved != nil {
				result, err = saved, nil
			}
		}
		if err == nil {
			neverKeep(result)
		}
		return result, err
	}
}

// unreachable has the error of a server that was not there when it was asked for its version. It is in the context of
// the making of a connection.
type unreachable struct{ err error }

type connectingKey struct{}

// handshake sends a request. The SDK takes every error of the first one for an older server's, and speaks an older
// protocol from then on; a connection that was cut, or refused while the server starts, does not say that.
func (s *Server) handshake(ctx context.Context, method string, send func() (mcp.Result, error)) (mcp.Result, error) {
	u, connecting := ctx.Value(connectingKey{}).(*unreachable)
	switch {
	case connecting && method == "server/discover":
		result, err := send()
		if err != nil && isDead(err) && ctx.Err() == nil {
			result, err = send()
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			u.err = err
		}
		return result, err
	case connecting && method == "initialize" && u.err != nil:
		return nil, u.err
	}
	return send()
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
