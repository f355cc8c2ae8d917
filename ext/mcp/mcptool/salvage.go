package mcptool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// salvage reads an answer of which the SDK could not read a part: what cannot be read is left out of a list, and shown as
// text in a result. It returns nil if that does not help.
func (s *Server) salvage(ctx context.Context, method string, raw json.RawMessage) mcp.Result {
	var members map[string]json.RawMessage
	if raw == nil || json.Unmarshal(raw, &members) != nil {
		return nil
	}
	var into mcp.Result
	switch method {
	case "tools/list":
		into = s.salvageList(ctx, members, "tools", func() any { return new(mcp.Tool) }, new(mcp.ListToolsResult))
	case "prompts/list":
		into = s.salvageList(ctx, members, "prompts", func() any { return new(mcp.Prompt) }, new(mcp.ListPromptsResult))
	case "resources/list":
		into = s.salvageList(ctx, members, "resources", func() any { return new(mcp.Resource) }, new(mcp.ListResourcesResult))
	case "resources/templates/list":
		into = s.salvageList(ctx, members, "resourceTemplates", func() any { return new(mcp.ResourceTemplate) },
			new(mcp.ListResourceTemplatesResult))
	case callsTool:
		into = s.salvageResult(ctx, members)
	}
	return into
}

// salvageList reads a list without the elements that are none.
func (s *Server) salvageList(
	ctx context.Context, members map[string]json.RawMessage, name string, element func() any, into mcp.Result,
) mcp.Result {
	var all, good []json.RawMessage
	if json.Unmarshal(members[name], &all) != nil {
		return nil
	}
	for _, one := range all {
		if err := json.Unmarshal(one, element()); err != nil {
			s.conf.Logger.WarnContext(ctx, "an element of a list of an MCP server cannot be read, and is left out",
				"list", name, "element", clean(cutText(string(one), keptEnd)), "error", clean(err.Error()))
			continue
		}
		good = append(good, one)
	}
	return rebuilt(members, name, good, into)
}

// salvageResult reads a result with a text instead of each block that cannot be read.
func (s *Server) salvageResult(ctx context.Context, members map[string]json.RawMessage) mcp.Result {
	var blocks []json.RawMessage
	if json.Unmarshal(members["content"], &blocks) != nil {
		return nil
	}
	for i, block := range blocks {
		err := json.Unmarshal(fmt.Appendf(nil, `{"content":[%s]}`, block), new(mcp.CallToolResult))
		if err == nil {
			continue
		}
		s.conf.Logger.WarnContext(ctx, "a block of a result of an MCP server is not known, and is shown as JSON",
			"error", clean(err.Error()))
		shown := map[string]any{"type": "text", "text": string(block)}
		var known struct {
			Annotations *mcp.Annotations `json:"annotations"`
		}
		if json.Unmarshal(block, &known) == nil && known.Annotations != nil { // whom it is for still holds
			shown["annotations"] = known.Annotations
		}
		blocks[i] = json.RawMessage(jsonText(shown))
	}
	return rebuilt(members, "content", blocks, new(mcp.CallToolResult))
}

// rebuilt reads an answer with another value of a member.
func rebuilt(members map[string]json.RawMessage, name string, all []json.RawMessage, into mcp.Result) mcp.Result {
	if all == nil {
		all = []json.RawMessage{}
	}
	members[name] = json.RawMessage(jsonText(all))
	if json.Unmarshal([]byte(jsonText(members)), into) != nil {
		return nil
	}
	return into
}
