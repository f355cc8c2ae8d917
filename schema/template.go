package schema

import "context"

// FormatType chooses the template language of a message.
type FormatType uint8

const (
	// FString replaces {name} by the value of name. Literal braces are doubled. See [Message.Format].
	FString FormatType = 0
	// GoTemplate is text/template. A missing key is an error.
	GoTemplate FormatType = 1
	// Jinja2 is Jinja without any access to files or other templates. A missing name renders as nothing.
	Jinja2 FormatType = 2
)

// MessagesTemplate turns variables into messages. A [*Message] is one, whose text is the template, and
// [MessagesPlaceholder] makes another, which puts a list of messages in.
type MessagesTemplate interface {
	Format(ctx context.Context, vs map[string]any, formatType FormatType) ([]*Message, error)
}

// AgenticMessagesTemplate is [MessagesTemplate] for agentic messages.
type AgenticMessagesTemplate interface {
	Format(ctx context.Context, vs map[string]any, formatType FormatType) ([]*AgenticMessage, error)
}

var (
	_ MessagesTemplate        = (*Message)(nil)
	_ AgenticMessagesTemplate = (*AgenticMessage)(nil)
)
