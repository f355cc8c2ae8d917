package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// The tools of a server, here one in this process: with Command it is a program, with URL an address.
func Example() {
	ctx := context.Background()
	there := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	there.AddTool(&mcp.Tool{Name: "price.of", Description: "Says what something costs.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "3 €"}}}, nil
		})
	shop, err := mcptool.New(mcptool.Config{Name: "shop", Transport: func(ctx context.Context) (mcp.Transport, error) {
		client, server := mcp.NewInMemoryTransports()
		_, err := there.Connect(ctx, server, nil)
		return client, err
	}})
	if err != nil {
		panic(err)
	}
	defer shop.Close()

	tools, err := shop.Tools(ctx) // for ToolsConfig; or give the agent shop.Middleware()
	if err != nil {
		panic(err)
	}
	info, err := tools[0].Info(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(info.Name, "is", info.Extra[mcptool.NameKey], "of", info.Extra[mcptool.ServerKey])
	result, err := tools[0].(tool.EnhancedInvokableTool).InvokableRun(ctx, &schema.ToolArgument{Text: `{"what":"tea"}`})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Parts[0].Text)
	// Output:
	// price_of is price.of of shop
	// 3 €
}
