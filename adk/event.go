package adk

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/weftgo/weft/schema"
)

// HistoryEntry is one message that an agent gets to see when the run reaches it.
type HistoryEntry struct {
	// IsUserInput is true for the messages that the run was started with.
	IsUserInput bool
	// AgentName is the agent that said it, otherwise.
	AgentName string
	Message   Message
}

// TypedMessageVariant is a message, whole or as a stream.
type TypedMessageVariant[M MessageType] struct {
	// IsStreaming tells which of Message and MessageStream is set.
	IsStreaming bool
	Message     M
	// MessageStream belongs to the consumer of the event. One who does not read it should close it.
	MessageStream *schema.StreamReader[M]
	// Role is Assistant for the output of a model and Tool for the result of a tool. Ordinary messages only.
	Role schema.RoleType
	// AgenticRole is assistant for the output of a model and user for the result of a tool. Agentic messages only.
	AgenticRole schema.AgenticRoleType
	// ToolName is the tool whose result this is. Ordinary messages only.
	ToolName string

	// readByRun is MessageStream, if the run reads another copy of it to its end, or ends it, and it was not replaced.
	readByRun *schema.StreamReader[M]
}

// split returns a copy of the stream. The variant keeps another one.
func (mv *TypedMessageVariant[M]) split() *schema.StreamReader[M] {
	byRun := mv.readByRun == mv.MessageStream
	copies := mv.MessageStream.Copy(2)
	copies[0].SetAutomaticClose()
	copies[1].SetAutomaticClose()
	if mv.MessageStream = copies[0]; byRun {
		mv.readByRun = copies[0]
	}
	return copies[1]
}

// MessageVariant is the variant of ordinary messages.
//
// Its fields and methods, which are documented at [TypedMessageVariant]:
//
//   - IsStreaming: which of Message and MessageStream is set
//   - Message: the whole message
//   - MessageStream: the message in chunks; read it to its end or close it
//   - Role: Assistant for an answer of a model, Tool for the result of a tool
//   - AgenticRole: the role of an agentic message, not used here
//   - ToolName: the tool whose result this is
//   - GetMessage: returns the whole message, and reads the stream for it if there is one
//   - GobEncode, GobDecode: store it, a stream as the message that it joins to
type MessageVariant = TypedMessageVariant[*schema.Message]

// GetMessage returns the whole message. A stream is read to its end and closed; its first error is returned.
func (mv *TypedMessageVariant[M]) GetMessage() (M, error) {
	return mv.whole(context.Background())
}

// whole is GetMessage that gives a stream up when ctx ends.
func (mv *TypedMessageVariant[M]) whole(ctx context.Context) (M, error) {
	if !mv.IsStreaming || mv.MessageStream == nil {
		return mv.Message, nil
	}
	return messageRuntimeOf[M]().concat(ctx, mv.MessageStream)
}

// storedVariant is the encoded form of a variant: a stream is encoded as the message it joins to.
type storedVariant[M MessageType] struct {
	IsStreaming   bool
	Message       M
	MessageStream M
	Role          schema.RoleType
	AgenticRole   schema.AgenticRoleType
	ToolName      string
}

// GobEncode implements gob.GobEncoder. It reads a stream to its end.
func (mv *TypedMessageVariant[M]) GobEncode() ([]byte, error) {
	return messageRuntimeOf[M]().encodeVariant(mv)
}

func (compiledMessages[M]) encodeVariant(mv *TypedMessageVariant[M]) ([]byte, error) {
	stored := storedVariant[M]{
		IsStreaming: mv.IsStreaming,
		Message:     mv.Message,
		Role:        mv.Role,
		AgenticRole: mv.AgenticRole,
		ToolName:    mv.ToolName,
	}
	if mv.IsStreaming && mv.MessageStream != nil {
		var err error
		if stored.MessageStream, err = drainVariant(mv); err != nil {
			return nil, err
		}
	}
	var buf bytes.Buffer
	err := gob.NewEncoder(&buf).Encode(&stored)
	return buf.Bytes(), err
}

func drainVariant[M MessageType](mv *TypedMessageVariant[M]) (whole M, err error) {
	ops := opsOf[M]()
	join, _, err := joinStream(receiver[M]{s: mv.MessageStream}, nil)
	if err != nil {
		return whole, fmt.Errorf("%s: %w", ops.streamError, err)
	}
	if whole, err = join.Message(); err != nil {
		return whole, fmt.Errorf("%s: %w", ops.concatError, err)
	}
	return whole, nil
}

// GobDecode implements gob.GobDecoder. What was a stream becomes a stream of one chunk.
func (mv *TypedMessageVariant[M]) GobDecode(b []byte) error {
	return messageRuntimeOf[M]().decodeVariant(mv, b)
}

