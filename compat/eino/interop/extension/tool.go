// Package extension is written as a module for Eino is: it imports Eino's paths and knows nothing of Weft. It has the
// kinds of extensions of which no published module is tested here.
package extension

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
)

// SearchConfig configures [NewSearchTool].
type SearchConfig struct {
	ToolName string
	ToolDesc string
	BaseURL  string
	Client   *http.Client
}

// SearchRequest is what the model calls the tool with.
type SearchRequest struct {
	Query string `json:"query" jsonschema:"required,description=what to look for"`
	Limit int    `json:"limit,omitempty" jsonschema:"description=how many results,minimum=1,maximum=10"`
}

// SearchResponse is what the model reads.
type SearchResponse struct {
	Hits []string `json:"hits"`
}

// NewSearchTool makes a tool that asks a search service.
func NewSearchTool(_ context.Context, conf *SearchConfig) (tool.InvokableTool, error) {
	if conf == nil || conf.BaseURL == "" {
		return nil, fmt.Errorf("search: BaseURL is required")
	}
	return utils.InferTool(conf.ToolName, conf.ToolDesc, conf.search)
}

func (c *SearchConfig) search(ctx context.Context, req *SearchRequest) (*SearchResponse, error) {
	u := fmt.Sprintf("%s/search?q=%s&n=%d", c.BaseURL, url.QueryEscape(req.Query), max(req.Limit, 1))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer resp.Body.Close()
	out := &SearchResponse{}
	return out, json.NewDecoder(resp.Body).Decode(&out.Hits)
}
