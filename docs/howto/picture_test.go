package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/schema"
)

// How do I ask about a picture?
//
// With a message of parts, instead of a question.
func Example_picture() {
	url := "https://example.com/cat.png"
	agent := must(weft.New(weft.Config{Model: answers("A cat.")}))
	message := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "What is in the picture?"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
			MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
	}}
	fmt.Println(must(agent.Ask(context.Background(), "", weft.With(message))))
	// Output: A cat.
}
