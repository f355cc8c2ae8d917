package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// mostListed bounds lists of prompts and resources.
const mostListed = 1_000

// errAsksThere is what a question is answered with that does not belong to a call of a tool.
var errAsksThere = errors.New("the server asks something, which only calls of tools can wait for")

// listed reads all pages of a list.
func listed[T any](
	ctx context.Context, s *Server, method string, pages func(context.Context, *session) iter.Seq2[T, error],
) (all []T, err error) {
	d := &demand{method: method, kind: List, repeatable: true}
	err = s.request(ctx, d, func(ctx context.Context, made *session) error {
		all = nil
		for one, err := range pages(ctx, made) {
			if err != nil {
				return err
			}
			beat(ctx)
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

// Resources lists the resources of the server: at most 1,000.
func (s *Server) Resources(ctx context.Context) ([]*mcp.Resource, error) {
	return listed(ctx, s, "resources/list", func(ctx context.Context, made *session) iter.Seq2[*mcp.Resource, error] {
		return made.Resources(ctx, nil)
	})
}

// ResourceTemplates lists the templates of resources of the server: at most 1,000.
func (s *Server) ResourceTemplates(ctx context.Context) ([]*mcp.ResourceTemplate, error) {
	pages := func(ctx context.Context, made *session) iter.Seq2[*mcp.ResourceTemplate, error] {
		return made.ResourceTemplates(ctx, nil)
	}
	return listed(ctx, s, "resources/templates/list", pages)
}

// Read reads a resource.
func (s *Server) Read(ctx context.Context, uri string) (contents []*mcp.ResourceContents, err error) {
	d := &demand{method: "resources/read", target: uri, repeatable: true}
	err = s.request(ctx, d, func(ctx context.Context, made *session) error {
		r, err := made.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		if r.NeedsInput() {
			return s.fail(ctx, Protocol, "", fmt.Errorf("resource %s: %w", oneLine(uri), errAsksThere))
		}
		contents = r.Contents
		return nil
	})
	return contents, err
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
			c := &converter{room: s.conf.room()}
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
	c := &converter{room: t.server.conf.room()}
	for _, one := range contents {
		c.addResource(one)
	}
	if len(c.parts) == 0 {
		c.addText("")
	}
	return &schema.ToolResult{Parts: c.parts}, nil
}
