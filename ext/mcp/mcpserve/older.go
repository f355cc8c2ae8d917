package mcpserve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstModern is the first version of the protocol in which a call is answered with questions. Clients of older ones
// are asked in the middle of their call.
const firstModern = "2026-07-28"

// isModern reports whether a call is of a client that can be answered with questions.
func isModern(r *mcp.CallToolRequest) bool {
	version, _ := r.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return version >= firstModern
}

// asking asks clients of older protocols what a call is answered with, and calls again with what they say, as often as
// it takes. It is around the limits of the server: a call that waits for its user takes no place.
func asking(call mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for {
			result, err := call(ctx, r)
			if err != nil || len(result.InputRequests) == 0 || isModern(r) {
				return result, err
			}
			responses, err := ask(ctx, r.Session, result.InputRequests)
			if err != nil {
				return failed(err.Error()), nil
			}
			params := *r.Params
			params.RequestState, params.InputResponses = result.RequestState, responses
			again := *r
			again.Params = &params
			r = &again
		}
	}
}

// ask asks a client one thing after the other.
func ask(ctx context.Context, client *mcp.ServerSession, asked mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	responses := mcp.InputResponseMap{}
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(asked)) {
		params := asked[id].(*mcp.ElicitParams) // nothing else is asked here
		texts = append(texts, params.Message)
		response, err := client.Elicit(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("the agent needs an answer of the user, and this client did not ask: %s: %w",
				strings.Join(texts, "; "), err)
		}
		responses[id] = response
	}
	return responses, nil
}
