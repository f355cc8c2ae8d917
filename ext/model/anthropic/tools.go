package anthropic

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

const toolNameInWords = `1 to 128 letters, digits, "_" and "-"`

func hasTool(tools []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name })
}

// setTools puts the tools and the choice among them into the request.
func (b *builder) setTools(body *kit.Object) error {
	choice, err := kit.ToolChoice(b.common)
	if err != nil {
		return err
	}
	if err := b.addTools(choice); err != nil {
		return err
	}
	if len(b.tools) == 0 {
		if len(b.callNames) == 0 {
			return nil
		}
		b.addFormerTools()
		choice = kit.Choice{Mode: schema.ToolChoiceForbidden}
	}
	b.setChoice(body, choice)
	return nil
}

// addTools adds the tools that the choice allows, the application's first.
func (b *builder) addTools(choice kit.Choice) error {
	search := b.common.ToolSearchTool
	deferred := b.common.DeferredTools
	all := slices.Concat(b.common.Tools, deferred)
	if search != nil {
		all = append(all, search)
	}
	if err := kit.CheckTools(all); err != nil {
		return err
	}
	if err := kit.CheckToolNames(all, toolName, toolNameInWords); err != nil {
		return err
	}
	later := search != nil || slices.ContainsFunc(b.o.ServerTools, ServerTool.searches)
	if later && len(deferred) > 0 && b.omits("tools.defer_loading") {
		b.unsupported.Refuse("tools.defer_loading", "the service does not load tools later: offer them as ordinary ones")
		later = false
	}
	narrowed := len(choice.Names)+len(choice.Provided) > 0 && choice.Mode != schema.ToolChoiceForbidden
	for i, info := range all {
		if narrowed && !slices.Contains(choice.Names, info.Name) {
			continue
		}
		isDeferred := i >= len(b.common.Tools) && info != search
		if err := b.addTool(info, later && isDeferred); err != nil {
			return err
		}
	}
	for i, t := range b.o.ServerTools {
		switch {
		case t.err != nil:
			return fmt.Errorf("ServerTools[%d]: %w", i, t.err)
		case hasTool(all, t.name), narrowed && !provides(choice, t.name): // the former is there already
		default:
			b.tools = append(b.tools, &piece{fields: kit.Object{{Key: "type", Value: t.kind}}, raw: t.raw})
		}
	}
	return b.addAnswerTool()
}

func provides(choice kit.Choice, name string) bool {
	return slices.ContainsFunc(choice.Provided, func(t *schema.AllowedTool) bool {
		return t.ServerTool != nil && t.ServerTool.Name == name
	})
}

// searches reports whether a tool searches the tools that are loaded later.
func (t ServerTool) searches() bool { return strings.HasPrefix(t.kind, "tool_search_tool") }

// addTool adds a tool of the application.
func (b *builder) addTool(info *schema.ToolInfo, later bool) error {
	for _, t := range b.o.ServerTools {
		if t.name == info.Name && t.err == nil { // defined by Anthropic, run by the application
			b.tools = append(b.tools, &piece{fields: kit.Object{{Key: "type", Value: t.kind}}, raw: t.raw})
			return nil
		}
	}
	schema, err := kit.ToolParameters(info)
	if err != nil {
		return err
	}
	fields := kit.Object{{Key: "name", Value: info.Name}}
	fields.SetText("description", info.Desc)
	fields.Set("input_schema", schema)
	if later {
		fields.Set("defer_loading", true)
	}
	p := withExtra(&piece{fields: fields}, info.Extra)
	for _, omitted := range b.e.backend.Omits() {
		if name, ok := strings.CutPrefix(omitted, "tools."); ok {
			p.fields.Set(name, nil)
		}
	}
	b.tools = append(b.tools, p)
	return nil
}

// addAnswerTool adds the tool that a model without structured output answers by.
func (b *builder) addAnswerTool() error {
	if b.answerTool == "" {
		return nil
	}
	if hasTool(b.common.Tools, b.answerTool) || hasTool(b.common.DeferredTools, b.answerTool) {
		return fmt.Errorf("the model answers by a tool, and its name %q is that of another: set ResponseFormat.Name",
			b.answerTool)
	}
	fields := kit.Object{{Key: "name", Value: b.answerTool}}
	fields.SetText("description", or(b.o.ResponseFormat.Description, "Gives the final answer."))
	fields.Set("input_schema", b.answerSchema)
	b.tools = append(b.tools, &piece{fields: fields})
	return nil
}

// addFormerTools adds the tools that were called before, as the API wants a definition for every call.
func (b *builder) addFormerTools() {
	for i, name := range b.callNames {
		if !slices.Contains(b.callNames[:i], name) {
			b.tools = append(b.tools, &piece{fields: kit.Object{
				{Key: "name", Value: name},
				{Key: "input_schema", Value: kit.Object{{Key: "type", Value: "object"}, {Key: "properties", Value: kit.Object{}}}},
			}})
		}
	}
}

// setChoice says whether and how tools are called.
func (b *builder) setChoice(body *kit.Object, choice kit.Choice) {
	var o kit.Object
	switch {
	case choice.Mode == schema.ToolChoiceForbidden:
		o.Set("type", "none")
	case choice.Mode == schema.ToolChoiceForced:
		o = b.forced(body, choice)
	case b.answerTool != "":
		o = b.answerChoice(body)
	case choice.Mode == schema.ToolChoiceAllowed, b.o.DisableParallelToolUse != nil:
		o.Set("type", "auto")
	}
	if o == nil {
		return
	}
	if b.o.DisableParallelToolUse != nil && choice.Mode != schema.ToolChoiceForbidden {
		o.Set("disable_parallel_tool_use", *b.o.DisableParallelToolUse)
	}
	body.Set("tool_choice", o)
}

// forced returns the choice that makes the model call a tool.
func (b *builder) forced(body *kit.Object, choice kit.Choice) kit.Object {
	if body.Get("thinking") != nil && b.o.Thinking.hasBudget() {
		b.unsupported.Refuse("tool_choice", "a tool call cannot be forced beside Thinking with a budget: change one of them")
		return kit.Object{{Key: "type", Value: "auto"}}
	}
	name := choice.Forced()
	if len(choice.Names) == 0 && len(choice.Provided) == 1 && choice.Provided[0].ServerTool != nil {
		name = choice.Provided[0].ServerTool.Name
	}
	if name != "" {
		return kit.Object{{Key: "type", Value: "tool"}, {Key: "name", Value: name}}
	}
	return kit.Object{{Key: "type", Value: "any"}}
}

// answerChoice returns the choice that makes the model call the tool that it answers by, or one of the others.
func (b *builder) answerChoice(body *kit.Object) kit.Object {
	switch {
	case body.Get("thinking") != nil && b.o.Thinking.hasBudget():
		return kit.Object{{Key: "type", Value: "auto"}} // nothing can be forced beside it
	case len(b.tools) == 1:
		return kit.Object{{Key: "type", Value: "tool"}, {Key: "name", Value: b.answerTool}}
	}
	return kit.Object{{Key: "type", Value: "any"}}
}
