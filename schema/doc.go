// Package schema holds the values that flow through an application: messages and their templates, tools, documents,
// and the streams they come in.
//
// A conversation is a list of [*Message], or, for models with the newer block-wise APIs, of [*AgenticMessage]. Both
// are plain structs, built by [SystemMessage], [UserMessage] and their likes:
//
//	messages := []*schema.Message{
//		schema.SystemMessage("You are a helpful assistant."),
//		schema.UserMessage("What is the weather in Paris?"),
//	}
//
// A message whose text has replacement fields is also a template ([Message.Format]); [MessagesPlaceholder] stands for
// a list of messages in a list of templates.
//
// What a model answers comes as one message, or as a stream of chunks. A chunk is a message too, with a piece of the
// text, of a tool call, of anything. A [StreamReader] delivers them; [ConcatMessages], [ConcatMessageStream] and a
// [MessageAccumulator] join them to the whole message. How values in Extra and other types are joined is open: see
// compose.RegisterStreamChunkConcatFunc.
//
// [ToolInfo] describes to a model what a tool is for and what arguments it takes, in one of the forms of [ParamsOneOf].
// The model's [ToolCall] is answered by a [ToolMessage]. A [ToolResult] is a result with images, audio, video or files.
// [NewMessageJSONParser] turns an answer, or the arguments of a call, into a value of the application.
//
// A [Document] is a piece of text with metadata, for retrieval.
//
// Values of this package are read-only once they were handed to other code: a message that is on a stream, in a
// session or in a result may be read by several goroutines at once.
package schema
