package filesystem

import (
	"fmt"

	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// A slot is the place of one tool: what it is called and said to do unless the user decides otherwise, and what the
// user decides.
type slot struct {
	name string
	desc string
	// legacyDesc is a description given in the way of early versions.
	legacyDesc *string
	config     *ToolConfig
	// build makes the tool; nil if the configuration has nothing to build it on.
	build func(info *schema.ToolInfo) tool.BaseTool
	// params describes the arguments.
	params map[string]*schema.ParameterInfo
}

// newTools makes the tools of a valid configuration.
func newTools(c *MiddlewareConfig) ([]tool.BaseTool, error) {
	read, err := readFileSlot(c)
	if err != nil {
		return nil, err
	}
	slots := []slot{lsSlot(c), read, writeFileSlot(c), editFileSlot(c), globSlot(c), grepSlot(c), executeSlot(c)}
	var tools []tool.BaseTool
	names := map[string]bool{}
	for i := range slots {
		t, name := slots[i].tool(c.Backend != nil || slots[i].name == ToolNameExecute)
		if t == nil {
			continue
		}
		if name != "" && names[name] {
			return nil, fmt.Errorf("two tools have the name %q: give each ToolConfig its own", name)
		}
		names[name] = true
		tools = append(tools, t)
	}
	return tools, nil
}

// tool makes the tool of a slot, nil if there is to be none. The name of a custom tool is not known.
func (s *slot) tool(built bool) (t tool.BaseTool, name string) {
	var c ToolConfig
	if s.config != nil {
		c = *s.config
	}
	switch {
	case c.Disable:
		return nil, ""
	case !typednil.Is(c.CustomTool):
		return c.CustomTool, ""
	case !built || s.build == nil:
		return nil, ""
	}
	info := &schema.ToolInfo{Name: s.name, Desc: s.desc, ParamsOneOf: toolparams.Closed(s.params)}
	if c.Name != "" {
		info.Name = c.Name
	}
	if desc := s.customDesc(c.Desc); desc != "" {
		info.Desc = desc
	}
	return s.build(info), info.Name
}

func (s *slot) customDesc(desc *string) string {
	if desc == nil {
		desc = s.legacyDesc
	}
	if desc == nil {
		return ""
	}
	return *desc
}

// invokable makes what builds a tool of a function.
func invokable[T any](run utils.InvokeFunc[T, string], opts ...utils.Option) func(*schema.ToolInfo) tool.BaseTool {
	return func(info *schema.ToolInfo) tool.BaseTool { return utils.NewTool(info, run, opts...) }
}

// param describes an argument that may be left out.
func param(t schema.DataType, english, chinese string) *schema.ParameterInfo {
	return &schema.ParameterInfo{Type: t, Desc: language.Select(english, chinese)}
}

// required describes an argument that must be given.
func required(t schema.DataType, english, chinese string) *schema.ParameterInfo {
	p := param(t, english, chinese)
	p.Required = true
	return p
}

// nothingFound is the text that ls and glob return instead of nothing, and grep if it was asked for files.
const nothingFound = "No files found"
