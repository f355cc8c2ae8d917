package adk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/runs"
)

type typedError struct{}

func (typedError) Error() string     { return "slow down" }
func (typedError) ErrorType() string { return "429" }

func TestErrorType_IsOneOfFewWords(t *testing.T) {
	for want, err := range map[string]error{
		"canceled":          fmt.Errorf("x: %w", context.Canceled),
		"timeout":           context.DeadlineExceeded,
		"max_iterations":    fmt.Errorf("x: %w", ErrExceedMaxIterations),
		"retries_exhausted": ErrExceedMaxRetries,
		"panic":             &safe.PanicError{Value: 1},
		"unknown_tool":      &ModelMistake{Kind: MistakeUnknownTool, Err: errors.New("x")},
		"invalid_arguments": &ModelMistake{Kind: MistakeArguments, Err: errors.New("x")},
		"unknown_agent":     &ModelMistake{Kind: MistakeTransfer, Err: errors.New("x")},
		"429":               fmt.Errorf("x: %w", typedError{}),
		"lease_lost":        fmt.Errorf("x: %w", runs.ErrLeaseLost),
		"store":             fmt.Errorf("%w: disk", runs.ErrNotSaved),
		"":                  nil,
		"_OTHER":            fmt.Errorf("x: %w", errors.New("y")),
		"*fs.PathError":     fmt.Errorf("x: %w", &fs.PathError{Err: errors.New("y")}),
	} {
		require.Equal(t, want, ErrorType(err))
	}
}
