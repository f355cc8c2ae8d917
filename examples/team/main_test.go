package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTeam(t *testing.T) {
	demotest.Shows(t, run,
		`desk → transfer_to_agent({"agent_name":"press"})`,
		`archive: The paper of that day says: opened in 1932`,
		`researcher ← archive: The paper of that day says: opened in 1932`,
		`editor: My notes say: “For context: [researcher] said: I have found this. Archive: The paper of that day says: opened in 1932.” So: the bridge is from 1932.`,
		`The way of the question: > desk > press > researcher > editor`,
	)
}
