package mcpserve_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
)

// A function is served as a tool over HTTP, and called by a client.
func Example() {
	ctx := context.Background()
	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	add, err := utils.InferTool("add", "Adds.", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil })
	if err != nil {
		panic(err)
	}
	server, err := mcpserve.New(mcpserve.Config{Name: "calculator"})
	if err != nil {
		panic(err)
	}
	if err := server.AddTool(ctx, add, mcpserve.ToolOptions{ReadOnly: true}); err != nil {
		panic(err)
	}
	handler, err := server.Handler(mcpserve.HTTPOptions{}) // or server.ServeStdio(ctx)
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(handler)
	defer web.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 3}})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// 5
}
