package compose

import "context"

// InternalToolCallLabel returns the label of the tool call that ctx belongs to, "" outside one: the ID of the call or, if
// others of the message have that, too, what tells it from those (see core.CallKeys). The address of the call has it. It is
// for the agent runtime.
func InternalToolCallLabel(ctx context.Context) string {
	if call := toolCallFrom(ctx); call != nil {
		return call.label()
	}
	return ""
}

// callPlaceKey asks a context for the callPlace of a single call.
type callPlaceKey struct{}

// callPlace is the position of a call in a message that is not whole yet.
type callPlace struct {
	label  string
	before int
}

// InternalAtPlace returns a context in which [InternalStreamSingleToolCall] makes a call that has a label, and others before
// it in its message. It is for the agent runtime.
func InternalAtPlace(ctx context.Context, label string, before int) context.Context {
	return context.WithValue(ctx, callPlaceKey{}, callPlace{label, before})
}
