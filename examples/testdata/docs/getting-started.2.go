package main

import (
	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(classify(drive.Context(), drive.Weft(weft.Config{}, adktest.Says(`{"order":7,"reason":"late"}`)), "Order 7 came late."))
}
