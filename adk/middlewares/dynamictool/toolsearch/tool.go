package toolsearch

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const toolName = "tool_search"

// matches is the answer of tool_search to the model, which the middleware finds again in the history.
type matches struct {
	Matches []string `json:"matches"`
}

// A searcher is what both forms of tool_search share.
type searcher struct{ *index }

// nameSearch is the form that names the tools it found.
type nameSearch struct{ searcher }

// infoSearch is the form for models that search by themselves: it returns the tools.
type infoSearch struct{ searcher }

var (
	_ tool.InvokableTool         = nameSearch{}
	_ tool.EnhancedInvokableTool = infoSearch{}
)

func newSearchTool(x *index, byModel bool) tool.BaseTool {
	if byModel {
		return infoSearch{searcher{x}}
	}
	return nameSearch{searcher{x}}
}

// GetType returns "toolSearchTool".
func (searcher) GetType() string { return "toolSearchTool" }

// Info describes the tool, in the language of the process.
func (searcher) Info(context.Context) (*schema.ToolInfo, error) { return searchInfo(), nil }

func searchInfo() *schema.ToolInfo {
	return &schema.ToolInfo{
		Name: toolName,
		Desc: language.Select(description, descriptionChinese),
		ParamsOneOf: toolparams.Closed(map[string]*schema.ParameterInfo{
			"query": {Type: schema.String, Required: true, Desc: language.Select(
				`What to look for: words, or "select:" and names of tools, separated by commas.`,
				`要查找的内容：关键词，或 "select:" 加以逗号分隔的工具名称。`)},
			"max_results": {Type: schema.Integer, Desc: language.Select(
				"Greatest number of tools that a search by words returns (default 5).",
				"按关键词查找时最多返回的工具数（默认 5）。")},
		}),
	}
}

var errNoQuery = &tool.ArgumentsError{Problems: []string{"query is required"}}

// find runs the search that the arguments ask for.
func (s searcher) find(ctx context.Context, arguments string) ([]*schema.ToolInfo, error) {
	type searchArguments struct {
		Query      string `json:"query"`
		MaxResults int    `json:"max_results"`
	}
	in, err := utils.DecodeArguments[searchArguments](ctx, searchInfo(), arguments, false)
	if err != nil {
		return nil, fmt.Errorf("failed to unmarshal tool search arguments: %w", err)
	}
	if strings.TrimSpace(in.Query) == "" {
		return nil, errNoQuery
	}
	return s.search(in.Query, in.MaxResults), nil
}

// Idempotent reports true: a search only reads.
func (nameSearch) Idempotent() bool { return true }

// InvokableRun returns the names of the tools that it finds.
func (s nameSearch) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	infos, err := s.find(ctx, argumentsInJSON)
	if err != nil {
		return "", err
	}
	found := matches{Matches: make([]string, len(infos))}
	for i, info := range infos {
		found.Matches[i] = info.Name
	}
	return json.MarshalString(found)
}

// Idempotent reports true: a search only reads.
func (infoSearch) Idempotent() bool { return true }

// InvokableRun returns the tools that it finds.
func (s infoSearch) InvokableRun(
	ctx context.Context, toolArgument *schema.ToolArgument, _ ...tool.Option,
) (*schema.ToolResult, error) {
	if toolArgument == nil {
		return nil, errNoQuery
	}
	infos, err := s.find(ctx, toolArgument.Text)
	if err != nil {
		return nil, err
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{
		Type: schema.ToolPartTypeToolSearchResult, ToolSearchResult: &schema.ToolSearchResult{Tools: infos}}}}, nil
}
