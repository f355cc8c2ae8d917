package mcptool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
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
// keeps them; the next one has those that were added since. A run fails to begin if a server cannot be reached. A tool
// whose name is taken, by the agent or by another server, is left out and logged as a [*NameTaken], or with Config.Strict
// an error.
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
	if run == nil {
		return ctx, run, nil
	}
	names, err := namesOf(ctx, run.Tools)
	if err != nil {
		return ctx, run, err
	}
	tools, err := join(ctx, names, m.servers)
	if err != nil {
		return ctx, run, err
	}
	changed := *run
	changed.Tools = slices.Concat(run.Tools, tools)
	return ctx, &changed, nil
}

// namesOf are the names of tools that a run has already, by what has them.
func namesOf(ctx context.Context, tools []tool.BaseTool) (map[string]string, error) {
	names := map[string]string{}
	for _, t := range tools {
		if t == nil {
			continue
		}
		info, err := t.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("mcptool: a tool of the agent cannot say its name: %w", err)
		}
		if info == nil {
			continue
		}
		names[info.Name] = "the agent"
		if remote, ok := t.(*remoteTool); ok {
			names[info.Name] = remote.origin()
		}
	}
	return names, nil
}
