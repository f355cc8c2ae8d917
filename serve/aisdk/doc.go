// Package aisdk serves agents to pages made with the AI SDK (useChat of @ai-sdk/react and its like for other frameworks):
// it speaks the UI message stream of versions 6 and 7.
//
//	mux.Handle("/api/chat", aisdk.Handler(server, "weather", aisdk.Config{}))
//	mux.Handle("/api/chat/", aisdk.Handler(server, "weather", aisdk.Config{})) // reconnects: /api/chat/{chat}/stream
//
// The ID of a chat is a thread of the server, which has the history: of what a page sends the new messages of the user
// count, answers to approvals that are open, and results of tools that the page was asked to call. Each call of a model is
// a step of the message; calls of tools are dynamic tool parts; other agents, progress and questions that are no approvals
// are data parts (data-weft-agent, data-weft-progress, data-weft-interrupt).
//
// A client does not say which version it is, and drops what it does not know: Config.Version must be its own.
//
// Source of the wire format: the schemas of npm package ai 6.0.326 and 7.0.173.
package aisdk
