package dispatch

import (
	"errors"
	"io"
	"net"
	"time"
)

// What the default of Config.Retry does.
const (
	firstRetry  = 5 * time.Second
	longestWait = 5 * time.Minute
	mostRetries = 20
)

// storeError is an error of the store that broke a run off. The run itself did nothing wrong.
type storeError struct{ error }

func (e storeError) Unwrap() error   { return e.error }
func (e storeError) Retryable() bool { return true }

// retryPassing is the default of Config.Retry.
func retryPassing(err error, failures int) (after time.Duration, again bool) {
	if failures > mostRetries || !passes(err) {
		return 0, false
	}
	after = min(firstRetry<<min(failures-1, 10), longestWait)
	var asks interface{ RetryIn() time.Duration }
	if errors.As(err, &asks) {
		after = max(after, asks.RetryIn())
	}
	return after, true
}

// passes reports whether an error says of itself that it passes, or is an error of a connection.
func passes(err error) bool {
	var passing interface{ Retryable() bool }
	if errors.As(err, &passing) {
		return passing.Retryable()
	}
	var operation *net.OpError
	return errors.As(err, &operation) || errors.Is(err, io.ErrUnexpectedEOF)
}
