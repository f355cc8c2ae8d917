// Command quickstart asks an agent about the directory it is run in.
//
//	go run ./examples/quickstart [question]
//
// With OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or the key of another provider (see examples/internal/llm) in the
// environment it talks to a model there; OPENAI_MODEL and OPENAI_BASE_URL, and so on, choose another one or a compatible
// server. Without a key it uses a small built-in demo model, which plans its tool calls by rules.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/llm"
)

const instruction = `You answer questions about the source code in the current directory.
Use the tools to find out; do not guess. Keep the answer short and name files and numbers.`

const defaultQuestion = "How large is this project, and which package is the largest?"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, strings.Join(os.Args[1:], " "))
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case interrupted:
		fmt.Fprintln(os.Stderr, "\nquickstart: stopped")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "\nquickstart:", oneLine(err))
		os.Exit(1)
	}
}

// run answers one question about the current directory.
func run(ctx context.Context, question string) error {
	if question == "" {
		question = defaultQuestion
	}
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer root.Close()
	tools, err := newTools(root)
	if err != nil {
		return err
	}
	chat, name, err := llm.FromEnv(ctx)
	switch {
	case err != nil:
		return err
	case chat != nil:
		fmt.Printf("Using model %s.\n\n", name)
	default:
		fmt.Print("No OPENAI_API_KEY, nor the key of another provider, is set: using the built-in demo model, " +
			"which follows rules instead of thinking.\n\n")
		chat = &demoModel{}
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "quickstart",
		Description: "answers questions about the code in a directory",
		Instruction: instruction,
		Model:       chat,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}, ReportMistakes: true},
	})
	if err != nil {
		return err
	}
	fmt.Printf("> %s\n\n", question)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	p := printer{out: os.Stdout}
	for event := range runner.Query(ctx, question).All() {
		if err := p.print(event); err != nil {
			return err
		}
	}
	p.summary()
	return nil
}

// oneLine gives the root of an error without the places that it came through.
func oneLine(err error) string {
	var failed *compose.RunError
	for errors.As(err, &failed) {
		err = failed.Unwrap()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
