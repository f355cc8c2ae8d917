package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// mostListed bounds lists of prompts and resources.
const mostListed = 1_000

// errAsksThere answers a question that does not belong to a call of a tool.
var errAsksThere = errors.New("the server asks something, which only calls of tools can wait for")

// pageOf is one page of a list, and the cursor of the next, "" if it is the last.
type pageOf[T any] struct {
	items []T
	next  string
}

// listed reads all pages of a list.
func listed[T any](
	ctx context.Context, s *Server, method string, read func(ctx context.Context, made *session, cursor string) (pageOf[T], error),
) ([]T, error) {
	d := &demand{method: method, kind: List, repeatable: true}
	return request(ctx, s, d, func(ctx context.Context, made *session) (all []T, err error) {
		seen, cursor := map[string]bool{}, ""
		for range mostPages {
			ctx, _ := withRaw(ctx)
			page, err := read(ctx, made, cursor)
			if err != nil {
				return nil, err
			}
			beat(ctx)
			if all = append(all, page.items...); len(all) > mostListed {
				return nil, s.fail(ctx, TooLarge, "", fmt.Errorf("a list of more than %d", mostListed))
			}
			if s.isLastPage(ctx, method, seen, page.next) {
				return all, nil
			}
			cursor = page.next
			seen[cursor] = true
		}
		return nil, s.fail(ctx, TooLarge, "", fmt.Errorf("more than %d pages", mostPages))
	})
}

// Resources lists the resources of the server: at most 1,000.
func (s *Server) Resources(ctx context.Context) ([]*mcp.Resource, error) {
	return listed(ctx, s, "resources/list",
		func(ctx context.Context, made *session, cursor string) (p pageOf[*mcp.Resource], err error) {
			r, err := made.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
			if err == nil {
				p = pageOf[*mcp.Resource]{r.Resources, r.NextCursor}
			}
			return p, err
		})
}

// ResourceTemplates lists the templates of resources of the server: at most 1,000.
func (s *Server) ResourceTemplates(ctx context.Context) ([]*mcp.ResourceTemplate, error) {
	return listed(ctx, s, "resources/templates/list",
		func(ctx context.Context, made *session, cursor string) (p pageOf[*mcp.ResourceTemplate], err error) {
			r, err := made.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
			if err == nil {
				p = pageOf[*mcp.ResourceTemplate]{r.ResourceTemplates, r.NextCursor}
			}
			return p, err
		})
}

// Read reads a resource.
func (s *Server) Read(ctx context.Context, uri string) ([]*mcp.ResourceContents, error) {
	d := &demand{method: "resources/read", target: uri, repeatable: true}
	return request(ctx, s, d, func(ctx context.Context, made *session) ([]*mcp.ResourceContents, error) {
		r, err := made.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return nil, err
		}
		if r.NeedsInput() {
			return nil, s.fail(ctx, Protocol, "", fmt.Errorf("resource %s: %w", oneLine(uri), errAsksThere))
		}
		return r.Contents, nil
	})
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
				lines += oneLine(clean(fmt.Sprintf("%s %s %s %s", r.URI, r.Name, r.MIMEType, cutText(r.Description, 200)))) + "\n"
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
