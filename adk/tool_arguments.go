package adk

import "github.com/weftgo/weft/internal/json"

// compileArguments makes the decoder of a tool's arguments. The first use of one does it otherwise, which takes 2 ms and
// some 1,400 allocations: a matter for where agents and tools are made, not for the first call.
func compileArguments[T any]() { _, _ = decodeArguments[T]("{}") }

// decodeArguments decodes what the model wrote.
func decodeArguments[T any](argumentsInJSON string) (arguments T, err error) {
	err = json.UnmarshalString(argumentsInJSON, &arguments)
	return arguments, err
}
