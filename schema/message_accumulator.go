package schema

import (
	"fmt"

	"github.com/weftgo/weft/internal/concat"
)

// A MessageAccumulator joins the chunks of a streamed message while they come, without keeping them:
//
//	var acc schema.MessageAccumulator
//	for chunk, err := range stream.All() {
//		…
//		acc.Add(chunk)
//	}
//	message, err := acc.Message()
//
// [ConcatMessages] is the same for chunks that are there already; the rules are documented there. The zero value is
// ready for use. An accumulator must not be copied after the first Add, and is not safe for concurrent use.
type MessageAccumulator struct {
	chunks int
	err    error // of the first chunk that could not be joined

	role       RoleType
	name       string
	toolCallID string
	toolName   string

	content      textJoin
	reasoning    textJoin
	multiContent []ChatMessagePart
	userParts    textPartJoin[MessageInputPart]
	outputParts  outputPartJoin
	toolCalls    toolCallJoin
	meta         *responseMetaJoin
	extra        concat.Map
}

// Add joins one more chunk, which is neither changed nor kept. A chunk that cannot belong to the same message (nil,
// or with another role, name, tool call ID or tool name) is an error, which Message will return, too. What can only
// be seen in all chunks, such as conflicting tool calls or extras, is reported by Message.
func (a *MessageAccumulator) Add(chunk *Message) error {
	if a.err != nil {
		return a.err
	}
	if a.err = a.identify(chunk); a.err != nil {
		return a.err
	}
	a.chunks++
	a.content.add(chunk.Content)
	if chunk.ReasoningContent != "" {
		a.reasoning.add(chunk.ReasoningContent)
	}
	if len(chunk.ToolCalls) > 0 {
		a.toolCalls.add(chunk.ToolCalls)
	}
	if len(chunk.AssistantGenMultiContent) > 0 {
		a.outputParts.add(chunk.AssistantGenMultiContent)
	}
	if len(chunk.UserInputMultiContent)+len(chunk.MultiContent) > 0 {
		a.userParts.add(chunk.UserInputMultiContent)
		for i := range chunk.MultiContent {
			a.multiContent = append(a.multiContent, chunk.MultiContent[i].clone())
		}
	}
	if chunk.ResponseMeta != nil {
		if a.meta == nil {
			a.meta = &responseMetaJoin{}
		}
		a.meta.add(chunk.ResponseMeta)
	}
	addFilled(&a.extra, chunk.Extra)
	return nil
}

// identify checks that the chunk belongs to the message.
func (a *MessageAccumulator) identify(chunk *Message) error {
	if chunk == nil {
		return fmt.Errorf("unexpected nil chunk in message stream, index: %d", a.chunks)
	}
	if chunk.Role == a.role && chunk.Name == a.name && chunk.ToolCallID == a.toolCallID && chunk.ToolName == a.toolName {
		return nil
	}
	switch {
	case !single(&a.role, chunk.Role):
		return differ("roles", a.role, chunk.Role)
	case !single(&a.name, chunk.Name):
		return differ("names", a.name, chunk.Name)
	case !single(&a.toolCallID, chunk.ToolCallID):
		return differ("toolCallIDs", a.toolCallID, chunk.ToolCallID)
	case !single(&a.toolName, chunk.ToolName):
		return differ("toolNames", a.toolName, chunk.ToolName)
	}
	return nil
}

func differ[S ~string](what string, a, b S) error {
	return fmt.Errorf("cannot concat messages with different %s: '%s' '%s'", what, a, b)
}

// Message returns the message as far as it has come, an empty one before the first chunk. It shares nothing that can
// be written to with the chunks or with an earlier result, and more chunks may be added afterwards.
//
// If the chunks contradict each other the message is nil. Of several contradictions the one that Add returned is
// reported, if there was one, and otherwise the first of: tool calls, extra, assistant parts, user parts.
func (a *MessageAccumulator) Message() (*Message, error) {
	if a.err != nil {
		return nil, a.err
	}
	m := &Message{
		Role:             a.role,
		Content:          a.content.String(),
		Name:             a.name,
		ToolCallID:       a.toolCallID,
		ToolName:         a.toolName,
		ReasoningContent: a.reasoning.String(),
		MultiContent:     cloneParts(a.multiContent),
		ResponseMeta:     a.meta.result(),
	}
	var err error
	if m.ToolCalls, err = a.toolCalls.result(); err != nil {
		return nil, err
	}
	if m.Extra, err = a.extra.Result(); err != nil {
		return nil, fmt.Errorf("failed to concat message's extra: %w", err)
	}
	if m.AssistantGenMultiContent, err = a.outputParts.result(); err != nil {
		return nil, fmt.Errorf("failed to concat message's assistant multicontent: %w", err)
	}
	if m.UserInputMultiContent, err = a.userParts.result(); err != nil {
		return nil, fmt.Errorf("failed to concat message's user multicontent: failed to concat text part extra: %w", err)
	}
	return m, nil
}

func cloneParts(parts []ChatMessagePart) []ChatMessagePart {
	if len(parts) == 0 {
		return nil
	}
	clones := make([]ChatMessagePart, len(parts))
	for i := range parts {
		clones[i] = parts[i].clone()
	}
	return clones
}

// responseMetaJoin joins response metadata: the last finish reason and origin, the highest counts, all log
// probabilities.
type responseMetaJoin struct {
	origin
	finishReason string
	usage        *TokenUsage
	logProbs     *LogProbs
}

func (j *responseMetaJoin) add(meta *ResponseMeta) {
	if meta.FinishReason != "" {
		j.finishReason = meta.FinishReason
	}
	j.origin.add(meta.ID, meta.Model, meta.Provider)
	j.usage = maxTokenUsage(j.usage, meta.Usage)
	if meta.LogProbs == nil {
		return
	}
	if j.logProbs == nil {
		j.logProbs = &LogProbs{}
	}
	j.logProbs.Content = append(j.logProbs.Content, meta.LogProbs.Content...)
}

func (j *responseMetaJoin) result() *ResponseMeta {
	if j == nil {
		return nil
	}
	meta := &ResponseMeta{
		FinishReason: j.finishReason, Usage: clonePointer(j.usage), ID: j.id, Model: j.model, Provider: j.provider,
	}
	if j.logProbs != nil {
		meta.LogProbs = &LogProbs{Content: append([]LogProb(nil), j.logProbs.Content...)}
	}
	return meta
}
