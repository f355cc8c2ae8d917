package safe

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRecover(t *testing.T) {
	run := func(v any) (err error) {
		defer Recover(&err)
		if v != nil {
			panic(v)
		}
		return nil
	}

	if err := run(nil); err != nil {
		t.Fatalf("no panic gave %v", err)
	}
	err := run("boom")
	if !strings.HasPrefix(err.Error(), "panic error: boom, \nstack: ") || !strings.Contains(err.Error(), "panic_test.go") {
		t.Fatalf("text without value or stack: %v", err)
	}
	if err := run(io.ErrClosedPipe); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("an error used as panic value is hidden: %v", err)
	}
	if again := run(err); again != err {
		t.Fatalf("a panic thrown again was wrapped twice: %v", again)
	}
}
