package openai

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

const responsesNameInWords = `1 to 64 letters, digits, "_" and "-"`

var responsesName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// responsesAppTools has the tools whose calls the application runs, by the types of their calls: the name of the tool
// that it must have for them.
var responsesAppTools = map[string][]string{
	"computer_call":    {"computer", "computer_use_preview"},
	"apply_patch_call": {"apply_patch"},
	"shell_call":       {"shell"},
	"local_shell_call": {"local_shell"},
}

// hasServerTool reports whether the call has a server tool of a type.
func (c *responsesCall) hasServerTool(name string) bool {
	return slices.ContainsFunc(c.conf.ServerTools, func(t ServerTool) bool { return t.name() == name })
}

// allTools returns the tools of the application, those that are loaded later included.
func (c *responsesCall) allTools() []*schema.ToolInfo {
	if len(c.settings.DeferredTools) == 0 {
		return c.settings.Tools
	}
	return slices.Concat(c.settings.Tools, c.settings.DeferredTools)
}

// offers reports whether the request offers a tool of a name whose calls the application runs.
func (c *responsesCall) offers(name string) bool {
	for _, info := range c.allTools() {
		if info != nil && info.Name == name {
			return true
		}
	}
	return slices.ContainsFunc(c.conf.ServerTools, func(t ServerTool) bool {
		var head struct{ Type, Name string }
		_ = json.Unmarshal(t.raw, &head) // it was checked before it was sent
		return head.Type == "custom" && head.Name == name
	})
}

// appTool returns the name of the application's tool that runs calls of a type, "" if there is none.
func (c *responsesCall) appTool(callType string) string {
	for _, info := range c.settings.Tools {
		if info != nil && slices.Contains(responsesAppTools[callType], info.Name) {
			return info.Name
		}
	}
	return ""
}

// isServerToolOfApp reports whether a tool of the application runs the calls of a server tool: then the server tool is
// all that is sent.
func (c *responsesCall) isServerToolOfApp(name string) bool {
	for _, names := range responsesAppTools {
		if slices.Contains(names, name) && slices.ContainsFunc(names, c.hasServerTool) {
			return true
		}
	}
	return false
}

// tools returns the tools of the request.
func (c *responsesCall) tools() ([]any, error) {
	s := c.settings
	all := slices.Concat(s.Tools, s.DeferredTools)
	if s.ToolSearchTool != nil {
		all = append(all, s.ToolSearchTool)
	}
	if err := kit.CheckTools(all); err != nil {
		return nil, err
	}
	if err := kit.CheckToolNames(all, responsesName, responsesNameInWords); err != nil {
		return nil, err
	}
	var tools []any
	for _, info := range s.Tools {
		if c.isServerToolOfApp(info.Name) {
			continue
		}
		tool, err := responsesTool(info)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	searched, err := c.searchedTools()
	if err != nil {
		return nil, err
	}
	tools = append(tools, searched...)
	for i, tool := range c.conf.ServerTools {
		if err := tool.validate(); err != nil {
			return nil, fmt.Errorf("server tool %d: %w", i, err)
		}
		tools = append(tools, tool.raw)
	}
	return tools, nil
}

// searchedTools returns what the model finds by searching, and the search. If the application searches, it returns the
// tools with the result.
func (c *responsesCall) searchedTools() (tools []any, err error) {
	if search := c.settings.ToolSearchTool; search != nil {
		parameters, err := kit.ToolParameters(search)
		if err != nil {
			return nil, err
		}
		return []any{kit.Object{
			{Key: "type", Value: "tool_search"}, {Key: "execution", Value: "client"},
			{Key: "description", Value: search.Desc}, {Key: "parameters", Value: parameters},
		}}, nil
	}
	for _, info := range c.settings.DeferredTools {
		tool, err := responsesTool(info)
		if err != nil {
			return nil, err
		}
		tool.Set("defer_loading", true)
		tools = append(tools, tool)
	}
	if len(tools) > 0 && !c.hasServerTool("tool_search") {
		tools = append(tools, kit.Object{{Key: "type", Value: "tool_search"}})
	}
	return tools, nil
}

// responsesTool returns a tool of the application. strict is always there, as the server takes a tool without it for
// one with a strict schema, which most schemas are not.
func responsesTool(info *schema.ToolInfo) (kit.Object, error) {
	parameters, err := kit.ToolParameters(info)
	if err != nil {
		return nil, err
	}
	o := kit.Object{{Key: "type", Value: "function"}, {Key: "name", Value: info.Name}}
	o.SetText("description", info.Desc)
	o.Set("parameters", parameters)
	o.Set("strict", false)
	fields, _ := info.Extra[ExtraFieldsKey].(map[string]any)
	o.Merge(fields)
	if o.Get("type") == "custom" {
		o.Set("parameters", nil)
		o.Set("strict", nil)
		return o, nil
	}
	if o.Get("strict") == true {
		strict, err := strictSchema(parameters)
		if err != nil {
			return nil, fmt.Errorf("parameters of tool %q: %w", info.Name, err)
		}
		o.Set("parameters", strict)
	}
	return o, nil
}

// toolChoice sets tool_choice, if the call has a say in it.
func (c *responsesCall) toolChoice(req *kit.Object) error {
	choice, err := kit.ToolChoice(c.settings.Options, c.settings.ServerTools...)
	if err != nil {
		return err
	}
	if req.Get("tools") == nil {
		return nil
	}
	mode := map[schema.ToolChoice]string{
		schema.ToolChoiceForbidden: "none", schema.ToolChoiceAllowed: "auto", schema.ToolChoiceForced: "required",
	}[choice.Mode]
	entries := c.allowedTools(choice)
	switch {
	case mode == "":
	case len(entries) == 0 || mode == "none":
		req.Set("tool_choice", mode)
	case len(entries) == 1 && mode == "required":
		req.Set("tool_choice", entries[0])
	default:
		req.Set("tool_choice", kit.Object{
			{Key: "type", Value: "allowed_tools"}, {Key: "mode", Value: mode}, {Key: "tools", Value: entries},
		})
	}
	return nil
}

// allowedTools returns the tools that a choice names.
func (c *responsesCall) allowedTools(choice kit.Choice) (entries []any) {
	named := func(kind, name string) {
		entries = append(entries, kit.Object{{Key: "type", Value: kind}, {Key: "name", Value: name}})
	}
	typed := func(kind string) { entries = append(entries, kit.Object{{Key: "type", Value: kind}}) }
	for _, name := range choice.Names {
		switch search := c.settings.ToolSearchTool; {
		case search != nil && search.Name == name:
			typed("tool_search")
		case c.isServerToolOfApp(name):
			typed(name)
		case c.isCustom(name):
			named("custom", name)
		default:
			named("function", name)
		}
	}
	for _, tool := range choice.Provided {
		if mcp := tool.MCPTool; mcp != nil {
			o := kit.Object{{Key: "type", Value: "mcp"}, {Key: "server_label", Value: mcp.ServerLabel}}
			o.SetText("name", mcp.Name)
			entries = append(entries, o)
			continue
		}
		typed(tool.ServerTool.Name)
	}
	return entries
}

func (c *responsesCall) isCustom(name string) bool {
	return slices.ContainsFunc(c.settings.Tools, func(info *schema.ToolInfo) bool {
		fields, _ := info.Extra[ExtraFieldsKey].(map[string]any)
		return info.Name == name && fields["type"] == "custom"
	})
}
