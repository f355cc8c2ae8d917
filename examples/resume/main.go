// Command resume shows a tool that asks a person before it does something. The run is saved in a file meanwhile, and
// continues with the answer: here in the same program, and just as well in another one tomorrow.
//
//	go run ./examples/resume
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// booking holds the arguments of the model's call, which the tool keeps while it waits for the answer.
type booking struct {
	City   string `json:"city"`
	Nights int    `json:"nights"`
}

func init() { schema.RegisterName[*booking]("example_resume_booking") } // it is saved with the run

// book asks before it books. A resumed run calls the tool again, with the same arguments.
func book(ctx context.Context, wanted booking) (string, error) {
	asked, _, kept := tool.GetInterruptState[*booking](ctx)
	if !asked {
		return "", tool.StatefulInterrupt(ctx, fmt.Sprintf("Book %d nights in %s?", wanted.Nights, wanted.City), &wanted)
	}
	target, answered, yes := tool.GetResumeContext[bool](ctx)
	switch {
	case !target || !answered: // the run was resumed for another question: ask again
		return "", tool.StatefulInterrupt(ctx, "Still waiting: book it?", kept)
	case !yes:
		return "the user does not want it", nil
	}
	return fmt.Sprintf("booked: %d nights in %s", kept.Nights, kept.City), nil
}

// newRunner makes everything again, as each process does that handles a part of the run.
func newRunner(ctx context.Context, dir string) (*adk.Runner, error) {
	store, err := checkpoint.NewFileStore(dir)
	if err != nil {
		return nil, err
	}
	hotel, err := utils.InferTool("book_hotel", "Books a hotel. Costs money.", book)
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "travel",
		Model: &demo.Model{Answer: demo.Script(
			demo.Calls(demo.Call("book_hotel", `{"city":"Porto","nights":2}`)),
			demo.Says("Here is what I know: {results}."),
		)},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{hotel}},
			ReportMistakes:  true,
		},
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: store}), nil
}

const runID = "trip-1"

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	dir, err := os.MkdirTemp("", "weft-resume")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	runner, err := newRunner(ctx, dir)
	if err != nil {
		return err
	}
	stopped, err := demo.Print(out, runner.Query(ctx, "Two nights in Porto, please.", adk.WithCheckPointID(runID)))
	if err != nil {
		return err
	}
	question := stopped.Action.Interrupted.InterruptContexts[0]
	fmt.Fprintf(out, "\nThe run has stopped at %s\nand asks: %v\n", question.Address, question.Info)

	fmt.Fprint(out, "The user says yes. Everything is made anew, and the run continues:\n\n")
	if runner, err = newRunner(ctx, dir); err != nil {
		return err
	}
	events, err := runner.ResumeWithParams(ctx, runID, &adk.ResumeParams{Targets: map[string]any{question.ID: true}})
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
