// Chat talks to an agent in the terminal. Ctrl-C stops an answer, or the program if none is being written; what was said
// is kept in a directory, so that the next start continues the conversation.
//
//	go run ./examples/chat -data ~/.weft-chat -name ana
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

func main() {
	data := flag.String("data", "", "the directory that the conversation is in; default: none, it ends with the program")
	name := flag.String("name", "me", "the name of the conversation")
	flag.Parse()
	agent, err := weft.New(weft.Config{Instruction: "You are a friendly partner to talk to. Be short.", Model: llm.Model(talk)})
	if err != nil {
		log.Fatal(err)
	}
	var store weft.Store = checkpoint.NewMemoryStore()
	if *data != "" {
		if store, err = checkpoint.NewFileStore(*data); err != nil {
			log.Fatal(err)
		}
	}
	chat := agent.Conversation(store, *name)
	if err := chat.Discard(context.Background()); err != nil { // a question that a killed process has left open
		log.Fatal(err)
	}
	for in := bufio.NewScanner(os.Stdin); prompt() && in.Scan(); {
		if in.Text() == "" {
			continue
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := answer(ctx, chat, in.Text())
		stop()
		if err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "chat:", err)
		}
	}
	fmt.Println()
}

func prompt() bool {
	fmt.Print("> ")
	return true
}

// answer prints the answer to a question. If ctx ends, so does the answer.
func answer(ctx context.Context, chat *weft.Conversation, question string) error {
	for event, err := range chat.Stream(ctx, question) {
		if err != nil {
			fmt.Println(" (stopped)")
			return err
		}
		if event.Again {
			fmt.Println(" (again:)")
		}
		fmt.Print(event.Text)
	}
	fmt.Println()
	return nil
}

// talk is the answer of the demo model.
var talk demo.Line = demo.Says("You have said: {question}")
