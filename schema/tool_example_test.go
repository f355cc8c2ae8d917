package schema_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftgo/weft/schema"
)

// A tool is described by its name, what it does, and its parameters.
func ExampleToolInfo() {
	info := &schema.ToolInfo{
		Name: "weather",
		Desc: "returns the weather in a city",
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"city": {Type: schema.String, Desc: "such as Oslo", Required: true},
			"unit": {Type: schema.String, Enum: []string{"C", "F"}},
		}),
	}
	parameters, err := info.ParamsOneOf.ToJSONSchema()
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := json.MarshalIndent(parameters, "", "  ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "properties": {
	//     "city": {
	//       "description": "such as Oslo",
	//       "type": "string"
	//     },
	//     "unit": {
	//       "enum": [
	//         "C",
	//         "F"
	//       ],
	//       "type": "string"
	//     }
	//   },
	//   "required": [
	//     "city"
	//   ],
	//   "type": "object"
	// } <nil>
}

// The history of a conversation is put between the messages of a template.
func ExampleMessagesPlaceholder() {
	ctx := context.Background()
	history := []*schema.Message{schema.UserMessage("Hi"), schema.AssistantMessage("Hello!", nil)}
	messages, err := schema.MessagesPlaceholder("history", false).
		Format(ctx, map[string]any{"history": history}, schema.FString)
	for _, m := range messages {
		fmt.Println(m.Role, m.Content)
	}
	fmt.Println(err)
	// Output:
	// user Hi
	// assistant Hello!
	// <nil>
}

// Recv returns io.EOF at the end of a stream. All is less to write, and closes the stream.
func ExampleStreamReader_All() {
	stream := schema.StreamReaderFromArray([]string{"one", "two"})
	for chunk, err := range stream.All() {
		fmt.Println(chunk, err)
	}
	// Output:
	// one <nil>
	// two <nil>
}

// The chunks of several streams come as they arrive.
func ExampleMergeStreamReaders() {
	merged := schema.MergeStreamReaders([]*schema.StreamReader[string]{
		schema.StreamReaderFromArray([]string{"a", "b"}),
		schema.StreamReaderFromArray([]string{"c"}),
	})
	for chunk, err := range merged.All() {
		fmt.Println(chunk, err)
	}
	// Unordered output:
	// a <nil>
	// b <nil>
	// c <nil>
}
