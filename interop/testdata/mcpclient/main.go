// Mcpclient is a client of MCP for the conformance suite, which says in its environment what it has to do with the
// server whose address is its last argument: as a rule it lists the tools and calls each of them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// toolCall is a call that the suite wants.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// task is what the suite wants.
type task struct {
	ToolCalls    []toolCall `json:"toolCalls"`
	ClientID     string     `json:"client_id"`
	ClientSecret string     `json:"client_secret"`
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[len(os.Args)-1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, scenario, address string) error {
	var wanted task
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &wanted); err != nil {
			return err
		}
	}
	conf := mcptool.Config{Name: "suite", URL: address,
		Elicit: func(context.Context, mcptool.Input, []mcptool.Call) (mcptool.Answer, error) {
			return mcptool.Answer{Action: mcptool.Accept}, nil // with what the server suggests
		}}
	if strings.HasPrefix(scenario, "auth/") {
		handler, err := consent(wanted, scenario)
		if err != nil {
			return err
		}
		conf.OAuth = handler
	}
	server, err := mcptool.New(conf)
	if err != nil {
		return err
	}
	defer server.Close()
	tools, err := server.Tools(ctx)
	if err != nil {
		return err
	}
	if scenario == "json-schema-ref-no-deref" { // there is nothing to call
		return nil
	}
	calls := wanted.ToolCalls
	if len(calls) == 0 {
		if calls, err = callsOf(ctx, tools); err != nil {
			return err
		}
	}
	for _, c := range calls {
		if err := call(ctx, tools, c); err != nil {
			return err
		}
	}
	if scenario == "http-standard-headers" {
		return look(ctx, server)
	}
	return nil
}

// callsOf are calls of all tools, with arguments that the suite expects.
func callsOf(ctx context.Context, tools []tool.BaseTool) (calls []toolCall, err error) {
	var focal json.RawMessage
	for _, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			return nil, err
		}
		c := toolCall{Name: info.Name, Arguments: json.RawMessage("{}")}
		switch info.Name {
		case "add_numbers":
			c.Arguments = json.RawMessage(`{"a":5,"b":3}`)
		case "json_schema_2020_12_tool": // it is shown by the other one
			focal = info.ParamsOneOf.RawJSON()
			continue
		}
		calls = append(calls, c)
	}
	for i := range calls {
		if calls[i].Name == "json_schema_echo" {
			if focal == nil {
				return nil, errors.New("there is no schema to show")
			}
			calls[i].Arguments = json.RawMessage(`{"schema":` + string(focal) + `}`)
		}
	}
	return calls, nil
}

func call(ctx context.Context, tools []tool.BaseTool, c toolCall) error {
	for _, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			return err
		}
		if info.Name != c.Name {
			continue
		}
		result, err := t.(tool.EnhancedInvokableTool).InvokableRun(ctx, &schema.ToolArgument{Text: string(c.Arguments)})
		if err != nil {
			return err
		}
		for _, p := range result.Parts {
			fmt.Println(c.Name, p.Text)
		}
		return nil
	}
	return fmt.Errorf("there is no tool %q", c.Name)
}

// look reads a resource and a prompt, if there are any.
func look(ctx context.Context, server *mcptool.Server) error {
	resources, err := server.Resources(ctx)
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := server.Read(ctx, r.URI); err != nil {
			return err
		}
	}
	prompts, err := server.Prompts(ctx)
	if err != nil {
		return err
	}
	for _, p := range prompts {
		if _, err := server.Prompt(p.Name).Format(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
