package openai

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
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
func (c *call) setTools(req *kit.Object) error {
	if c.common.ToolSearchTool != nil {
		return errors.New("the Chat Completions API has no tool search: leave out model.WithToolSearchTool, and offer the tools with model.WithTools")
	}
	if err := kit.CheckTools(c.tools()); err != nil {
		return err
	}
	choice, err := kit.ToolChoice(c.common)
	if err != nil {
		return err
	}
	tools := c.tools()
	if choice.Forced() == "" { // a single forced tool needs no leaving out of the others
		tools = choice.AllowedTools(tools)
	}
	if err := kit.CheckToolNames(tools, toolName, "1 to 64 letters, digits, _ and -"); err != nil {
		return err
	}
	definitions, err := c.toolDefinitions(tools)
	if err != nil {
		return err
	}
	if len(definitions) > 0 {
		req.Set("tools", definitions)
		req.Set("tool_choice", c.toolChoice(choice))
		if !c.profile.OmitParallelToolCalls {
			kit.SetPtr(req, "parallel_tool_calls", c.conf.ParallelToolCalls)
		}
	}
	return nil
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// toolChoice returns the choice as it is sent, nil for none.
func (c *call) toolChoice(choice kit.Choice) any {
	switch choice.Mode {
	case schema.ToolChoiceForbidden:
		return "none"
	case schema.ToolChoiceAllowed:
		return "auto"
	case schema.ToolChoiceForced:
		if name := choice.Forced(); name != "" {
			return kit.ObjectOf("type", "function", "function", kit.ObjectOf("name", name))
		}
		return cmp.Or(c.profile.RequiredWord, "required")
	}
	return nil
}

func (c *call) toolDefinitions(tools []*schema.ToolInfo) ([]object, error) {
	definitions := make([]object, 0, len(tools))
	for _, info := range tools {
		parameters, err := kit.ToolParameters(info)
		if err != nil {
			return nil, err
		}
		function := kit.ObjectOf("name", info.Name)
		function.SetText("description", info.Desc)
		function.Set("parameters", parameters)
		function.Merge(extraFields(info.Extra))
		if c.profile.OmitStrict {
			function.Set("strict", nil)
		}
		if function.Get("strict") == true {
			strict, err := strictSchema(parameters)
			if err != nil {
				return nil, fmt.Errorf("parameters of tool %q: %w", info.Name, err)
			}
			function.Set("parameters", strict)
		}
		definitions = append(definitions, kit.ObjectOf("type", "function", "function", function))
	}
	return definitions, nil
}
