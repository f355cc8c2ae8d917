// Package adk is the agent development kit: agents that let a model answer and run the tools it calls, and the runner
// that runs them.
//
// An agent turns messages into events. [NewChatModelAgent] makes the agent that most applications need; anything else
// that implements [Agent] works just as well. A [Runner] runs an agent and hands out its events as an [AsyncIterator]:
//
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Name:        "assistant",
//		Instruction: "You are a helpful assistant.",
//		Model:       model,
//		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
//	})
//	…
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
//	for event := range runner.Query(ctx, "What is in this directory?").All() {
//		…
//	}
//
// Everything exists for both kinds of message: the names with Typed take the message type as a parameter, the plain
// names are those for *schema.Message. The plain names are aliases, so their fields and methods are documented in full
// under the names with Typed: go doc adk.TypedRunner.Query.
package adk
