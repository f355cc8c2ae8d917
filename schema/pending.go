package schema

import "context"

func (m *Message) Format(_ context.Context, vs map[string]any, formatType FormatType) ([]*Message, error) {
	panic("pending")
}
func (m *AgenticMessage) Format(_ context.Context, vs map[string]any, formatType FormatType) ([]*AgenticMessage, error) {
	panic("pending")
}
func MessagesPlaceholder(key string, optional bool) MessagesTemplate               { panic("pending") }
func AgenticMessagesPlaceholder(key string, optional bool) AgenticMessagesTemplate { panic("pending") }

