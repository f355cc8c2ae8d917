package safe

import (
	"errors"
	"fmt"
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
	var panicked *PanicError
	if !errors.As(err, &panicked) || err.Error() != "panic error: boom" || !strings.Contains(string(panicked.Stack),
		"panic_test.go") {
		t.Fatalf("no value in the text, or no stack beside it: %v", err)
	}
	if err := run(errors.New("one\n  two")); err.Error() != "panic error: one two" {
		t.Fatalf("the text is more than a line: %v", err)
	}
	if err := run(io.ErrClosedPipe); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("an error used as panic value is hidden: %v", err)
	}
	if err := run(&badErr{}); errors.Is(err, io.EOF) || !strings.Contains(err.Error(),
		"an error of type *safe.badErr that panics") {
		t.Fatalf("an error that panics came through: %v", err)
	}
	if again := run(err); again != err {
		t.Fatalf("a panic thrown again was wrapped twice: %v", again)
	}
}

// badErr panics when it is looked into and has no cause.
type badErr struct{ cause *badErr }

func (e *badErr) Error() string { return "bad" }
func (e *badErr) Unwrap() error { return e.cause.cause }

type badIs struct{}

func (badIs) Error() string { panic("Error") }
func (badIs) Is(error) bool { panic("Is") }

type badAs struct{}

func (badAs) Error() string { return "as" }
func (badAs) As(any) bool   { panic("As") }

func TestSound(t *testing.T) {
	var gone *badErr
	for _, err := range []error{nil, io.EOF, fmt.Errorf("wrapped: %w", io.EOF), errors.Join(io.EOF, io.ErrUnexpectedEOF)} {
		if Sound(err) != err {
			t.Errorf("%v was replaced", err)
		}
	}
	for _, err := range []error{gone, badIs{}, badAs{}, fmt.Errorf("wrapped: %w", gone), errors.Join(io.EOF, badAs{})} {
		sound := Sound(err)
		if sound == nil || errors.Is(sound, io.ErrClosedPipe) || errors.As(sound, new(*PanicError)) {
			t.Errorf("%#v became %v", err, sound)
		}
		if !strings.Contains(sound.Error(), "that panics when it is looked into: ") {
			t.Errorf("%#v became %v", err, sound)
		}
	}
}
