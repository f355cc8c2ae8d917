package runlog

import (
	"errors"
	"runtime/debug"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// errInterrupted is the Type of an [Err] that is none: what was called asked a question, and continues with the answer.
const errInterrupted = "interrupted"

// errOf is an error for an event, nil for nil.
func errOf(err error) *Err {
	if err == nil {
		return nil
	}
	e := &Err{Type: adk.ErrorType(err)}
	switch {
	case core.IsInterrupt(err) || errors.Is(err, compose.ErrToolCallGivenUp):
		e.Type = errInterrupted
	case errors.Is(err, schema.ErrRecvAfterClosed):
		e.Type = "abandoned"
	}
	if guard(func() error { e.Message = err.Error(); return nil }) != nil {
		e.Message = "its text panics"
	}
	return e
}

// guard calls code of the user's, whose panic becomes an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = safe.NewPanicError(v, debug.Stack())
		}
	}()
	return f()
}
