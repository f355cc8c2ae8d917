// Mcpclient is a client of MCP for the conformance suite: it lists the tools of the server whose address is its last
// argument, and calls each of them with arguments that the suite expects.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server, err := mcptool.New(mcptool.Config{Name: "suite", URL: os.Args[len(os.Args)-1],
		Elicit: func(context.Context, mcptool.Input, []mcptool.Call) (mcptool.Answer, error) {
			return mcptool.Answer{Action: mcptool.Accept}, nil // with what the server suggests
		}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	tools, err := server.Tools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			log.Fatal(err)
		}
		arguments := "{}"
		if info.Name == "add_numbers" {
			arguments = `{"a":5,"b":3}`
		}
		result, err := t.(tool.EnhancedInvokableTool).InvokableRun(ctx, &schema.ToolArgument{Text: arguments})
		if err != nil {
			log.Fatal(err)
		}
		for _, p := range result.Parts {
			fmt.Println(info.Name, p.Text)
		}
	}
}
