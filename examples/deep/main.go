// Command deep shows an agent for long work: it keeps a list of tasks, has another agent do a part of it, and writes
// the result into a file.
//
//	go run ./examples/deep
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem/local"
	"github.com/weftgo/weft/adk/prebuilt/deep"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

const task = "Count the words of /notes.txt. Answer with the number alone."

// todos is the list with some of it done.
func todos(counting, writing string) schema.ToolCall {
	return demo.Call("write_todos", fmt.Sprintf(`{"todos":[`+
		`{"content":"Count the words","activeForm":"Counting the words","status":%q},`+
		`{"content":"Write the report","activeForm":"Writing the report","status":%q}]}`, counting, writing))
}

// answer is the demo model. It answers for the agent and for the one that gets the task, which sees nothing of
// the conversation but the task.
func answer(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
	for _, m := range history {
		if m.Role == schema.User && m.Content == task {
			return demo.Script(
				demo.Calls(demo.Call("read_file", `{"file_path":"/notes.txt"}`)),
				func(_ string, results []*schema.Message) *schema.Message {
					_, text, _ := strings.Cut(results[0].Content, "\t") // behind the number of the line
					return schema.AssistantMessage(fmt.Sprint(len(strings.Fields(text))), nil)
				},
			)(ctx, history)
		}
	}
	return demo.Script(
		demo.Calls(todos("in_progress", "pending")),
		demo.Calls(demo.Call("task", fmt.Sprintf(`{"subagent_type":"general-purpose","description":%q}`, task))),
		demo.Calls(todos("completed", "in_progress")),
		func(question string, results []*schema.Message) *schema.Message {
			return demo.Calls(demo.Call("write_file",
				fmt.Sprintf(`{"file_path":"/report.txt","content":"The notes have %s words."}`,
					results[1].Content)))(question, results)
		},
		demo.Says("The report is in /report.txt."),
	)(ctx, history)
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	dir, err := os.MkdirTemp("", "weft-deep")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("Ships leave at high tide."), 0o600); err != nil {
		return err
	}
	backend, err := local.NewBackend(ctx, &local.Config{Root: dir, Mount: "/"})
	if err != nil {
		return err
	}
	defer backend.Close()
	agent, err := deep.New(ctx, &deep.Config{
		Name:        "clerk",
		ChatModel:   &demo.Model{Answer: answer},
		Backend:     backend,
		ToolsConfig: adk.ToolsConfig{EmitInternalEvents: true}, // show the agent at work on the task, too
	})
	if err != nil {
		return err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	if _, err := demo.Print(out, runner.Query(ctx, "Write a report on how many words the notes have.")); err != nil {
		return err
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.txt"))
	fmt.Fprintf(out, "\nThe report: %s\n", report)
	return err
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
