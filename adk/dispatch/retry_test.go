package dispatch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
)

// limited is the error of a service that says when to come back.
type limited struct{ in time.Duration }

func (limited) Error() string            { return "too many requests" }
func (limited) Retryable() bool          { return true }
func (l limited) RetryIn() time.Duration { return l.in }

// refused is an error that says that it does not pass.
type refused struct{}

func (refused) Error() string   { return "no" }
func (refused) Retryable() bool { return false }

// TestRetryPassing_TriesAgainWhatMayPass.
// Rule distributed/D7.
func TestRetryPassing_TriesAgainWhatMayPass(t *testing.T) {
	for _, row := range []struct {
		err      error
		failures int
		after    time.Duration
	}{
		{limited{}, 1, 5 * time.Second},
		{limited{}, 3, 20 * time.Second},
		{limited{}, 20, 5 * time.Minute},
		{limited{}, 21, 0},
		{limited{time.Minute}, 1, time.Minute},
		{fmt.Errorf("agent: %w", &adk.RetryExhaustedError{LastErr: limited{}}), 1, 5 * time.Second},
		{storeError{errors.New("disk full")}, 1, 5 * time.Second},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, 1, 5 * time.Second},
		{io.ErrUnexpectedEOF, 1, 5 * time.Second},
		{refused{}, 1, 0},
		{errors.New("a bug"), 1, 0},
	} {
		after, again := retryPassing(row.err, row.failures)
		require.Equal(t, row.after, after, "%v, %d", row.err, row.failures)
		require.Equal(t, row.after > 0, again, "%v", row.err)
	}
}
