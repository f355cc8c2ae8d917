// Package weft is the front door of Weft, an embeddable agent runtime: a model, functions as tools and an instruction make
// an agent, which you ask, stream from, and hold conversations with.
//
//	now := weft.Func("now", "Tells the time in a time zone.", func(ctx context.Context, in struct {
//		Zone string `json:"zone" jsonschema:"description=an IANA time zone"`
//	}) (string, error) { … })
//
//	agent, err := weft.New(weft.Config{Model: model, Instruction: "Answer shortly.", Tools: []weft.Tool{now}})
//	answer, err := agent.Ask(ctx, "What time is it in Tokyo?")             // answer.Text
//	report, err := weft.Ask[Report](ctx, agent, "Summarize the week.")     // a value of a Go type
//	for event, err := range agent.Stream(ctx, "And in Lima?") {            // break ends the run
//		fmt.Print(event.Text)
//	}
//
// A model comes from a module under ext/model (openai, anthropic, gemini, ollama), or is anything that implements [Model].
//
// # Conversations
//
// An agent keeps nothing between two calls. [After] continues behind an answer; a [Conversation] is kept in a store, for
// as long as the store keeps it, and any process that has the store can continue it:
//
//	chat := agent.Conversation(store, "ana")
//	answer, err := chat.Ask(ctx, "My order has not come.")
//
// # Questions
//
// A tool in [Config].Approve waits until a person approves the call; tools of your own may wait for anything (see
// tool.Interrupt in components/tool). The answer has the questions then, and [Answer.Reply], or [Conversation.Reply] a
// week and a restart later, continues the run where it was:
//
//	var replies []weft.Reply
//	for _, question := range answer.Pending {
//		replies = append(replies, question.Approve())
//	}
//	answer, err = chat.Reply(ctx, replies...)
//
// # Several agents
//
// An agent with other [Config].Agents hands over to the one that fits best; the next question of a conversation goes to
// the one that has answered last. [Agent.Tool] makes a tool of an agent, for an agent that calls it and stays in control.
//
// # What is set up for you
//
// Unlike an agent made with package adk alone, one of this package shows a model its mistakes (a tool that there is not,
// arguments that do not fit) for it to try again, three times in a row at most; gives it the errors of its tools; repairs
// calls without results, and results without calls, in what it is given; and ends after [Config].MaxTurns with an answer
// or an error that says so. Errors are one line each.
//
// # Below
//
// There is no second engine in here: [Agent.ADK] is the agent of package adk that does the work, [Event].Source the event
// that an [Event] is a view of, [Config].Middlewares and [Config].Adjust reach everything that adk can do, and every option
// of a run that adk has is an [Option]. Graphs, chains and workflows of components are package compose.
package weft
