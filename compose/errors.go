package compose

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrExceedMaxSteps is returned, wrapped, when a run takes more steps than it may (see [WithMaxRunSteps]).
var ErrExceedMaxSteps = errors.New("exceeds max steps")

// ErrGraphCompiled is returned by everything that would change a graph or workflow that is compiled already.
var ErrGraphCompiled = errors.New("graph has been compiled, cannot be modified")

// ErrChainCompiled is returned when a chain is appended to after it was compiled.
var ErrChainCompiled = errors.New("chain has been compiled, cannot be modified")

// DAGInvalidLoopErr is returned, wrapped, when a graph that must not have a cycle has one.
//
//lint:ignore ST1012 the name is part of the API
var DAGInvalidLoopErr = errors.New("DAG is invalid, has loop")

// RunErrorKind says whether a run failed in a node or in the graph around the nodes.
type RunErrorKind string

const (
	// NodeRunError is a failure of a node: its function, a state handler, or the conversion of its input or output.
	NodeRunError RunErrorKind = "NodeRunError"
	// GraphRunError is a failure between nodes: options, branches, merging, limits, checkpoints, a done context.
	GraphRunError RunErrorKind = "GraphRunError"
)

// RunError is the error of a failed run. Use errors.As to get at the path of the node that failed; errors.Is and
// errors.As see the original error, too. It is immutable.
type RunError struct {
	kind RunErrorKind
	path []string
	err  error
}

// Kind returns where the run failed.
func (e *RunError) Kind() RunErrorKind { return e.kind }

// Path returns the keys of the nodes from the outermost graph down to the failure. It is empty for a failure of the
// outermost graph itself.
func (e *RunError) Path() []string { return slices.Clone(e.path) }

// Unwrap returns the original error.
func (e *RunError) Unwrap() error { return e.err }

// pathRule stands before the node path in the text of an error.
const pathRule = "\n------------------------\nnode path: "

// Error gives the kind, the original text and, if there is one, the node path, on two lines of its own. [ErrorLine]
// puts it all on one. The path of a graph further inside is part of that path, and is not repeated.
func (e *RunError) Error() string {
	text := fmt.Sprintf("[%s] %v", e.kind, e.err)
	var inner *RunError
	if errors.As(e.err, &inner) && len(inner.path) > 0 {
		text = strings.Replace(text, inner.pathText(), "", 1)
	}
	return text + e.pathText()
}

// pathText returns the end of the error's text.
func (e *RunError) pathText() string {
	if len(e.path) == 0 {
		return ""
	}
	return pathRule + "[" + strings.Join(e.path, ", ") + "]"
}

// ErrorLine returns the text of an error on one line, for logs and for people: node paths follow what failed after a
// comma, and other lines are separated by semicolons. It is "" for nil.
func ErrorLine(err error) string {
	if err == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(err.Error(), pathRule, ", node path: ")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

var errNilContext = errors.New("the context is nil: pass context.Background() if there is none")

func graphError(err error) error { return &RunError{kind: GraphRunError, err: err} }

func graphErrorf(format string, args ...any) error { return graphError(fmt.Errorf(format, args...)) }

// nodeError reports err as the failure of a node. An error of a graph that ran inside the node keeps its kind and
// gets the node in front of its path; text that user code put around such an error stays.
func nodeError(key string, err error) error {
	var inner *RunError
	if !errors.As(err, &inner) {
		return &RunError{kind: NodeRunError, path: []string{key}, err: err}
	}
	outer := &RunError{kind: inner.kind, path: append([]string{key}, inner.path...), err: err}
	if error(inner) == err {
		outer.err = inner.err
	}
	return outer
}
