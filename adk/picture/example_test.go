package picture_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/picture"
)

// example stands in for the *testing.T of a test.
type example struct{}

func (example) Helper()               {}
func (example) Errorf(string, ...any) {}
func (example) Cleanup(func())        {}

func ExampleMermaid() {
	ctx := context.Background()
	newAgent := func(name string, tools ...*adktest.Tool) adk.Agent {
		conf := &adk.ChatModelAgentConfig{Name: name, Description: name, Model: adktest.NewModel(example{})}
		for _, t := range tools {
			conf.ToolsConfig.Tools = append(conf.ToolsConfig.Tools, t)
		}
		agent, err := adk.NewChatModelAgent(ctx, conf)
		if err != nil {
			panic(err)
		}
		return agent
	}
	newsroom, err := adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{
		Name: "newsroom", SubAgents: []adk.Agent{newAgent("researcher", adktest.NewTool("search")), newAgent("editor")}})
	if err != nil {
		panic(err)
	}
	desk, err := adk.SetSubAgents(ctx, newAgent("desk"), []adk.Agent{newsroom})
	if err != nil {
		panic(err)
	}
	fmt.Print(picture.Mermaid(ctx, desk, picture.WithTools()))
	// Output:
	// flowchart TD
	//     a_desk["desk<br/>ChatModel"]
	//     subgraph g_newsroom["newsroom, Sequential"]
	//         a_researcher["researcher<br/>ChatModel<br/>tools search"]
	//         a_editor["editor<br/>ChatModel"]
	//     end
	//     a_researcher --> a_editor
	//     a_desk -->|"transfer"| g_newsroom
}
