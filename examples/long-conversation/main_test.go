package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLongConversation(t *testing.T) {
	demotest.Shows(t, run,
		`The history may have 400 tokens.`,
		`Tell me about Porto. → 6 tokens in, 84 tokens out`,
		`Tell me about Nazaré. → 276 tokens in, 84 tokens out`,
		`! the history had 456 tokens in 11 messages; the summary has 82 in 1`,
		`Tell me about Setúbal. → 82 tokens in, 84 tokens out`,
		`Tell me about Lagos. → 262 tokens in, 84 tokens out`,
	)
}
