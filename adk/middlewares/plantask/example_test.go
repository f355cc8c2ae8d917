package plantask_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/plantask"
	"github.com/weftgo/weft/components/tool"
)

// The middleware adds its tools to every run of an agent whose Handlers it is among.
func Example() {
	ctx := context.Background()
	m, err := plantask.New(ctx, &plantask.Config{Backend: filesystem.NewInMemoryBackend(), BaseDir: "/tasks"})
	if err != nil {
		panic(err)
	}
	_, run, err := m.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
	if err != nil {
		panic(err)
	}
	create, list := run.Tools[0].(tool.InvokableTool), run.Tools[3].(tool.InvokableTool)
	for _, subject := range []string{"Buy flour", "Bake bread"} {
		result, err := create.InvokableRun(ctx, fmt.Sprintf(`{"subject":%q,"description":"for Sunday"}`, subject))
		if err != nil {
			panic(err)
		}
		fmt.Println(result)
	}
	result, err := list.InvokableRun(ctx, `{}`)
	if err != nil {
		panic(err)
	}
	fmt.Println(result)
	// Output:
	// {"result":"Task #1 created successfully: Buy flour"}
	// {"result":"Task #2 created successfully: Bake bread"}
	// {"result":"#1 [pending] Buy flour\n#2 [pending] Bake bread\n"}
}
