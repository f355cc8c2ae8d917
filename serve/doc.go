// Package serve puts agents behind HTTP: clients start runs, watch what happens in them, answer their questions and
// stop them.
//
//	server, err := serve.New(serve.Config{Agents: []adk.Agent{weather}})
//	…
//	log.Fatal(http.ListenAndServe("127.0.0.1:8080", server))
//
// A run belongs to the server, or to the workers behind it, and not to the request that started it: requests watch. One
// that is cut off comes back with the ID of the last event that it has seen, to whichever process, and gets the rest. Any
// principal that is allowed to may answer a run that waits for a person, also after a restart.
//
// A thread is a conversation: a run in a thread is its next turn, and the agent sees those before. The server keeps its
// history (adk/conversation). From a client come new messages, answers to questions that are open, and results of tools
// that the client was asked to call; whatever else a client says was said before does not count.
//
// A Server is an http.Handler: the native API, JSON and server-sent events (see [Server.ServeHTTP]). Packages aisdk, agui
// and openaiapi speak other protocols about the same runs; a [Caller] and [Server.Stream] are what they are made of, and
// what a protocol of an application's own is made of.
//
// Every run and thread belongs to the principal who started it. Without Config.Auth only clients on the same machine are
// served.
package serve
