package core

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// ended is the error of a run that has ended with these contexts.
type ended []*InterruptCtx

func (ended) Error() string                           { return "ended" }
func (e ended) GetInterruptContexts() []*InterruptCtx { return e }

// TestSignalFrom_WhatIsAnInterrupt: an error that could have contexts and has none is not one, so that the cause of a
// context that a cancel has ended is taken for the failure that it is.
func TestSignalFrom_WhatIsAnInterrupt(t *testing.T) {
	for name, c := range map[string]struct {
		err         error
		interrupted bool
	}{
		"nothing":       {nil, false},
		"an error":      {errors.New("boom"), false},
		"no contexts":   {fmt.Errorf("get: %w", ended(nil)), false},
		"nil contexts":  {ended{nil}, false},
		"a context":     {fmt.Errorf("agent: %w", ended{{ID: "1"}}), true},
		"a signal":      {&InterruptSignal{ID: "1"}, true},
		"a legacy one":  {ErrInterruptAndRerun, true},
		"one beside it": {errors.Join(ended(nil), ErrInterruptAndRerun), true},
	} {
		signal, interrupted := SignalFrom(context.Background(), c.err)
		require.Equal(t, c.interrupted, interrupted, name)
		require.Equal(t, c.interrupted, signal != nil, name)
	}
}
