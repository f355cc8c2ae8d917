// Package model declares what a chat model is: the interfaces that providers implement, the options of a call, and
// the payloads that callback handlers get.
//
// A provider implements [ToolCallingChatModel] (messages of role and content) or [AgenticModel] (messages of content
// blocks, where the provider runs tools of its own). It reads the common options with [GetCommonOptions] and its own
// with [GetImplSpecificOptions].
package model

import (
	"context"

	"github.com/weftgo/weft/schema"
)

//go:generate env GOWORK=off go tool -modfile=../../tools/go.mod mockgen -destination=../../internal/mock/components/model/model.go -package=model . ChatModel,ToolCallingChatModel

type messageType interface {
	*schema.Message | *schema.AgenticMessage
}

// BaseModel turns a conversation into the next message. Implementations must be safe for concurrent use and must not
// change the input.
type BaseModel[M messageType] interface {
	// Generate returns the whole message and blocks until it is there.
	Generate(ctx context.Context, input []M, opts ...Option) (M, error)
	// Stream returns the message in chunks, to be joined with the concat functions of package schema. The caller must
	// close the reader.
	Stream(ctx context.Context, input []M, opts ...Option) (*schema.StreamReader[M], error)
}

// BaseChatModel is a model that speaks [schema.Message].
//
// Its methods, which are documented at [BaseModel]:
//
//   - Generate: returns the whole answer
//   - Stream: returns the answer in chunks
type BaseChatModel = BaseModel[*schema.Message]

// AgenticModel is a model that speaks [schema.AgenticMessage].
//
// Its methods, which are documented at [BaseModel]:
//
//   - Generate: returns the whole answer
//   - Stream: returns the answer in chunks
type AgenticModel = BaseModel[*schema.AgenticMessage]

// HasProvider names the service of a model, for traces and prices. A model may implement it: "openai", "anthropic",
// "aws.bedrock", "gcp.gemini", or another lower-case name. It is asked often and must not block.
type HasProvider interface {
	Provider() string
}

// HasEndpoint names the server that a model calls, for traces. A model may implement it. The port is 0 if the model
// does not know it. It is asked often and must not block.
type HasEndpoint interface {
	Endpoint() (host string, port int)
}

// ChatModel is a model whose tools are set once for all its users.
//
// Deprecated: BindTools changes the model under calls that are running. Implement [ToolCallingChatModel].
type ChatModel interface {
	BaseChatModel

	// BindTools sets the tools that later calls offer to the model.
	BindTools(tools []*schema.ToolInfo) error
}

// ToolCallingChatModel is a chat model that can call tools.
type ToolCallingChatModel interface {
	BaseChatModel

	// WithTools returns a model that offers the given tools and leaves the receiver as it is, so that one model may
	// serve callers with different tools.
	WithTools(tools []*schema.ToolInfo) (ToolCallingChatModel, error)
}
