package main

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	drive.Equal(stopped(&adk.AgentEvent{Err: budget.ErrExceeded}), true)
}
