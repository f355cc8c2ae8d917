package nats

import (
	"testing"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

func TestStore_Conforms(t *testing.T) {
	on := startServer(t, false)
	checkpointtest.Run(t, func(t *testing.T) checkpoint.Store { return newStore(t, on) })
}
