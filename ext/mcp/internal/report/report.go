// Package report hands what happens on either side of the protocol to handlers of callbacks.
package report

import "log/slog"

// Failure is a failed request as handlers see it: the error, with attributes for a span.
type Failure struct {
	error
	attributes map[string]any
}

// Failed makes the Failure of an error. Its attributes have "error.type".
func Failed(err error, attributes map[string]any) *Failure { return &Failure{err, attributes} }

// Unwrap returns the error.
func (f *Failure) Unwrap() error { return f.error }

// TraceAttributes are attributes for a span, with the names of the conventions of OpenTelemetry, for reading.
func (f *Failure) TraceAttributes() map[string]any { return f.attributes }

// ErrorType is the word for the error in traces and metrics: see adk.ErrorType.
func (f *Failure) ErrorType() string {
	word, _ := f.attributes["error.type"].(string)
	return word
}

// Do calls handlers. A panic of one is logged: the request does not fail for it.
func Do(logger *slog.Logger, call func()) {
	defer func() {
		if v := recover(); v != nil {
			logger.Error("a callback handler panicked", "panic", v)
		}
	}()
	call()
}
