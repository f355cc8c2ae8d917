package main

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	config, err := configure(drive.Context(), drive.Model(adktest.Says("Hello.")))
	drive.Check(err)
	agent, err := adk.NewChatModelAgent(drive.Context(), config)
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(agent).Query(drive.Context(), "Hello?")), "Hello.")
}
