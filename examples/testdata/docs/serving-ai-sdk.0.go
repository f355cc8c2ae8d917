package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	go serveChat(drive.AgentNamed("weather", drive.Model(adktest.Says("Sunny."))))
	drive.Contains(drive.Send("POST", "http://127.0.0.1:8080/api/chat",
		`{"id":"c","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"Hello?"}]}],"trigger":"submit-message"}`), "Sunny.")
}
