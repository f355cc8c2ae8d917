// Package openaiapi serves agents to clients of OpenAI's API: chat completions, and responses. Every SDK, chat page and
// evaluation tool that speaks to OpenAI speaks to an agent, whose name is the name of the model:
//
//	mux.Handle("/v1/", openaiapi.Handler(server, openaiapi.Config{}))
//
// In this API clients have the history: it is taken for what was said. What the agent does on the way, its calls of
// tools and of other agents, stays its own; the text of the agent is the answer. Tools that a client brings are called by
// the client, if the server allows that (serve.Config.AllowClientTools).
//
// A run that asks a question ends the answer with the question in words, and with a member "weft" that names the run and
// its questions; they are answered by the native API of the server. In the responses API approvals are its own:
// mcp_approval_request and mcp_approval_response.
//
// Source of the wire formats: the API reference of OpenAI, and what its clients take, in November 2026.
package openaiapi
