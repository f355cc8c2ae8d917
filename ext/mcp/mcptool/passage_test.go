package mcptool

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only what the server cannot have run is refused: not what it took, whatever came of the connection later.
// Rule mcp/MC5.
func TestPassage_WhatTheServerTookIsNotRefused(t *testing.T) {
	for name, c := range map[string]struct {
		sent     bool
		statuses []int
		err      error
		want     bool
	}{
		"not sent":               {false, nil, errors.New("x"), true},
		"no answer":              {true, nil, errors.New("x"), false},
		"no listener":            {true, nil, syscall.ECONNREFUSED, true},
		"no session":             {true, []int{404}, errors.New("x"), true},
		"authorized later":       {true, []int{401, 200}, errors.New("x"), false},
		"stream cut, then 404":   {true, []int{200, 404}, errors.New("x"), false},
		"stream cut, then gone":  {true, []int{200}, syscall.ECONNREFUSED, false},
		"moved, then refused":    {true, []int{307, 404}, errors.New("x"), true},
		"failed while it worked": {true, []int{502}, errors.New("x"), false},
	} {
		p := new(passage)
		p.sent.Store(c.sent)
		for _, status := range c.statuses {
			p.answered(status)
		}
		require.Equal(t, c.want, p.refused(c.err), name)
	}
}
