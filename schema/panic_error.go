package schema

import "github.com/weftgo/weft/internal/safe"

// PanicError is the error that a panic of a caller's code becomes: of a tool, a node, a middleware, the function of a
// stream or a template. Find it with errors.As. Its fields are Value, what was thrown (any), and Stack, that of the
// goroutine that panicked ([]byte), which is not in the text of the error. If Value is an error, errors.Is and
// errors.As find that, too.
type PanicError = safe.PanicError
