package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	search, err := newSearch(drive.Context(), drive.Model(adktest.Says("one\ntwo")), drive.Finds("meaning"), drive.Finds("words"))
	drive.Check(err)
	found, err := search.Retrieve(drive.Context(), "a journey")
	drive.Check(err)
	drive.Equal(len(found), 2)
}
