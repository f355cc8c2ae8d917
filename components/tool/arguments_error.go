package tool

import "strings"

// ArgumentsError reports arguments that a model wrote and a tool cannot take. A tool returns it, wrapped or not, to say
// that the model has to write them again; an agent can then show the model what was wrong instead of failing.
type ArgumentsError struct {
	// Problems says what is wrong, each in a few words that name the field: "quantity must be at most 10".
	Problems []string
	// Err is the error that it caused, nil without one.
	Err error
}

// Error lists the problems in one line.
func (e *ArgumentsError) Error() string {
	if len(e.Problems) == 0 && e.Err != nil {
		return e.Err.Error()
	}
	return strings.Join(e.Problems, "; ")
}

// Unwrap returns Err.
func (e *ArgumentsError) Unwrap() error { return e.Err }
