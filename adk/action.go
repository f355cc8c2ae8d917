package adk

// AgentAction is what an agent wants the runtime to do.
type AgentAction struct {
	// Exit ends the run.
	Exit bool
	// Interrupted says that the run stopped so that it can go on later.
	Interrupted *InterruptInfo
	// TransferToAgent hands the run over to another agent.
	TransferToAgent *TransferToAgentAction
	// BreakLoop ends the loop that the agent runs in.
	BreakLoop *BreakLoopAction
	// CustomizedAction is for custom agents among themselves.
	CustomizedAction any

	// signal is the tree behind Interrupted.
	signal *InterruptSignal
}

// TransferToAgentAction names the agent that takes over.
type TransferToAgentAction struct {
	DestAgentName string
}

// BreakLoopAction ends a loop. The loop agent fills in Done and CurrentIterations.
type BreakLoopAction struct {
	// From is the agent that breaks the loop.
	From              string
	Done              bool
	CurrentIterations int
}

// NewTransferToAgentAction makes the action that hands the run over to an agent.
func NewTransferToAgentAction(destAgentName string) *AgentAction {
	return &AgentAction{TransferToAgent: &TransferToAgentAction{DestAgentName: destAgentName}}
}

// NewExitAction makes the action that ends the run.
func NewExitAction() *AgentAction { return &AgentAction{Exit: true} }

// NewBreakLoopAction makes the action that ends the loop an agent runs in.
func NewBreakLoopAction(agentName string) *AgentAction {
	return &AgentAction{BreakLoop: &BreakLoopAction{From: agentName}}
}
