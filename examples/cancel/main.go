// Command cancel stops a run at a safe point, where nothing is lost, and continues with it.
//
//	go run ./examples/cancel
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
)

// download is a tool that takes its time. Each call sends to begun.
func download(begun chan<- int) (tool.BaseTool, error) {
	return utils.InferTool("download", "Downloads a part of the archive.", func(ctx context.Context, in struct {
		Part int `json:"part"`
	}) (string, error) {
		begun <- in.Part
		select {
		case <-time.After(100 * time.Millisecond):
			return fmt.Sprintf("part %d", in.Part), nil
		case <-ctx.Done(): // an immediate cancel would end up here
			return "", context.Cause(ctx)
		}
	})
}

const runID = "archive"

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	begun := make(chan int, 3)
	slow, err := download(begun)
	if err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "archivist",
		Model: &demo.Model{Answer: demo.Script(
			demo.Calls(demo.Call("download", `{"part":1}`)),
			demo.Calls(demo.Call("download", `{"part":2}`)),
			demo.Says("All is here: {results}."),
		)},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{slow}},
			ReportMistakes:  true,
		},
	})
	if err != nil {
		return err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()})

	option, cancel := adk.WithCancel()
	waited := make(chan error)
	go func() {
		<-begun // the first part is on its way: stop when it is there
		handle, _ := cancel(adk.WithAgentCancelMode(adk.CancelAfterToolCalls), adk.WithAgentCancelTimeout(10*time.Second))
		waited <- handle.Wait()
	}()
	_, err = demo.Print(out, runner.Query(ctx, "Get me the archive.", adk.WithCheckPointID(runID), option))
	var stopped *adk.CancelError
	if !errors.As(err, &stopped) {
		return fmt.Errorf("the run should have been cancelled: %w", err)
	}
	fmt.Fprintf(out, "\nStopped at the safe point %v; saved as %q.\n", stopped.InterruptContexts[0].Info,
		stopped.CheckPointID)
	if err := <-waited; err != nil {
		return err
	}

	fmt.Fprint(out, "It continues, and no part is downloaded twice:\n\n")
	events, err := runner.Resume(ctx, runID)
	if err != nil {
		return err
	}
	_, err = demo.Print(out, events)
	return err
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