func (compiledMessages[M]) decodeVariant(mv *TypedMessageVariant[M], b []byte) error {
	var stored storedVariant[M]
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&stored); err != nil {
		return err
	}
	*mv = TypedMessageVariant[M]{
		IsStreaming: stored.IsStreaming,
		Message:     stored.Message,
		Role:        stored.Role,
		AgenticRole: stored.AgenticRole,
		ToolName:    stored.ToolName,
	}
	if !opsOf[M]().isNil(stored.MessageStream) {
		mv.MessageStream = schema.StreamReaderFromArray([]M{stored.MessageStream})
	}
	return nil
}

// TypedAgentOutput is the output of an agent.
type TypedAgentOutput[M MessageType] struct {
	MessageOutput *TypedMessageVariant[M]
	// CustomizedOutput is any other output of a custom agent.
	CustomizedOutput any
}

// AgentOutput is the output of agents on ordinary messages.
//
// Its fields, which are documented at [TypedAgentOutput]:
//
//   - MessageOutput: a message, whole or as a stream; see [MessageVariant]
//   - CustomizedOutput: whatever a custom agent has to say
type AgentOutput = TypedAgentOutput[*schema.Message]

// RunStep is one agent on the way from the outermost agent to the one that speaks.
type RunStep struct{ agentName string }

// String returns the name of the agent.
func (r *RunStep) String() string { return r.agentName }

// Equals reports whether both steps name the same agent.
func (r *RunStep) Equals(r1 RunStep) bool { return r.agentName == r1.agentName }

// GobEncode implements gob.GobEncoder.
func (r *RunStep) GobEncode() ([]byte, error) { return []byte(r.agentName), nil }

// GobDecode implements gob.GobDecoder.
func (r *RunStep) GobDecode(b []byte) error {
	r.agentName = string(b)
	return nil
}

// TypedAgentEvent is one thing that happened in a run: an output, an action or the error that ended it. Any of them
// may be nil. The event and its RunPath belong to the consumer; messages and actions are shared with the run and must
// not be changed.
type TypedAgentEvent[M MessageType] struct {
	// AgentName is the agent that speaks, RunPath the way to it from the outermost agent. A run that was not started
	// by a [Runner] leaves them empty.
	AgentName string
	RunPath   []RunStep
	Output    *TypedAgentOutput[M]
	Action    *AgentAction
	Err       error

	// origin says where the event comes from.
	origin eventOrigin
	// place is the number of the call in its answer that an event of a tool belongs to, from 1; 0 if that is not known.
	// Other calls of the answer may have the same ID.
	place uint16
}

// eventOrigin says where an event comes from, which decides who may see it. It is set before the event is sent.
//
//	origin            the reader of the run    agents that come later
//	live              yes                      yes
//	replayedSteps     if no other follows      yes: only the saved steps have it
//	replayedHistory   if no other follows      no: the saved history has it already
//	inner             yes                      no: it is of an agent that runs as a tool, and decides nothing
//	piece             yes                      no: the whole message follows
type eventOrigin uint8

const (
	originLive eventOrigin = iota
	originReplayedSteps
	originReplayedHistory
	originInner
	originPiece
)

// isReplayed reports whether an earlier process emitted the event.
func (o eventOrigin) isReplayed() bool { return o == originReplayedSteps || o == originReplayedHistory }

// AgentEvent is the event of agents on ordinary messages.
//
// Its fields, which are documented at [TypedAgentEvent]:
//
//   - AgentName: the agent that emitted it
//   - RunPath: the agents on the way to that, from the outermost one
//   - Output: a message or custom output, nil if there is none; see [AgentOutput] and [GetMessage]
//   - Action: what the agent wants the runtime to do, such as stop or hand over; nil for nothing; see [AgentAction]
//   - Err: why the run failed; it is the last event then
//
// and its methods:
//
//   - IsInner: whether it is of an agent that runs as a tool
//   - IsReplay: whether an earlier part of the run has emitted it
//   - IsPiece: whether its message is a piece of one
type AgentEvent = TypedAgentEvent[*schema.Message]

func (e *TypedAgentEvent[M]) closeStreams() {
	if e != nil && e.Output != nil && e.Output.MessageOutput != nil {
		if s := e.Output.MessageOutput.MessageStream; s != nil {
			s.Close()
		}
	}
}

// closeReadByRun closes the stream of an event that has no reader, if the run reads it anyway.
func (e *TypedAgentEvent[M]) closeReadByRun() {
	if e.Output == nil || e.Output.MessageOutput == nil {
		return
	}
	if v := e.Output.MessageOutput; v.readByRun != nil && v.readByRun == v.MessageStream {
		v.MessageStream.Close()
	}
}

