package mcptool

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// middleware gives runs the tools of servers.
type middleware[M adk.MessageType] struct {
	adk.TypedBaseChatModelAgentMiddleware[M]
	servers []*Server
}

// Middleware gives each run of an agent the tools that the server has when the run begins, or is resumed. See
// [NewMiddleware].
func (s *Server) Middleware() adk.ChatModelAgentMiddleware {
	return &middleware[*schema.Message]{servers: []*Server{s}}
}

// NewMiddleware gives each run of an agent the tools that the servers have when the run begins, or is resumed. A run
// keeps them; the next one has those that were added since. A run fails to begin if a server cannot be reached, or if
// two servers have a tool of one name.
func NewMiddleware[M adk.MessageType](servers ...*Server) (adk.TypedChatModelAgentMiddleware[M], error) {
	if len(servers) == 0 || slices.Contains(servers, nil) {
		return nil, errors.New("mcptool: a middleware needs servers")
	}
	return &middleware[M]{servers: slices.Clone(servers)}, nil
}

// BeforeAgent adds the tools.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, run *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	tools, err := Join(ctx, m.servers...)
	if err != nil || run == nil {
		return ctx, run, err
	}
	changed := *run
	changed.Tools = slices.Concat(run.Tools, tools)
	return ctx, &changed, nil
}
