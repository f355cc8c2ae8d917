// Package react is an agent of one chat model and its tools: the model answers, its tool calls are executed, it is
// asked again with the results, until it answers without calling a tool.
//
// The agent is a graph of package compose,
//
//	START → chat → (tool calls?) → tools → chat …
//	             → END              tools → direct_return → END
//
// so that graph options work on it (callbacks, checkpoints, interrupts) and it can be a part of a bigger graph
// ([Agent.ExportGraph]). The keys of its nodes are chat, tools and direct_return.
//
// Generate and Stream return the last message only. Who wants to see the others as they are made asks for a
// [MessageFuture].
package react
