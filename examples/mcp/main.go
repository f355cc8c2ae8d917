// Command mcp is both sides of MCP: started with "serve" it serves a tool on its standard input and output, and otherwise
// it starts itself so, lists the tools and calls one, as an agent would. It needs no model and no network.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// order has the arguments of the tool.
type order struct {
	Number int `json:"number" jsonschema:"required,description=the number of the order"`
}

// serve serves the tool until the input ends.
func serve(ctx context.Context) error {
	status, err := utils.InferTool("order_status", "Says where an order is.",
		func(_ context.Context, o order) (string, error) {
			return fmt.Sprintf("order %d is on its way", o.Number), nil
		})
	if err != nil {
		return err
	}
	server, err := mcpserve.New(mcpserve.Config{Name: "shop"})
	if err != nil {
		return err
	}
	if err := server.AddTool(ctx, status, mcpserve.ToolOptions{ReadOnly: true}); err != nil {
		return err
	}
	return server.ServeStdio(ctx)
}

// use starts the server and calls its tools.
func use(ctx context.Context, program string) (err error) {
	shop, err := mcptool.New(mcptool.Config{Name: "shop", Command: []string{program, "serve"}})
	if err != nil {
		return err
	}
	defer func() {
		if closed := shop.Close(); err == nil {
			err = closed
		}
	}()
	tools, err := shop.Tools(ctx) // an agent takes these as its ToolsConfig, or shop.Middleware() among its Handlers
	if err != nil {
		return err
	}
	for _, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			return err
		}
		result, err := t.(tool.EnhancedInvokableTool).InvokableRun(ctx, &schema.ToolArgument{Text: `{"number":7}`})
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", info.Name, result.Parts[0].Text)
	}
	return nil
}

func main() {
	ctx := context.Background()
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(ctx); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := use(ctx, os.Args[0]); err != nil {
		log.Fatal(err)
	}
}
