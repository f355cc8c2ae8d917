package gemini

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// toolName matches the names of functions that the service accepts.
var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

const toolNameInWords = `at most 64 letters, digits, "_", "-" and ".", the first of them a letter or "_"`

// functions returns the tools of the application that the call offers.
func (c *call) functions() []*schema.ToolInfo {
	return slices.Concat(c.o.common.Tools, c.o.common.DeferredTools)
}

func (c *call) hasFunctions() bool { return len(c.functions()) > 0 }

// setTools sets the tools, all functions in one entry as the model sees only the first, and what may be called of them.
func (c *call) setTools(body *kit.Object) error {
	if c.o.common.ToolSearchTool != nil {
		return errors.New("tool search is not known to Gemini: offer the deferred tools at once, without model.WithToolSearchTool")
	}
	infos, served := c.functions(), c.available(c.o.serverTools())
	if err := errors.Join(kit.CheckTools(infos), kit.CheckToolNames(infos, toolName, toolNameInWords)); err != nil {
		return err
	}
	choice, err := kit.ToolChoice(c.optionsWithServerTools(len(served)))
	if err != nil {
		return err
	}
	if choice.Mode == schema.ToolChoiceAllowed {
		infos, served = allowed(infos, served, choice)
	}
	if choice.Mode == schema.ToolChoiceForbidden {
		served = nil // no mode keeps the model from those
	}
	if choice.Mode == schema.ToolChoiceForced && (len(choice.Provided) > 0 || len(infos) == 0) {
		return errors.New("the tool choice forces a tool of the server, which Gemini does not offer: allow it instead")
	}
	var tools []any
	if len(infos) > 0 {
		declarations, err := c.declarations(infos)
		if err != nil {
			return err
		}
		tools = append(tools, kit.Object{{Key: "functionDeclarations", Value: declarations}})
	}
	for _, t := range served {
		if t.err != nil {
			return t.err
		}
		tools = append(tools, t.raw)
	}
	if len(tools) == 0 {
		return nil
	}
	body.Set("tools", tools)
	mixed := len(infos) > 0 && len(served) > 0
	if mixed && c.e.vertex() {
		return fmt.Errorf("functions cannot be offered beside the tools of Vertex itself (%s): leave out one or the other", served[0])
	}
	if config := toolConfig(choice, len(infos) > 0, mixed); len(config) > 0 {
		body.Set("toolConfig", config)
	}
	return nil
}

// optionsWithServerTools are the common options as kit.ToolChoice wants them: it refuses to force a call without tools.
func (c *call) optionsWithServerTools(served int) *model.Options {
	o := *c.o.common
	if served > 0 && len(c.functions()) == 0 {
		o.Tools = []*schema.ToolInfo{{Name: "server tool"}}
	}
	return &o
}

// allowed returns the tools that the choice names, all of a kind if it names none at all.
func allowed(infos []*schema.ToolInfo, served []ServerTool, choice kit.Choice) ([]*schema.ToolInfo, []ServerTool) {
	if len(choice.Names)+len(choice.Provided) == 0 {
		return infos, served
	}
	infos = slices.DeleteFunc(slices.Clone(infos), func(t *schema.ToolInfo) bool {
		return !slices.Contains(choice.Names, t.Name)
	})
	served = slices.DeleteFunc(slices.Clone(served), func(t ServerTool) bool {
		return !slices.ContainsFunc(choice.Provided, func(a *schema.AllowedTool) bool {
			return a.ServerTool != nil && a.ServerTool.Name == t.name
		})
	})
	return infos, served
}

func (c *call) declarations(infos []*schema.ToolInfo) ([]kit.Object, error) {
	list := make([]kit.Object, 0, len(infos))
	for _, info := range infos {
		raw, err := kit.ToolParameters(info)
		if err != nil {
			return nil, err
		}
		lowered, err := lowerSchema(raw, c.o.SchemaMode, true)
		if err != nil {
			return nil, fmt.Errorf("parameters of tool %q: %w", info.Name, err)
		}
		d := kit.Object{{Key: "name", Value: info.Name}}
		d.SetText("description", info.Desc)
		if len(lowered) > 0 {
			d.Set(c.o.SchemaMode.toolField(), lowered)
		}
		list = append(list, d)
	}
	return list, nil
}

// toolConfig says what the model may call. mixed says that there are both functions and tools of the server.
func toolConfig(choice kit.Choice, functions, mixed bool) (config kit.Object) {
	if functions {
		mode, names := "", []string(nil)
		switch choice.Mode {
		case schema.ToolChoiceAllowed:
			mode = "AUTO"
			if mixed { // the only mode in which both work
				mode = "VALIDATED"
			}
		case schema.ToolChoiceForced:
			mode, names = "ANY", choice.Names
		case schema.ToolChoiceForbidden:
			mode = "NONE"
		}
		if mode != "" {
			calling := kit.Object{{Key: "mode", Value: mode}}
			if len(names) > 0 {
				calling.Set("allowedFunctionNames", names)
			}
			config.Set("functionCallingConfig", calling)
		}
	}
	if mixed {
		config.Set("includeServerSideToolInvocations", true)
	}
	return config
}
