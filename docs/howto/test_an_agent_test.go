package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
)

// testLook is a test: t is a *testing.T, or anything that reports failures.
func testLook(t adktest.TB) {
	model := adktest.NewModel(t,
		adktest.Calls(adktest.Call("look", `{}`)),
		adktest.Says("Trees.").SeeingLast("tool look#call_1: trees"),
	)
	look := weft.Func("look", "Looks around.", func(context.Context, struct{}) (string, error) { return "trees", nil })
	agent := must(weft.New(weft.Config{Model: model, Tools: []weft.Tool{look}}))
	if answer := must(agent.Ask(context.Background(), "What is there?")); answer.Text != "Trees." {
		t.Errorf("the answer is %q", answer.Text)
	}
}

// printer takes the place of the *testing.T: it prints failures.
type printer struct{ atEnd []func() }

func (p *printer) Helper()                           {}
func (p *printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (p *printer) Cleanup(f func())                  { p.atEnd = append(p.atEnd, f) }

// How do I test an agent?
//
// With a model that follows a script, and looks at what it is given. What differs from the script fails the test. See
// docs/testing.md, also for stopping a run everywhere.
func Example_test_an_agent() {
	t := new(printer)
	testLook(t)
	for _, f := range t.atEnd {
		f()
	}
	fmt.Println("no failure")
	// Output: no failure
}
