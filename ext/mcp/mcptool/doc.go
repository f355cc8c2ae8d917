// Package mcptool gives agents the tools of MCP servers.
//
//	files, err := mcptool.New(mcptool.Config{Name: "files", Command: []string{"mcp-files", "/data"}})
//	if err != nil { … }
//	defer files.Close()
//	tools, err := files.Tools(ctx) // for ToolsConfig; or files.Middleware(): the tools of each run, as they are then
//
// A [Server] connects when it is first used, and again when the connection is lost. A call that may have run is not
// repeated unless the tool says that it may be: see [OutcomeUnknown]. What a server asks in return for a call (a form,
// a page to open, an answer of a model) interrupts the run: see [Question].
//
// Nothing that a server says is trusted: lists, schemas, results and questions are bounded, and what it says of its own
// tools changes what may be repeated only with [Config.TrustAnnotations].
package mcptool
