package schema_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weftgo/weft/schema"
)

// A conversation is built from templates, and the streamed answer is joined to one message.
func Example() {
	templates := []schema.MessagesTemplate{
		schema.SystemMessage("You are {role}."),
		schema.MessagesPlaceholder("history", true),
		schema.UserMessage("What is {thing}?"),
	}
	vars := map[string]any{
		"role":  "a poet",
		"thing": "rain",
		"history": []*schema.Message{
			schema.UserMessage("Hello!"),
			schema.AssistantMessage("Good day.", nil),
		},
	}
	for _, template := range templates {
		messages, err := template.Format(context.Background(), vars, schema.FString)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, message := range messages {
			fmt.Println(message)
		}
	}

	answer := schema.StreamReaderFromArray([]*schema.Message{
		schema.AssistantMessage("The sky, ", nil),
		schema.AssistantMessage("weeping.", nil),
	})
	message, err := schema.ConcatMessageStream(answer)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message)

	// Output:
	// system: You are a poet.
	// user: Hello!
	// assistant: Good day.
	// user: What is rain?
	// assistant: The sky, weeping.
}

func ExampleMessage_Format() {
	vars := map[string]any{"name": "Ann", "scores": []float64{0.5, 0.25}}
	for _, template := range []struct {
		language schema.FormatType
		text     string
	}{
		{schema.FString, `{name}: {scores[1]:.1%} {{"json": "needs doubled braces"}}`},
		{schema.GoTemplate, `{{.name}}:{{range .scores}} {{.}}{{end}}`},
	} {
		messages, err := schema.UserMessage(template.text).Format(context.Background(), vars, template.language)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(messages[0].Content)
	}
	_, err := schema.UserMessage("{unknown}").Format(context.Background(), vars, schema.FString)
	fmt.Println(err)

	// Output:
	// Ann: 25.0% {"json": "needs doubled braces"}
	// Ann: 0.5 0.25
	// failed to format content: could not find key: unknown
}

// A panic of code that the runtime calls is an error of one line, with the stack beside it.
func ExamplePanicError() {
	s := schema.StreamReaderWithConvert(schema.StreamReaderFromArray([]int{1}), func(int) (int, error) { panic("bad") })
	defer s.Close()
	_, err := s.Recv()
	fmt.Println(err)

	var panicked *schema.PanicError
	if errors.As(err, &panicked) {
		fmt.Println(panicked.Value, len(panicked.Stack) > 0)
	}
	// Output:
	// panic error: bad
	// bad true
}

func ExampleConcatMessages() {
	first, second := 0, 1
	chunks := []*schema.Message{
		{Role: schema.Assistant, Content: "Let me ", ToolCalls: []schema.ToolCall{
			{Index: &first, ID: "call_1", Function: schema.FunctionCall{Name: "weather", Arguments: `{"city":`}},
		}},
		{Content: "look.", ToolCalls: []schema.ToolCall{
			{Index: &second, ID: "call_2", Function: schema.FunctionCall{Name: "time", Arguments: `{}`}},
			{Index: &first, Function: schema.FunctionCall{Arguments: `"Paris"}`}},
		}},
		{ResponseMeta: &schema.ResponseMeta{FinishReason: "tool_calls"}},
	}
	message, err := schema.ConcatMessages(chunks)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Role, message.Content, message.ResponseMeta.FinishReason)
	for _, call := range message.ToolCalls {
		fmt.Println(call.ID, call.Function.Name, call.Function.Arguments)
	}

	// Output:
	// assistant Let me look. tool_calls
	// call_1 weather {"city":"Paris"}
	// call_2 time {}
}

func ExampleMessageAccumulator() {
	stream := schema.StreamReaderFromArray([]*schema.Message{
		schema.AssistantMessage("one ", nil), schema.AssistantMessage("two ", nil), schema.AssistantMessage("three", nil),
	})
	defer stream.Close()

	var acc schema.MessageAccumulator
	for {
		chunk, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = acc.Add(chunk)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	message, err := acc.Message()
	fmt.Println(message, err)

	// Output: assistant: one two three <nil>
}

func ExampleNewMessageJSONParser() {
	type city struct {
		Name   string
		People int
	}
	parser := schema.NewMessageJSONParser[city](&schema.MessageJSONParseConfig{ParseKeyPath: "answer.cities.0"})
	answer := schema.AssistantMessage(`{"answer": {"cities": [{"name": "Paris", "people": 2100000}]}}`, nil)
	got, err := parser.Parse(context.Background(), answer)
	fmt.Println(got, err)

	// Output: {Paris 2100000} <nil>
}
