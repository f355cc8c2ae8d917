package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(ask(drive.Context(), drive.Model(adktest.Says(`{"city":"Lisbon","sky":"sun"}`))))
}
