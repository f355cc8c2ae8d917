package main

import (
	"net/http/httptest"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	server := httptest.NewServer(answers(drive.Runner(drive.Agent(drive.Model(adktest.Streams("Hel", "lo."))))))
	defer server.Close()
	drive.Contains(drive.Send("GET", server.URL+"?question=Hello", ""), `data: "lo."`)
}
