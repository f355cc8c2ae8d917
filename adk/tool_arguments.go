package adk

import (
	"context"

	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/modelmistake"
	"github.com/weftgo/weft/schema"
)

// compileArguments makes the decoder of a tool's arguments. The first use of one does it otherwise, which takes 2 ms and
// some 1,400 allocations: a matter for where agents and tools are made, not for the first call.
func compileArguments[T any]() { _, _ = unmarshalArguments[T]("{}") }

func unmarshalArguments[T any](argumentsInJSON string) (arguments T, err error) {
	err = json.UnmarshalString(argumentsInJSON, &arguments)
	return arguments, err
}

// decodeArguments decodes what the model wrote for a built-in tool.
// describe has the tool's schema, which most calls have no use for.
func decodeArguments[T any](ctx context.Context, describe func() *schema.ToolInfo, argumentsInJSON string) (T, error) {
	if !modelmistake.ChecksArguments(ctx) {
		if arguments, err := unmarshalArguments[T](argumentsInJSON); err == nil {
			return arguments, nil
		}
	}
	return utils.DecodeArguments[T](ctx, describe(), argumentsInJSON, false)
}
