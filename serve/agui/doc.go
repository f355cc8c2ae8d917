// Package agui serves agents to clients of AG-UI 1.0, the protocol between agents and the pages that people use them by
// (CopilotKit and others):
//
//	mux.Handle("/agui/{agent}", agui.Handler(server, agui.Config{}))
//
// A request of the protocol is one run, or the answer to one that waits; its threads are threads of the server, which has
// their history. What agents say and think, their calls of tools, the agents that they call, and questions are events of
// the protocol; tools that a client brings are called by the client, if the server allows that
// (serve.Config.AllowClientTools).
//
// What the protocol does not have is asked for by the native API: what was said in a thread, and stopping a run.
//
// Source of the wire format: the schemas of @ag-ui/core 1.0.0.
package agui
