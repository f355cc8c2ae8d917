package utils

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// ToolError is the error of a tool that this package made; get it with errors.As to learn which tool failed.
type ToolError struct {
	ToolName string
	Err      error
}

// Error returns the text of Err.
func (e *ToolError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ToolError) Unwrap() error { return e.Err }

// kind holds the words in which the errors of the four kinds of tools differ.
type kind struct {
	prefix    string
	wrongType string
}

var (
	invokableKind          = kind{"[LocalFunc]", "invalid type"}
	streamableKind         = kind{"[LocalStreamFunc]", "type err"}
	enhancedInvokableKind  = kind{"[EnhancedLocalFunc]", "invalid type"}
	enhancedStreamableKind = kind{"[EnhancedLocalStreamFunc]", "type err"}
)

// localTool holds what all tools made of functions share: description, argument decoding, result encoding, errors.
type localTool struct {
	info    *schema.ToolInfo
	kind    kind
	options toolOptions
	schema  argumentSchema
}

func newLocalTool(info *schema.ToolInfo, kind kind, opts []Option) localTool {
	return localTool{info: info, kind: kind, options: newToolOptions(opts), schema: argumentSchema{lazyChecker(info)}}
}

// Info returns the description the tool was made with.
func (t *localTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// GetType returns the name of the tool in camel case.
func (t *localTool) GetType() string { return snakeToCamel(t.name()) }

// Idempotent reports whether the tool was made with [WithIdempotent].
func (t *localTool) Idempotent() bool { return t.options.idempotent }

func (t *localTool) name() string {
	if t.info == nil {
		return ""
	}
	return t.info.Name
}

// fail returns an error of the tool; format gets the tool's name first.
func (t *localTool) fail(format string, args ...any) error {
	args = append([]any{t.name()}, args...)
	return &ToolError{ToolName: t.name(), Err: fmt.Errorf(t.kind.prefix+" "+format, args...)}
}

// failBare returns an error with the text of err alone; an interrupt stays what it is.
func (t *localTool) failBare(err error) error {
	if _, interrupt := core.IsInterruptRerunError(err); interrupt {
		return err
	}
	return &ToolError{ToolName: t.name(), Err: err}
}

func (t *localTool) failInvoke(err error) error {
	return t.fail("failed to invoke tool, toolName=%s, err=%w", err)
}

func (t *localTool) failNilStream() error {
	return t.fail("tool returned neither a stream nor an error, toolName=%s")
}

// call runs a tool's function on decoded arguments. A panic of the function is its error.
func call[T, D any](
	ctx context.Context, fn func(context.Context, T, ...tool.Option) (D, error), input T, opts []tool.Option,
) (result D, err error) {
	defer safe.Recover(&err)
	return fn(ctx, input, opts...)
}

// protect runs a function of the user and returns a panic as an error.
func protect[R any](fn func() (R, error)) (result R, err error) {
	defer safe.Recover(&err)
	return fn()
}

// snakeToCamel turns a tool name into a type name: google_search to GoogleSearch.
func snakeToCamel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		first, size := utf8.DecodeRuneInString(part)
		if size == 0 {
			continue
		}
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(strings.ToLower(part[size:]))
	}
	return b.String()
}
