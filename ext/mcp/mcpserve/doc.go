// Package mcpserve serves tools, agents and graphs over MCP.
//
//	server, err := mcpserve.New(mcpserve.Config{Name: "desk", Keys: [][]byte{key}})
//	if err != nil { … }
//	err = mcpserve.AddAgent(server, runner, mcpserve.AgentOptions{Name: "refund", Description: "Refunds an order."})
//	…
//	handler, err := server.Handler(mcpserve.HTTPOptions{})
//	…
//	http.Handle("/mcp", handler)
//
// An agent that is interrupted asks the client: the call is answered with questions, and the client repeats it with the
// answers, to whichever process. What the client brings back is signed, for the principal, the tool and the arguments
// of the call, and counts once.
package mcpserve
