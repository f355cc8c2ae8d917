package adk

import (
	"github.com/weftgo/weft/schema"
)

// MessageType is the kind of message an agent works with.
type MessageType interface {
	*schema.Message | *schema.AgenticMessage
}

// Message is the message of ordinary chat models.
type Message = *schema.Message

// MessageStream is a stream of message chunks.
type MessageStream = *schema.StreamReader[Message]

// AgenticMessage is the message of agentic models.
type AgenticMessage = *schema.AgenticMessage

// AgenticMessageStream is a stream of agentic message chunks.
type AgenticMessageStream = *schema.StreamReader[AgenticMessage]
