package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDeep(t *testing.T) {
	demotest.Shows(t, run,
		`clerk → task({"subagent_type":"general-purpose","description":"Count the words of /notes.txt. Answer with the number alone."})`,
		`general-purpose: 5`,
		`clerk ← task: 5`,
		`clerk: The report is in /report.txt.`,
		`The report: The notes have 5 words.`,
	)
}
