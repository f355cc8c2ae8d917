package main

import (
	"context"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	agent, err := newAgent(drive.Context(), drive.Model(
		adktest.Calls(adktest.Call("order", `{"item":"tea","size":"huge"}`)),
		adktest.Calls(adktest.Call("order", `{"item":"tea","size":"large"}`)), adktest.Says("Ordered.")),
		func(_ context.Context, o order) (string, error) {
			drive.Equal(o, order{"tea", "large", 1})
			return "ordered", nil
		})
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(agent).Query(drive.Context(), "Tea, please.")), "Ordered.")
}
