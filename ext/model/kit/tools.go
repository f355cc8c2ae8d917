package kit

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// CheckTools returns an error if one of the tools is nil, has no name, or has the name of another.
func CheckTools(tools []*schema.ToolInfo) error {
	seen := make(map[string]bool, len(tools))
	for i, info := range tools {
		switch {
		case info == nil:
			return fmt.Errorf("tool %d is nil", i)
		case info.Name == "":
			return fmt.Errorf("tool %d has no name", i)
		case seen[info.Name]:
			return fmt.Errorf("two tools are named %q", info.Name)
		}
		seen[info.Name] = true
	}
	return nil
}

// CheckToolNames checks the names of tools against a provider's rule. Tools are not renamed silently: the model's calls
// would name tools that the application does not have.
func CheckToolNames(tools []*schema.ToolInfo, rule *regexp.Regexp, inWords string) error {
	for _, info := range tools {
		if info != nil && !rule.MatchString(info.Name) {
			return fmt.Errorf("the name of tool %q is not accepted by the provider: use %s", info.Name, inWords)
		}
	}
	return nil
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// ToolParameters returns the JSON schema of a tool's arguments, always the schema of an object with properties, with
// its keywords in their order: providers reject anything else.
func ToolParameters(info *schema.ToolInfo) (json.RawMessage, error) {
	if info.ParamsOneOf == nil {
		return noParameters, nil
	}
	raw, err := info.SchemaJSON()
	if err != nil {
		return nil, fmt.Errorf("parameters of tool %q: %w", info.Name, err)
	}
	if raw == nil {
		return noParameters, nil
	}
	decoded, err := DecodeOrdered(raw)
	if err != nil {
		return nil, fmt.Errorf("parameters of tool %q: %w", info.Name, err)
	}
	described, ok := decoded.(Object)
	switch {
	case !ok: // true and false are schemas, too
		return noParameters, nil
	case described.Get("type") != nil && described.Get("properties") != nil:
		return raw, nil
	}
	whole := Object{{"type", "object"}, {"properties", Object{}}}
	for _, f := range described {
		if f.Value != nil {
			whole.Set(f.Key, f.Value)
		}
	}
	return whole.Encode()
}

// A Choice says whether the model may or must call tools, and which.
type Choice struct {
	// Mode is empty if the call leaves it to the provider.
	Mode schema.ToolChoice
	// Names narrows the mode to tools of the application. Empty for all.
	Names []string
	// Provided narrows it to tools that the provider or an MCP server runs.
	Provided []*schema.AllowedTool
}

// Forced returns the name of the one tool that must be called, if there is one.
func (c Choice) Forced() string {
	if c.Mode == schema.ToolChoiceForced && len(c.Names) == 1 && len(c.Provided) == 0 {
		return c.Names[0]
	}
	return ""
}

// ToolChoice returns the choice of a call, from whichever of the options sets it. It is an error to allow tools that
// the call does not have, and to force a call without tools, the provider's tools included.
func ToolChoice(o *model.Options, serverTools ...*schema.ToolInfo) (Choice, error) {
	c := choiceOf(o)
	all := slices.Concat(o.Tools, o.DeferredTools)
	if o.ToolSearchTool != nil {
		all = append(all, o.ToolSearchTool)
	}
	for i, name := range c.Names {
		if !slices.ContainsFunc(all, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name }) {
			return c, fmt.Errorf("tool choice %d allows %q, which is none of the tools of the call", i, name)
		}
	}
	switch c.Mode {
	case "", schema.ToolChoiceAllowed, schema.ToolChoiceForbidden:
	case schema.ToolChoiceForced:
		if len(all)+len(c.Provided)+len(serverTools) == 0 {
			return c, errors.New("the tool choice forces a tool call, but the call has no tools")
		}
	default:
		return c, fmt.Errorf("tool choice %q: use one of the constants of package schema", c.Mode)
	}
	return c, nil
}

func choiceOf(o *model.Options) Choice {
	if o.AgenticToolChoice == nil {
		if o.ToolChoice == nil {
			return Choice{}
		}
		return Choice{Mode: *o.ToolChoice, Names: o.AllowedToolNames}
	}
	c := Choice{Mode: o.AgenticToolChoice.Type}
	var allowed []*schema.AllowedTool
	switch a := o.AgenticToolChoice; {
	case c.Mode == schema.ToolChoiceAllowed && a.Allowed != nil:
		allowed = a.Allowed.Tools
	case c.Mode == schema.ToolChoiceForced && a.Forced != nil:
		allowed = a.Forced.Tools
	}
	for _, t := range allowed {
		switch {
		case t == nil:
		case t.FunctionName != "":
			c.Names = append(c.Names, t.FunctionName)
		case t.MCPTool != nil || t.ServerTool != nil:
			c.Provided = append(c.Provided, t)
		}
	}
	return c
}

// AllowedTools leaves out the tools that the choice does not allow, for servers that know no other way to say it.
func (c Choice) AllowedTools(tools []*schema.ToolInfo) []*schema.ToolInfo {
	if len(c.Names) == 0 || c.Mode == schema.ToolChoiceForbidden {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t *schema.ToolInfo) bool {
		return t == nil || !slices.Contains(c.Names, t.Name)
	})
}