// messageEvent is an event with its message, in one block.
type messageEvent[M MessageType] struct {
	event   TypedAgentEvent[M]
	output  TypedAgentOutput[M]
	variant TypedMessageVariant[M]
	// path is room for the RunPath of an event of the outermost agent.
	path [1]RunStep
}

func newMessageEvent[M MessageType](m M, s *schema.StreamReader[M]) *messageEvent[M] {
	return new(messageEvent[M]).of(m, s)
}

func (e *messageEvent[M]) of(m M, s *schema.StreamReader[M]) *messageEvent[M] {
	e.variant.IsStreaming, e.variant.Message, e.variant.MessageStream = s != nil, m, s
	e.output.MessageOutput = &e.variant
	e.event.Output = &e.output
	e.event.RunPath = e.path[:0]
	return e
}

// messageInEvent makes an event with a message of its own, V, in one block. M is *V.
func messageInEvent[M MessageType, V any](message V) *messageEvent[M] {
	e := &struct {
		messageEvent[M]
		message V
	}{message: message}
	return e.of(any(&e.message).(M), nil)
}

// EventFromMessage makes an event of a message or, if msgStream is not nil, of a stream.
func EventFromMessage(
	msg Message, msgStream *schema.StreamReader[Message], role schema.RoleType, toolName string,
) *AgentEvent {
	e := newMessageEvent(msg, msgStream)
	e.variant.Role, e.variant.ToolName = role, toolName
	return &e.event
}

// EventFromAgenticMessage is [EventFromMessage] for agentic messages.
func EventFromAgenticMessage(
	msg AgenticMessage, msgStream AgenticMessageStream, agenticRole schema.AgenticRoleType,
) *TypedAgentEvent[AgenticMessage] {
	e := newMessageEvent(msg, msgStream)
	e.variant.AgenticRole = agenticRole
	return &e.event
}

// GetMessage returns the whole message of an event, nil if it has none. It waits for the end of a stream; the event
// stays readable. The event returned is e.
func GetMessage(e *AgentEvent) (Message, *AgentEvent, error) { return TypedGetMessage(e) }

// TypedGetMessage is [GetMessage] for both kinds of message.
func TypedGetMessage[M MessageType](e *TypedAgentEvent[M]) (M, *TypedAgentEvent[M], error) {
	var none M
	if e == nil || e.Output == nil || e.Output.MessageOutput == nil {
		return none, e, nil
	}
	v := e.Output.MessageOutput
	if !v.IsStreaming || v.MessageStream == nil {
		return v.Message, e, nil
	}
	copies := v.MessageStream.Copy(2)
	v.MessageStream = copies[0]
	m, err := messageRuntimeOf[M]().concat(context.Background(), copies[1])
	return m, e, err
}

// TypedAgentInput is the input of an agent.
type TypedAgentInput[M MessageType] struct {
	Messages []M
	// EnableStreaming asks for messages as streams where the model and the tools can stream.
	EnableStreaming bool
}

// AgentInput is the input of agents on ordinary messages.
//
// Its fields, which are documented at [TypedAgentInput]:
//
//   - Messages: the conversation so far
//   - EnableStreaming: asks for messages as streams
type AgentInput = TypedAgentInput[*schema.Message]

// TypedAgent is anything that answers messages with events.
type TypedAgent[M MessageType] interface {
	// Name tells agents apart.
	Name(ctx context.Context) string
	// Description tells other agents what this one is good for.
	Description(ctx context.Context) string
	// Run starts a run and returns at once. The iterator ends when the run has ended; an error is its last event.
	Run(ctx context.Context, input *TypedAgentInput[M], options ...AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
}

// Agent is an agent on ordinary messages.
//
// Its methods, which are documented at [TypedAgent]:
//
//   - Name: what events, other agents and callbacks call it
//   - Description: what other agents choose it by
//   - Run: starts a run and returns its events
type Agent = TypedAgent[*schema.Message]

// TypedResumableAgent is an agent that can continue an interrupted run.
type TypedResumableAgent[M MessageType] interface {
	TypedAgent[M]
	// Resume continues with the run of info, as Run starts one.
	Resume(ctx context.Context, info *ResumeInfo, opts ...AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
}

// ResumableAgent is a resumable agent on ordinary messages.
//
// Its methods, which are documented at [TypedResumableAgent]:
//
//   - Name, Description, Run: as of an [Agent]
//   - Resume: continues an interrupted run
type ResumableAgent = TypedResumableAgent[*schema.Message]

// AgentAction asks the runtime to do something for an agent.
type AgentAction struct {
	// Exit ends the run.
	Exit bool
	// Interrupted says that the run stopped so that it can continue later.
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
