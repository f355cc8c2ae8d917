package mcptool

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/schema"
)

// Prompts lists the prompts of the server: at most 1,000.
func (s *Server) Prompts(ctx context.Context) ([]*mcp.Prompt, error) {
	return listed(ctx, s, "prompts/list",
		func(ctx context.Context, made *session, cursor string) (p pageOf[*mcp.Prompt], err error) {
			r, err := made.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
			if err == nil {
				p = pageOf[*mcp.Prompt]{r.Prompts, r.NextCursor}
			}
			return p, err
		})
}

// serverPrompt is a prompt of a server.
type serverPrompt struct {
	server *Server
	name   string
}

// Prompt returns a prompt of the server as a template. It asks the server each time, and gives it the variables that
// the prompt declares, as texts; one that is required and missing is an error that names it. Blocks of the prompt
// become parts of the messages as blocks of results do, within the same limits.
func (s *Server) Prompt(name string) prompt.ChatTemplate { return &serverPrompt{s, name} }

// Format has the server fill the prompt in.
func (p *serverPrompt) Format(ctx context.Context, vs map[string]any, _ ...prompt.Option) ([]*schema.Message, error) {
	arguments, err := p.arguments(ctx, vs)
	if err != nil {
		return nil, err
	}
	d := &demand{method: "prompts/get", target: p.name, repeatable: true}
	result, err := request(ctx, p.server, d, func(ctx context.Context, made *session) (*mcp.GetPromptResult, error) {
		return made.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.name, Arguments: arguments})
	})
	if err != nil {
		return nil, err
	}
	if result.NeedsInput() {
		return nil, p.fail(errAsksThere)
	}
	conf := &p.server.conf
	c := &converter{room: conf.room()}
	var messages []*schema.Message
	for _, m := range result.Messages {
		if m == nil {
			continue
		}
		made, err := c.message(m.Role, m.Content)
		if err != nil {
			return nil, p.fail(err)
		}
		messages = append(messages, made)
	}
	return messages, nil
}

func (p *serverPrompt) fail(err error) error {
	return fmt.Errorf("MCP server %q: prompt %q: %w", p.server.conf.Name, p.name, err)
}

// arguments are the arguments of the variables that the prompt declares.
func (p *serverPrompt) arguments(ctx context.Context, vs map[string]any) (map[string]string, error) {
	prompts, err := p.server.Prompts(ctx)
	if err != nil {
		return nil, err
	}
	arguments := map[string]string{}
	for _, known := range prompts {
		if known == nil || known.Name != p.name {
			continue
		}
		for _, a := range known.Arguments {
			if a == nil {
				continue
			}
			if v, given := vs[a.Name]; given {
				arguments[a.Name] = fmt.Sprint(v)
			} else if a.Required {
				return nil, p.fail(fmt.Errorf("variable %q is missing", a.Name))
			}
		}
	}
	return arguments, nil
}
