package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/checkpoint"
)

// How do I hold a conversation?
//
// Open it by its ID in a store. It keeps what was said, who answers next, and questions that wait; any process that has
// the store can continue it. `checkpoint.NewFileStore` keeps it in a directory.
func Example_conversation() {
	store := checkpoint.NewMemoryStore()
	agent := must(weft.New(weft.Config{Model: answers("Hello, Ana.", "Your name is Ana.")}))
	must(agent.Conversation(store, "ana").Ask(context.Background(), "I am Ana."))
	answer := must(agent.Conversation(store, "ana").Ask(context.Background(), "Who am I?"))
	fmt.Println(answer.Text)
	history := must(agent.Conversation(store, "ana").History(context.Background()))
	fmt.Println(len(history.Turns), "turns")
	// Output:
	// Your name is Ana.
	// 2 turns
}
