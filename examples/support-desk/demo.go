package main

import (
	"strings"

	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// What the demo models of the desk and of billing answer: they hand over by the words of the question.

func to(agent string) *schema.Message {
	return demo.Calls(demo.Call("transfer_to_agent", `{"agent_name":"`+agent+`"}`))("", nil)
}

func welcome(question string, results []*schema.Message) *schema.Message {
	switch {
	case strings.Contains(question, "invoice"):
		return to("billing")
	case strings.Contains(question, "broken"):
		return to("tech-support")
	case strings.Contains(question, "buy"):
		return to("sales")
	}
	return demo.Says("Welcome. What can we do for you?")(question, results)
}

func bills(question string, results []*schema.Message) *schema.Message {
	switch {
	case strings.Contains(question, "broken"):
		return to("desk")
	case strings.Contains(question, "when"):
		return demo.Says("On Monday, as I said.")(question, results)
	case len(results) > 0:
		return demo.Says("Here it is: {results}.")(question, results)
	}
	return demo.Calls(demo.Call("invoice", `{"number":12}`))(question, results)
}
