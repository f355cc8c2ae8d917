package adk

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/weftgo/weft/schema"
)

// rebuildInput makes the input of an agent that the run has reached from another: what the user and the agents said.
func rebuildInput(x *execution[Message]) (*AgentInput, error) {
	entries, err := entriesOf(x, x.run.input, x.lane.visible(), x.run.options.skipTransferMessages)
	if err != nil {
		return nil, err
	}
	rewrite := HistoryRewriter(func(_ context.Context, entries []*HistoryEntry) ([]Message, error) {
		return retold(x.name, entries), nil
	})
	if x.flow != nil && x.flow.rewriter != nil {
		rewrite = x.flow.rewriter
	}
	messages, err := rewrite(x, entries)
	if err != nil {
		return nil, err
	}
	input := &AgentInput{Messages: messages}
	if x.run.input != nil {
		input.EnableStreaming = x.run.input.EnableStreaming
	}
	return input, nil
}

// retold keeps what the user and the agent itself said, and retells what other agents said.
func retold(self string, entries []*HistoryEntry) []Message {
	messages := make([]Message, 0, len(entries))
	for _, e := range entries {
		m := e.Message
		if !e.IsUserInput && e.AgentName != self {
			m = retell(e.AgentName, m)
		}
		if m != nil {
			messages = append(messages, m)
		}
	}
	return messages
}

// retoldRoom is for the words around what is retold.
const retoldRoom = 48

// retell turns the message of another agent into one of the user.
func retell(agent string, m Message) Message {
	if m == nil {
		return nil
	}
	var text strings.Builder
	text.Grow(retoldRoom + len(agent) + len(m.Content) + len(m.ToolName))
	write := func(parts ...string) {
		for _, p := range parts {
			text.WriteString(p)
		}
	}
	write("For context:")
	switch m.Role {
	case schema.Assistant:
		if m.Content != "" {
			write(" [", agent, "] said: ", m.Content, ".")
		}
		for _, call := range m.ToolCalls {
			write(" [", agent, "] called tool: `", call.Function.Name, "` with arguments: ", call.Function.Arguments, ".")
		}
	case schema.Tool:
		if m.Content != "" {
			write(" [", agent, "] `", m.ToolName, "` tool returned result: ", m.Content, ".")
		}
	}
	told := schema.UserMessage(text.String())
	//lint:ignore SA1019 older callers still send it
	told.MultiContent = slices.Clone(m.MultiContent)
	told.UserInputMultiContent = slices.Clone(m.UserInputMultiContent)
	for i := range m.AssistantGenMultiContent {
		if part, ok := inputPart(&m.AssistantGenMultiContent[i]); ok {
			told.UserInputMultiContent = append(told.UserInputMultiContent, part)
		}
	}
	return told
}

// inputPart is what an agent generated as a part of a user message; reasoning is left out.
func inputPart(p *schema.MessageOutputPart) (schema.MessageInputPart, bool) {
	part := schema.MessageInputPart{Type: p.Type, Text: p.Text, Extra: p.Extra}
	switch {
	case p.Type == schema.ChatMessagePartTypeText:
	case p.Image != nil:
		part.Image = &schema.MessageInputImage{MessagePartCommon: p.Image.MessagePartCommon}
	case p.Audio != nil:
		part.Audio = &schema.MessageInputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
	case p.Video != nil:
		part.Video = &schema.MessageInputVideo{MessagePartCommon: p.Video.MessagePartCommon}
	default:
		return part, false
	}
	return part, true
}

// GenTransferMessages makes the two messages of a transfer: the call of an assistant, and its result.
func GenTransferMessages(_ context.Context, destAgentName string) (Message, Message) {
	call := schema.ToolCall{
		ID:       uuid.NewString(),
		Function: schema.FunctionCall{Name: TransferToAgentToolName, Arguments: destAgentName},
	}
	return schema.AssistantMessage("", []schema.ToolCall{call}),
		schema.ToolMessage(transferResult(destAgentName), call.ID, schema.WithToolName(TransferToAgentToolName))
}
