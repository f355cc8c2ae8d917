package adk

import "slices"

// agentState is what a run of a chat model agent has to remember: the state of its ReAct graph. All of it can be
// saved.
type agentState[M MessageType] struct {
	// Messages is the history that the model sees.
	Messages []M
	// RemainingIterations counts down the model calls of an agent with tools.
	RemainingIterations int
	// ToolMsgIDs has the message IDs of the tool events whose results are not in Messages yet, in the order of the
	// events.
	ToolMsgIDs []toolMessageID
}

// toolMessageID is the message ID that the event of a tool result has.
type toolMessageID struct {
	ToolName, CallID, MessageID string
}

// takeToolMessageID returns the ID that the event of a tool result had, or a new one.
func (s *agentState[M]) takeToolMessageID(toolName, callID string) string {
	i := slices.IndexFunc(s.ToolMsgIDs, func(t toolMessageID) bool { return t.ToolName == toolName && t.CallID == callID })
	if i < 0 {
		return newMessageID()
	}
	id := s.ToolMsgIDs[i].MessageID
	s.ToolMsgIDs = slices.Delete(s.ToolMsgIDs, i, i+1)
	return id
}
