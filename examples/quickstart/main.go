// Command quickstart asks an agent about the directory it is run in.
//
//	go run github.com/weftgo/weft/examples/quickstart@latest [question]
//
// With OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or the key of another provider in the environment it talks to
// a model there (quickstart -h lists all of them). Without a key it uses a small built-in demo model, which plans its
// tool calls by rules.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/llm"
)

const instruction = `You answer questions about the source code in the current directory.
Use the tools to find out; do not guess. Keep the answer short and name files and numbers.`

const defaultQuestion = "How large is this project, and which package is the largest?"

const usage = `quickstart asks an agent about the files in the current directory.

    quickstart [question]

Without a question it asks: ` + defaultQuestion + `

`

// The codes that the program exits with.
const (
	exitFailed = 1
	exitUsage  = 2
	exitCtrlC  = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(start(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// start runs the program and returns its exit code.
func start(ctx context.Context, args []string, out, errs io.Writer) int {
	question, err := parse(args)
	if err == nil {
		err = run(ctx, question, out)
	}
	var misuse *usageError
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(errs, "\nquickstart: stopped")
		return exitCtrlC
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage+llm.Environment)
		return 0
	case errors.As(err, &misuse):
		fmt.Fprintf(errs, "quickstart: %s; quickstart -h explains\n", oneLine(err))
		return exitUsage
	case err != nil:
		fmt.Fprintln(errs, "\nquickstart:", oneLine(err))
		return exitFailed
	}
	return 0
}

// A usageError is a mistake on the command line.
type usageError struct{ error }

// parse takes the question from the arguments.
func parse(args []string) (question string, err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return "", err
	} else if err != nil {
		return "", &usageError{err}
	}
	question = strings.TrimSpace(strings.Join(flags.Args(), " "))
	if question == "" {
		question = defaultQuestion
	}
	return question, nil
}

// run answers one question about the current directory.
func run(ctx context.Context, question string, out io.Writer) error {
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer root.Close()
	tools, err := newTools(root)
	if err != nil {
		return err
	}
	chat, which, err := llm.Open(ctx, newDemoModel())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\n", which)
	mistakes, err := toolerrors.New(ctx, &toolerrors.Config{Tell: toolFailure}) // the model reads the errors of the tools
	if err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "quickstart",
		Description: "answers questions about the code in a directory",
		Instruction: instruction,
		Model:       chat,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}, ReportMistakes: true},
		Handlers:    []adk.ChatModelAgentMiddleware{mistakes},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "> %s\n\n", question)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	p := printer{out: out}
	for event := range runner.Query(ctx, question).All() {
		if err := p.print(event); err != nil {
			return err
		}
	}
	p.summary()
	return nil
}

// toolFailure returns the text that the model reads instead of the result of a tool that failed.
func toolFailure(_ context.Context, call *adk.ToolContext, err error) (text string, ok bool) {
	var missing *fs.PathError
	if errors.As(err, &missing) {
		return fmt.Sprintf("%s failed: %s: %v", call.Name, printable(missing.Path), missing.Err), true
	}
	return fmt.Sprintf("%s failed: %s", call.Name, oneLine(err)), true
}

// oneLine gives the root of an error without the places that it came through.
func oneLine(err error) string {
	var failed *compose.RunError
	for errors.As(err, &failed) {
		err = failed.Unwrap()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
