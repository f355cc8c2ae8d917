// Command eager shows tools that start while the model still speaks, and what that saves.
//
//	go run ./examples/eager
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
)

// timeline prints what happens and when.
type timeline struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

func (t *timeline) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := time.Since(t.start).Round(10 * time.Millisecond)
	fmt.Fprintf(t.out, "%6v  %s\n", at, fmt.Sprintf(format, args...))
}

// slowTool takes 300 ms. It stops when its context ends: an eager call may turn out to be unwanted.
func slowTool(t *timeline, name string) (tool.BaseTool, error) {
	return utils.InferTool(name, "Looks something up.", func(ctx context.Context, _ struct{}) (string, error) {
		t.note("%s starts", name)
		select {
		case <-time.After(300 * time.Millisecond):
			t.note("%s has ended", name)
			return name + " is fine", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
}

// ask runs an agent whose model sends a chunk each 100 ms: a call, another call, and a last chunk.
func ask(ctx context.Context, out io.Writer, eager bool) error {
	t := &timeline{out: out, start: time.Now()}
	weather, err := slowTool(t, "weather")
	if err != nil {
		return err
	}
	traffic, err := slowTool(t, "traffic")
	if err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant",
		Model: &demo.Model{Pace: 100 * time.Millisecond, Answer: demo.Script(
			demo.Calls(demo.Call("weather", "{}"), demo.Call("traffic", "{}")),
			demo.Says("Go!"),
		)},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather, traffic}},
			EagerExecution:  eager,
			ReportMistakes:  true,
		},
	})
	if err != nil {
		return err
	}
	// Without streaming there is nothing to be early for.
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	for event := range runner.Query(ctx, "Should I go by bike?").All() {
		if event.Err != nil {
			return event.Err
		}
		message, _, err := adk.GetMessage(event)
		if err != nil {
			return err
		}
		switch {
		case message.ToolName != "":
			t.note("the result of %s is out", message.ToolName)
		case len(message.ToolCalls) > 0:
			t.note("the model has called %d tools", len(message.ToolCalls))
		default:
			t.note("the model says: %s", message.Content)
		}
	}
	return nil
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	fmt.Fprintln(out, "Tools start when the model has ended:")
	if err := ask(ctx, out, false); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nTools start as soon as their arguments are there:")
	return ask(ctx, out, true)
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
