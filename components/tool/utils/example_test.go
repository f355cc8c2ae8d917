package utils_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftgo/weft/components/tool/utils"
)

type addArgs struct {
	A int `json:"a" jsonschema:"description=first number"`
	B int `json:"b,omitempty" jsonschema:"description=second number,minimum=0"`
}

func add(_ context.Context, in addArgs) (map[string]int, error) {
	if in.A < 0 {
		return nil, errors.New("a must not be negative")
	}
	return map[string]int{"sum": in.A + in.B}, nil
}

func ExampleInferTool() {
	ctx := context.Background()
	adder, err := utils.InferTool("add", "adds two numbers", add)
	if err != nil {
		panic(err)
	}

	info, _ := adder.Info(ctx)
	params, _ := info.ToJSONSchema()
	text, _ := json.Marshal(params)
	fmt.Println(info.Name, string(text))

	result, err := adder.InvokableRun(ctx, `{"a": 1, "b": 2}`)
	fmt.Println(result, err)
	_, err = adder.InvokableRun(ctx, `{"a": -1}`)
	fmt.Println(err)
	// Output:
	// add {"properties":{"a":{"description":"first number","type":"integer"},"b":{"minimum":0,"description":"second number","type":"integer"}},"additionalProperties":false,"required":["a"],"type":"object"}
	// {"sum":3} <nil>
	// [LocalFunc] failed to invoke tool, toolName=add, err=a must not be negative
}

type listArgs struct {
	Path string `json:"path,omitempty"`
}

// A tool that requires nothing takes what some models write for no arguments.
func ExampleWithUnmarshalArguments() {
	orNothing := utils.WithUnmarshalArguments(func(_ context.Context, arguments string) (any, error) {
		var in listArgs
		if arguments == "" {
			return in, nil
		}
		err := json.Unmarshal([]byte(arguments), &in)
		return in, err
	})
	list, err := utils.InferTool("list", "lists a directory", func(_ context.Context, in listArgs) (string, error) {
		return fmt.Sprintf("the files of %q", in.Path), nil
	}, orNothing)
	if err != nil {
		panic(err)
	}
	fmt.Println(list.InvokableRun(context.Background(), ""))
	fmt.Println(list.InvokableRun(context.Background(), `{"path":"docs"}`))
	// Output:
	// the files of "" <nil>
	// the files of "docs" <nil>
}

func ExampleWrapToolWithErrorHandler() {
	ctx := context.Background()
	adder, _ := utils.InferTool("add", "adds two numbers", add)
	forgiving := utils.WrapInvokableToolWithErrorHandler(adder, func(_ context.Context, err error) string {
		return "the tool failed, try other arguments: " + errors.Unwrap(errors.Unwrap(err)).Error()
	})
	fmt.Println(forgiving.InvokableRun(ctx, `{"a": -1}`))
	// Output:
	// the tool failed, try other arguments: a must not be negative <nil>
}
