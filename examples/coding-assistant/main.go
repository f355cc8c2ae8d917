// Command coding-assistant lets an agent fix a mistake in a file. It can read the files of one directory and no others,
// and it has to ask before it changes one.
//
//	go run ./examples/coding-assistant
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/filesystem/local"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
)

const broken = `package greet

// Hello greets a person.
func Hello(name string) string { return "Hello, nmae!" }
`

// toolErrors gives the model the error of a tool as its result. Otherwise the error of a tool ends the run.
type toolErrors struct {
	*adk.BaseChatModelAgentMiddleware
}

func (*toolErrors) WrapInvokableToolCall(
	_ context.Context, next adk.InvokableToolCallEndpoint, _ *adk.ToolContext,
) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		result, err := next(ctx, arguments, opts...)
		if _, interrupt := compose.IsInterruptRerunError(err); err == nil || interrupt || ctx.Err() != nil {
			return result, err // questions and a run that is to end are no mistakes of the model
		}
		return "error: " + err.Error(), nil
	}, nil
}

// newAssistant makes an agent that has the files below dir.
func newAssistant(ctx context.Context, dir string) (agent adk.Agent, done func() error, err error) {
	// The agent sees the directory as /. No path leads out of it, also no symbolic link.
	backend, err := local.NewBackend(ctx, &local.Config{Root: dir, Mount: "/"})
	if err != nil {
		return nil, nil, err
	}
	// Without a Shell there is no tool that runs commands.
	files, err := filesystem.New(ctx, &filesystem.MiddlewareConfig{Backend: backend})
	if err != nil {
		return nil, nil, err
	}
	ask, err := approval.New(ctx, &approval.Config{Tools: []string{filesystem.ToolNameWriteFile,
		filesystem.ToolNameEditFile}})
	if err != nil {
		return nil, nil, err
	}
	agent, err = adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "coder",
		Model: &demo.Model{Answer: demo.Script(
			demo.Calls(demo.Call("grep", `{"pattern":"nmae","output_mode":"content"}`)),
			demo.Calls(demo.Call("read_file", `{"file_path":"/etc/passwd"}`),
				demo.Call("read_file", `{"file_path":"/greet.go"}`)),
			demo.SaysAndCalls("I see: the name is not put in.", demo.Call("edit_file",
				`{"file_path":"/greet.go","old_string":"\"Hello, nmae!\"","new_string":"\"Hello, \" + name + \"!\""}`)),
			demo.Says("Fixed. Hello greets by name now."),
		)},
		// First the tools, so that the handlers behind know them; the question lies around the handler for errors.
		Handlers: []adk.ChatModelAgentMiddleware{files, ask, &toolErrors{}},
	})
	return agent, backend.Close, err
}

// review is the person at the keyboard, who sees what the agent is about to do and allows it.
func review(out io.Writer, stopped *adk.AgentEvent) *adk.ResumeParams {
	decisions := map[string]any{}
	for _, point := range stopped.Action.Interrupted.InterruptContexts {
		request := point.Info.(*approval.Request)
		fmt.Fprintf(out, "\nMay %s run with %s?\nYes.\n\n", request.Tool, request.Arguments)
		decisions[point.ID] = request.Approve() // or Reject, or Edit
	}
	return &adk.ResumeParams{Targets: decisions}
}

const runID = "fix-1"

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	dir, err := os.MkdirTemp("", "weft-coding")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "greet.go")
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		return err
	}
	agent, done, err := newAssistant(ctx, dir)
	if err != nil {
		return err
	}
	defer done()
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()})
	stopped, err := demo.Print(out, runner.Query(ctx, "Hello says nmae. Fix it.", adk.WithCheckPointID(runID)))
	for stopped != nil && err == nil {
		var events *adk.AsyncIterator[*adk.AgentEvent]
		if events, err = runner.ResumeWithParams(ctx, runID, review(out, stopped)); err == nil {
			stopped, err = demo.Print(out, events)
		}
	}
	if err != nil {
		return err
	}
	fixed, err := os.ReadFile(file)
	fmt.Fprintf(out, "\nThe file is now:\n\n%s", fixed)
	return err
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
