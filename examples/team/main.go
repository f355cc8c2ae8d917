// Command team has four agents work on one question: a desk that hands it over, a sequence of two agents that it is
// handed to, and an agent that one of these uses as a tool.
//
//	go run ./examples/team
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
)

// newAgent makes an agent whose model follows a script.
func newAgent(
	ctx context.Context, name, description string, tools []tool.BaseTool, script ...demo.Line,
) (adk.Agent, error) {
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: name, Description: description, // which other agents choose by
		Model: &demo.Model{Answer: demo.Script(script...)},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig:    compose.ToolsNodeConfig{Tools: tools},
			ReportMistakes:     true,
			EmitInternalEvents: true, // show what an agent says that runs as a tool
		},
	})
}

// newTeam puts the agents together:
//
//	desk ── hands over to ── press ── runs ─┬─ researcher ── has the tool ── archive
//	                                        └─ editor
func newTeam(ctx context.Context) (adk.Agent, error) {
	archive, err := newAgent(ctx, "archive", "knows what old papers say", nil,
		demo.Says("The paper of that day says: opened in 1932"))
	if err != nil {
		return nil, err
	}
	researcher, err := newAgent(ctx, "researcher", "finds facts", []tool.BaseTool{adk.NewAgentTool(ctx, archive)},
		demo.Calls(demo.Call("archive", `{"request":"When was the bridge opened?"}`)),
		demo.Says("I have found this. Archive: {results}"))
	if err != nil {
		return nil, err
	}
	editor, err := newAgent(ctx, "editor", "writes the article", nil,
		// The question that it sees is what the agent before it said, as a message of the user.
		demo.Says("My notes say: “{question}” So: the bridge is from 1932."))
	if err != nil {
		return nil, err
	}
	press, err := adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{
		Name: "press", Description: "researches and writes articles", SubAgents: []adk.Agent{researcher, editor}})
	if err != nil {
		return nil, err
	}
	desk, err := newAgent(ctx, "desk", "takes questions", nil,
		demo.Calls(demo.Call(adk.TransferToAgentToolName, `{"agent_name":"press"}`)))
	if err != nil {
		return nil, err
	}
	return adk.SetSubAgents(ctx, desk, []adk.Agent{press})
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	team, err := newTeam(ctx)
	if err != nil {
		return err
	}
	var path []adk.RunStep
	for event := range adk.NewRunner(ctx, adk.RunnerConfig{Agent: team}).Query(ctx, "How old is the bridge?").All() {
		if event.Err != nil {
			return event.Err
		}
		if err := demo.PrintEvent(out, event); err != nil {
			return err
		}
		path = event.RunPath
	}
	fmt.Fprint(out, "\nThe way of the question:")
	for _, step := range path {
		fmt.Fprintf(out, " > %s", step.String())
	}
	fmt.Fprintln(out)
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
