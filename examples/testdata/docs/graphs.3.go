package main

import (
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	offers, err := newOffer().Compile(drive.Context(), compose.WithNodeTriggerMode(compose.AllPredecessor))
	drive.Check(err)
	text, err := offers.Invoke(drive.Context(), "chair")
	drive.Check(err)
	drive.Equal(text, "5 euros, in stock: true")
}
