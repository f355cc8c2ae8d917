package skill

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// A skillTool is the tool that loads skills. There is one for each list of skills that runs have started with.
type skillTool[M adk.MessageType] struct {
	*middleware[M]
	description string
}

var (
	_ tool.InvokableTool = (*skillTool[*schema.Message])(nil)
	_ core.RecordsSteps  = (*skillTool[*schema.Message])(nil)
)

func (m *middleware[M]) newTool(description string) *skillTool[M] {
	return &skillTool[M]{middleware: m, description: description}
}

// describe makes the description of the tool from the skills there are now.
func (m *middleware[M]) describe(ctx context.Context) (string, error) {
	skills, err := m.conf.Backend.List(ctx)
	if err != nil {
		return "", fmt.Errorf("failed to list skills: %w", err)
	}
	if m.conf.CustomToolDescription != nil {
		return m.conf.CustomToolDescription(ctx, skills), nil
	}
	return toolDescription(skills), nil
}

// toolDescription is the built-in description of the tool.
func toolDescription(skills []FrontMatter) string {
	var b strings.Builder
	b.WriteString(language.Select(toolDescriptionBase, toolDescriptionBaseChinese))
	b.WriteString("\n<available_skills>")
	for _, s := range skills {
		fmt.Fprintf(&b, "\n<skill>\n<name>\n%s\n</name>\n<description>\n%s\n</description>\n</skill>", s.Name, s.Description)
	}
	b.WriteString("\n</available_skills>\n")
	return b.String()
}

// Info describes the tool, with the skills there are now.
func (t *skillTool[M]) Info(ctx context.Context) (*schema.ToolInfo, error) {
	description, err := t.describe(ctx)
	if err != nil {
		return nil, err
	}
	params, err := t.params(ctx)
	if err != nil {
		return nil, fmt.Errorf("failed to build skill tool params: %w", err)
	}
	return &schema.ToolInfo{Name: t.toolName, Desc: description, ParamsOneOf: params}, nil
}

// GetType returns "skillTool".
func (t *skillTool[M]) GetType() string { return "skillTool" }

func (t *skillTool[M]) params(ctx context.Context) (*schema.ParamsOneOf, error) {
	const key = "skill"
	byDefault := func() *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.String, Required: true, Desc: language.Select(
			"Name of the skill, exactly as it stands in the list of available skills.",
			"技能的名称，须与可用技能列表中的名称完全一致。")}
	}
	if t.conf.CustomToolParams == nil {
		return toolparams.Closed(map[string]*schema.ParameterInfo{key: byDefault()}), nil
	}
	params, err := t.conf.CustomToolParams(ctx, map[string]*schema.ParameterInfo{key: byDefault()})
	if err != nil {
		return nil, err
	}
	params = maps.Clone(params) // they are the user's
	if params == nil {
		params = map[string]*schema.ParameterInfo{}
	}
	name := byDefault()
	if given := params[key]; given != nil {
		*name = *given
		name.Required = true
	}
	params[key] = name
	return schema.NewParamsOneOfByParams(params), nil
}

// RecordsSteps says that a call whose process died may be made again: loading a skill does nothing, and the steps of an
// agent that carries it out are its own.
func (*skillTool[M]) RecordsSteps() {}

// InvokableRun loads a skill, or has it carried out.
func (t *skillTool[M]) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	type skillArguments struct {
		Skill string `json:"skill"`
	}
	params, err := t.params(ctx)
	if err != nil {
		return "", fmt.Errorf("failed to build skill tool params: %w", err)
	}
	info := &schema.ToolInfo{ParamsOneOf: params}
	arguments, err := utils.DecodeArguments[skillArguments](ctx, info, argumentsInJSON, false)
	if err != nil {
		return "", fmt.Errorf("failed to unmarshal arguments: %w", err)
	}
	skill, err := t.conf.Backend.Get(ctx, arguments.Skill)
	if err != nil {
		return "", fmt.Errorf("failed to get skill: %w", err)
	}
	switch skill.Context {
	case ContextModeFork, ContextModeForkWithContext:
		return (&fork[M]{middleware: t.middleware, skill: skill, arguments: argumentsInJSON}).run(ctx)
	}
	if skill.Model != "" {
		// Outside a run there is nothing that could continue with the model.
		_ = adk.SetRunLocalValue(ctx, activeModelKey, skill.Model)
	}
	return t.content(ctx, skill, argumentsInJSON)
}

// content returns what the model gets of a skill.
func (m *middleware[M]) content(ctx context.Context, skill Skill, arguments string) (string, error) {
	if m.conf.BuildContent == nil {
		return fmt.Sprintf(language.Select(content, contentChinese), skill.Name, skill.BaseDirectory, skill.Content), nil
	}
	built, err := m.conf.BuildContent(ctx, skill, arguments)
	if err != nil {
		return "", fmt.Errorf("failed to build skill result: %w", err)
	}
	return built, nil
}
