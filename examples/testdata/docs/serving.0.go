package main

import (
	"net/http/httptest"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	srv, err := server(drive.Context(), drive.Model(adktest.Says("Sunny.")))
	drive.Check(err)
	web := httptest.NewServer(srv)
	defer web.Close()
	drive.Contains(drive.Send("POST", web.URL+"/agents/weather/runs", `{"input":"What is the weather?"}`), "Sunny.")
}
