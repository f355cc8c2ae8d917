// Tools with the tags that one finds in programs.
package tooltags

import (
	"context"

	"github.com/cloudwego/eino/components/tool/utils"
)

type searchRequest struct {
	Query  string   `json:"query" jsonschema:"required,description=what to look for, in English"`
	Limit  int      `json:"limit" jsonschema:"desc=how many"` // want `the jsonschema tag of field Limit has "desc=how many"`
	Sort   string   `json:"sort" jsonschema:"enum=date,enum=name,default=date"`
	Tags   []string `json:"tags" jsonschema:"optional"` // want `the jsonschema tag of field Tags has "optional"`
	Within []place  `json:"within"`
	Hidden int      `json:"-" jsonschema:"nonsense"`
	secret int      `jsonschema:"nonsense"`
}

type place struct {
	City string `json:"city" jsonschema:"required,descripton=the city"` // want `field City has "descripton=the city"`
}

type unused struct {
	Name string `jsonschema:"whatever"`
}

func search(_ context.Context, r *searchRequest) (string, error) { return r.Query, nil }

func tools() {
	_, _ = utils.InferTool("search", "searches", search)
	_, _ = utils.InferTool("again", "searches", search)
	_, _ = utils.GoStruct2ToolInfo[place]("place", "a place")
}
