package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/schema"
)

// tools returns all tools of the call. The API cannot load tools later: deferred ones are offered at once.
func (c *call) tools() []*schema.ToolInfo {
	if len(c.common.DeferredTools) == 0 {
		return c.common.Tools
	}
	return slices.Concat(c.common.Tools, c.common.DeferredTools)
}

// setTools sets the tools, in the order in which they were given, and whether the model may or must call them.
func (c *call) setTools(req *object) error {
	if c.common.ToolSearchTool != nil {
		return errors.New("the Chat Completions API has no tool search: leave out model.WithToolSearchTool, and offer the tools with model.WithTools")
	}
	tools, err := c.allowedTools()
	if err != nil {
		return err
	}
	definitions, err := toolDefinitions(tools)
	if err != nil {
		return err
	}
	choice, err := c.toolChoice(tools)
	if err != nil {
		return err
	}
	if len(definitions) > 0 {
		req.set("tools", definitions)
		req.set("tool_choice", choice)
		setPtr(req, "parallel_tool_calls", c.conf.ParallelToolCalls)
	}
	return nil
}

// allowedTools leaves out tools that the choice does not allow. That is understood by every server, while the API's
// own way of saying it is not. A single forced tool needs no leaving out.
func (c *call) allowedTools() ([]*schema.ToolInfo, error) {
	tools, names := c.tools(), c.common.AllowedToolNames
	for i, name := range names {
		if !slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name }) {
			return nil, fmt.Errorf("tool choice %d allows %q, which is none of the tools of the call", i, name)
		}
	}
	if len(names) == 0 || c.common.ToolChoice == nil || *c.common.ToolChoice == schema.ToolChoiceForbidden ||
		c.forcedTool() != "" {
		return tools, nil
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t *schema.ToolInfo) bool {
		return t == nil || !slices.Contains(names, t.Name)
	}), nil
}

// forcedTool returns the one tool that must be called, if there is one.
func (c *call) forcedTool() string {
	if c.common.ToolChoice != nil && *c.common.ToolChoice == schema.ToolChoiceForced &&
		len(c.common.AllowedToolNames) == 1 {
		return c.common.AllowedToolNames[0]
	}
	return ""
}

func (c *call) toolChoice(tools []*schema.ToolInfo) (any, error) {
	if c.common.ToolChoice == nil {
		return nil, nil
	}
	switch choice := *c.common.ToolChoice; choice {
	case schema.ToolChoiceForbidden:
		return "none", nil
	case schema.ToolChoiceAllowed:
		return "auto", nil
	case schema.ToolChoiceForced:
		if len(tools) == 0 {
			return nil, errors.New("the tool choice forces a tool call, but the call has no tools")
		}
		if name := c.forcedTool(); name != "" {
			return object{{"type", "function"}, {"function", object{{"name", name}}}}, nil
		}
		return "required", nil
	default:
		return nil, fmt.Errorf("tool choice %q: use one of the constants of package schema", choice)
	}
}

func toolDefinitions(tools []*schema.ToolInfo) ([]object, error) {
	definitions := make([]object, 0, len(tools))
	seen := make(map[string]bool, len(tools))
	for i, info := range tools {
		switch {
		case info == nil:
			return nil, fmt.Errorf("tool %d is nil", i)
		case info.Name == "":
			return nil, fmt.Errorf("tool %d has no name", i)
		case seen[info.Name]:
			return nil, fmt.Errorf("two tools are named %q", info.Name)
		}
		seen[info.Name] = true
		parameters, err := toolParameters(info)
		if err != nil {
			return nil, fmt.Errorf("parameters of tool %q: %w", info.Name, err)
		}
		function := object{{"name", info.Name}}
		function.setText("description", info.Desc)
		function.set("parameters", parameters)
		function.merge(extraFields(info.Extra))
		definitions = append(definitions, object{{"type", "function"}, {"function", function}})
	}
	return definitions, nil
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// toolParameters returns the JSON schema of a tool's arguments, always that of an object with properties: servers
// reject anything else.
func toolParameters(info *schema.ToolInfo) (json.RawMessage, error) {
	if info.ParamsOneOf == nil {
		return noParameters, nil
	}
	described, err := info.ToJSONSchema()
	if err != nil {
		return nil, err
	}
	if described == nil {
		return noParameters, nil
	}
	raw, err := json.Marshal(described)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil { // true and false are schemas, too
		return noParameters, nil
	}
	if fields["type"] != nil && fields["properties"] != nil {
		return raw, nil
	}
	for key, value := range map[string]string{"type": `"object"`, "properties": `{}`} {
		if fields[key] == nil {
			fields[key] = json.RawMessage(value)
		}
	}
	return json.Marshal(fields)
}
