package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	agent, err := newAgent(drive.Context())
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(agent).Query(drive.Context(), "Hello?")), drive.Answer)
}
