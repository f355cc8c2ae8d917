package howto

import (
	"context"
	"fmt"
	"testing"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
)

// How do I test an agent?
//
// With a model that follows a script, and looks at what it is given. What differs from the script fails the test. See
// docs/testing.md, also for stopping a run everywhere.
func Example_test_an_agent() {
	test := func(t *testing.T) {
		model := adktest.NewModel(t,
			adktest.Calls(adktest.Call("look", `{}`)),
			adktest.Says("Trees.").SeeingLast("tool look#call_1: trees"),
		)
		look := weft.Func("look", "Looks around.", func(context.Context, struct{}) (string, error) { return "trees", nil })
		agent := must(weft.New(weft.Config{Model: model, Tools: []weft.Tool{look}}))
		if answer := must(agent.Ask(t.Context(), "What is there?")); answer.Text != "Trees." {
			t.Errorf("the answer is %q", answer.Text)
		}
	}
	fmt.Println(testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestLook", F: test}}))
	// Output: true
}
