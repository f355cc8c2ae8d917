package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	go serveOpenAI(drive.Agent(drive.Model(adktest.Says("Hello."))))
	drive.Contains(drive.Send("POST", "http://127.0.0.1:8080/v1/chat/completions",
		`{"model":"assistant","messages":[{"role":"user","content":"Hello?"}]}`), "Hello.")
}
