package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	go serveAGUI(drive.Agent(drive.Model(adktest.Says("Hello."))))
	drive.Contains(drive.Send("POST", "http://127.0.0.1:8080/agui/assistant",
		`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"Hello?"}],"tools":[],"context":[],"state":{}}`), "Hello.")
}
