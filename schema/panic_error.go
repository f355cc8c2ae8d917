package schema

import "github.com/weftgo/weft/internal/safe"

// PanicError is the error that a panic of a caller's code becomes: of a tool, a node, a middleware, the function of a
// stream or a template. Find it with errors.As. Its fields are Value, what was thrown (any), and Stack, the stack of the
// goroutine that panicked ([]byte), which is not in the text of the error. If Value is an error, errors.Is and errors.As
// find that, too.
//
//   - Value: what was thrown
//   - Stack: the stack of the goroutine that panicked
//   - Error: the text, without the stack
//   - Unwrap: returns Value if it is an error
type PanicError = safe.PanicError
