package weft_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
)

// TestStream_ADebuggerShowsFewFramesBetweenTheProgramAndItsTool counts what a reader of a stack has to go through. The
// numbers may only fall.
func TestStream_ADebuggerShowsFewFramesBetweenTheProgramAndItsTool(t *testing.T) {
	const mostFrames, mostFiles = 37, 20
	var stack []runtime.Frame
	say := weft.Func("say", "says a text", func(_ context.Context, in struct{ Text string }) (string, error) {
		callers := make([]uintptr, 256)
		frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if strings.Contains(f.Function, "github.com/weftgo/weft") && !strings.Contains(f.Function, "/weft_test.") {
				stack = append(stack, f)
			}
		}
		return in.Text, nil
	})
	agent, err := weft.New(weft.Config{Name: "a", Model: adktest.NewModel(t,
		adktest.Calls(adktest.Call("say", `{"Text":"hello"}`)), adktest.Says("done")), Tools: []weft.Tool{say}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range agent.Stream(t.Context(), "Say hello.") {
		if err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]bool{}
	for _, f := range stack {
		files[f.File] = true
	}
	if len(stack) == 0 || len(stack) > mostFrames || len(files) > mostFiles {
		t.Errorf("%d frames in %d files are between a program and its tool; at most %d in %d are allowed", len(stack), len(files),
			mostFrames, mostFiles)
		for _, f := range stack {
			t.Logf("%s %s:%d", f.Function, f.File, f.Line)
		}
	}
}
