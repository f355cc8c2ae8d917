// Package howto has the programs of the pages in docs/how-to: each is an example that is run, and its page is made of it.
package howto

import (
	"fmt"
	"log"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a model that gives these answers one after the other: a text, the pieces of one, calls, a message, or an
// error.
func answers(all ...any) weft.Model {
	script := make([]adktest.Answer, len(all))
	for i, a := range all {
		switch a := a.(type) {
		case string:
			script[i] = adktest.Says(a)
		case []string:
			script[i] = adktest.Streams(a...)
		case schema.ToolCall:
			script[i] = adktest.Messages(schema.AssistantMessage("", []schema.ToolCall{a}))
		case []schema.ToolCall:
			script[i] = adktest.Messages(schema.AssistantMessage("", a))
		case *schema.Message:
			script[i] = adktest.Messages(a)
		case error:
			script[i] = adktest.Fails(a)
		default:
			panic(fmt.Sprintf("%T is no answer", a))
		}
	}
	return adktest.NewModel(program{}, script...)
}

// program takes the place of a *testing.T. Answers may be left over.
type program struct{}

func (program) Helper()                           {}
func (program) Errorf(format string, args ...any) { log.Fatalf(format, args...) }
func (program) Cleanup(func())                    {}

// call is the call of a tool.
func call(name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: "call_" + name, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

// must ends the program with an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
