package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// mostListed bounds lists of prompts and resources.
const mostListed = 1_000

// listed reads all pages of a list.
func listed[T any](
	ctx context.Context, s *Server, pages func(context.Context, *session) iter.Seq2[T, error],
) (all []T, err error) {
	err = s.request(ctx, List, "", true, func(ctx context.Context, made *session) error {
		all = nil
		for one, err := range pages(ctx, made) {
			if err != nil {
				return err
			}
			if all = append(all, one); len(all) > mostListed {
				return s.fail(ctx, TooLarge, "", fmt.Errorf("a list of more than %d", mostListed))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Prompts lists the prompts of the server: at most 1,000.
func (s *Server) Prompts(ctx context.Context) ([]*mcp.Prompt, error) {
	return listed(ctx, s, func(ctx context.Context, made *session) iter.Seq2[*mcp.Prompt, error] {
		return made.Prompts(ctx, nil)
	})
}

// Resources lists the resources of the server: at most 1,000.
func (s *Server) Resources(ctx context.Context) ([]*mcp.Resource, error) {
	return listed(ctx, s, func(ctx context.Context, made *session) iter.Seq2[*mcp.Resource, error] {
		return made.Resources(ctx, nil)
	})
}

// ResourceTemplates lists the templates of resources of the server: at most 1,000.
func (s *Server) ResourceTemplates(ctx context.Context) ([]*mcp.ResourceTemplate, error) {
	return listed(ctx, s, func(ctx context.Context, made *session) iter.Seq2[*mcp.ResourceTemplate, error] {
		return made.ResourceTemplates(ctx, nil)
	})
}

// Read reads a resource.
func (s *Server) Read(ctx context.Context, uri string) (contents []*mcp.ResourceContents, err error) {
	err = s.request(ctx, "", "", true, func(ctx context.Context, made *session) error {
		r, err := made.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err == nil {
			contents = r.Contents
		}
		return err
	})
	return contents, err
}

// serverPrompt is a prompt of a server.
type serverPrompt struct {
	server *Server
	name   string
}

// Prompt returns a prompt of the server as a template. Its variables are texts; one that the prompt requires and that
// is missing is an error that names it. It asks the server each time.
func (s *Server) Prompt(name string) prompt.ChatTemplate { return &serverPrompt{s, name} }

// Format has the server fill the prompt in.
func (p *serverPrompt) Format(ctx context.Context, vs map[string]any, _ ...prompt.Option) ([]*schema.Message, error) {
	arguments := map[string]string{}
	for name, v := range vs {
		arguments[name] = fmt.Sprint(v)
	}
	prompts, err := p.server.Prompts(ctx)
	if err != nil {
		return nil, err
	}
	for _, known := range prompts {
		if known == nil || known.Name != p.name {
			continue
		}
		for _, a := range known.Arguments {
			if a == nil || !a.Required {
				continue
			}
			if _, given := arguments[a.Name]; !given {
				return nil, fmt.Errorf("MCP server %q: prompt %q: variable %q is missing", p.server.conf.Name, p.name, a.Name)
			}
		}
	}
	var result *mcp.GetPromptResult
	err = p.server.request(ctx, "", "", true, func(ctx context.Context, made *session) (err error) {
		result, err = made.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.name, Arguments: arguments})
		return err
	})
	if err != nil {
		return nil, err
	}
	if result.NeedsInput() {
		return nil, fmt.Errorf("MCP server %q: prompt %q asks for what a template cannot ask", p.server.conf.Name, p.name)
	}
	var messages []*schema.Message
	for _, m := range result.Messages {
		if m == nil {
			continue
		}
		made, err := sampled(&mcp.SamplingMessageV2{Role: m.Role, Content: []mcp.Content{m.Content}})
		if err != nil {
			return nil, fmt.Errorf("MCP server %q: prompt %q: %w", p.server.conf.Name, p.name, err)
		}
		messages = append(messages, made)
	}
	return messages, nil
}

// ResourceTools are two tools with which a model looks at the resources of the server: list_resources and
// read_resource, with Config.Prefix.
func (s *Server) ResourceTools() ([]tool.BaseTool, error) {
	list, err := utils.InferTool(toolName(s.conf.Prefix+"list_resources"),
		"Lists the resources of "+s.conf.Name+", to be read with read_resource.",
		func(ctx context.Context, _ struct{}) (string, error) {
			resources, err := s.Resources(ctx)
			if err != nil {
				return "", err
			}
			c := &converter{conf: &s.conf, text: s.conf.MaxText}
			lines := ""
			for _, r := range resources {
				if r == nil {
					continue
				}
				lines += oneLine(fmt.Sprintf("%s %s %s %s", r.URI, r.Name, r.MIMEType, cutText(r.Description, 200))) + "\n"
			}
			c.addText(lines)
			return c.parts[0].Text, nil
		})
	if err != nil {
		return nil, err
	}
	info := &schema.ToolInfo{Name: toolName(s.conf.Prefix + "read_resource"),
		Desc: "Reads a resource of " + s.conf.Name + ".",
		ParamsOneOf: schema.NewParamsOneOfByRawJSON(json.RawMessage(
			`{"type":"object","properties":{"uri":{"type":"string","description":"as list_resources shows it"}},` +
				`"required":["uri"]}`))}
	return []tool.BaseTool{list, &readTool{s, info}}, nil
}

// readTool reads resources for a model.
type readTool struct {
	server *Server
	info   *schema.ToolInfo
}

// Info returns the description for the model.
func (t *readTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// Idempotent reports true: it only reads.
func (t *readTool) Idempotent() bool { return true }

// InvokableRun reads one.
func (t *readTool) InvokableRun(
	ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option,
) (*schema.ToolResult, error) {
	type request struct {
		URI string `json:"uri"`
	}
	text := ""
	if argument != nil {
		text = argument.Text
	}
	r, err := utils.DecodeArguments[request](ctx, t.info, text, true)
	if err != nil {
		return mistake(err.Error()), nil
	}
	contents, err := t.server.Read(ctx, r.URI)
	var refused *CallError
	if errors.As(err, &refused) && refused.Kind == Protocol {
		return mistake(cutText(refused.Error(), longestMessage)), nil
	}
	if err != nil {
		return nil, err
	}
	c := &converter{conf: &t.server.conf, text: t.server.conf.MaxText, media: t.server.conf.MaxMedia}
	for _, one := range contents {
		c.addResource(one)
	}
	if len(c.parts) == 0 {
		c.addText("")
	}
	return &schema.ToolResult{Parts: c.parts}, nil
}
