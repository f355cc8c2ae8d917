package filesystem_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	middleware "github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/components/tool"
)

// The middleware adds tools to every run of an agent whose Handlers it is among.
func Example() {
	ctx := context.Background()
	files := filesystem.NewInMemoryBackend()
	if err := files.Write(ctx, &filesystem.WriteRequest{FilePath: "/todo.md",
		Content: "buy milk\nsell eggs"}); err != nil {
		panic(err)
	}
	m, err := middleware.New(ctx, &middleware.MiddlewareConfig{
		Backend:             files,
		WriteFileToolConfig: &middleware.ToolConfig{Disable: true},
		EditFileToolConfig:  &middleware.ToolConfig{Disable: true},
	})
	if err != nil {
		panic(err)
	}

	_, run, err := m.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
	if err != nil {
		panic(err)
	}
	for _, t := range run.Tools {
		info, err := t.Info(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println(info.Name)
	}
	result, err := run.Tools[1].(tool.InvokableTool).InvokableRun(ctx, `{"file_path":"/todo.md"}`)
	if err != nil {
		panic(err)
	}
	fmt.Println(result)
	// Output:
	// ls
	// read_file
	// glob
	// grep
	//      1	buy milk
	//      2	sell eggs
}
