package kit

import (
	"fmt"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// Finish says why an answer ended, for every provider in the same words: see model.Finish.
type Finish = model.Finish

// The reasons for which answers end: see the reasons of model.Finish.
const (
	FinishStop          = model.FinishStop
	FinishLength        = model.FinishLength
	FinishToolCalls     = model.FinishToolCalls
	FinishContentFilter = model.FinishContentFilter
	FinishRefusal       = model.FinishRefusal
	FinishContextLength = model.FinishContextLength
	FinishPaused        = model.FinishPaused
	FinishMalformed     = model.FinishMalformed
	FinishError         = model.FinishError
	FinishUnknown       = model.FinishUnknown
)

// finishKey is the key of AgenticMessage.Extra that holds the provider's word, as those messages have no field for it.
const finishKey = model.FinishWordKey

// SetFinishReason notes the provider's word for why the answer ended. In a stream it must be set in one chunk only.
func SetFinishReason(m *schema.AgenticMessage, reason string) { SetExtra(&m.Extra, finishKey, reason) }

// FinishOf returns why an answer ended, from the provider's word for it.
func FinishOf[M Message](m M) Finish {
	finish := model.FinishOf(model.FinishWord(m))
	if finish == FinishStop && hasCalls(m) {
		return FinishToolCalls
	}
	return finish
}

// hasCalls reports whether the application is to call tools.
func hasCalls[M Message](m M) bool {
	switch m := any(m).(type) {
	case *schema.Message:
		return len(m.ToolCalls) > 0
	case *schema.AgenticMessage:
		return slices.ContainsFunc(m.ContentBlocks, func(b *schema.ContentBlock) bool { return b != nil && b.FunctionToolCall != nil })
	}
	return false
}

// StoppedError is an answer without any content that ended for another reason than being done: the provider blocked it,
// the limit of tokens went into thinking, or the model's call could not be read.
type StoppedError struct {
	// Provider is the adapter that asked.
	Provider string
	Finish   Finish
	// Reason is the provider's word.
	Reason string
	// Detail holds more of the provider's report.
	Detail string
}

// Error implements error.
func (e *StoppedError) Error() string {
	text := fmt.Sprintf("%s: the answer has no content: it ended with %s", e.Provider, e.Finish)
	if e.Reason != "" && e.Reason != string(e.Finish) {
		text += fmt.Sprintf(" (%s)", e.Reason)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// ErrorType names the end of the answer, for traces and logs: see adk.ErrorType.
func (e *StoppedError) ErrorType() string { return string(e.Finish) }

// Is reports whether target is the [Kind] of the error.
func (e *StoppedError) Is(target error) bool {
	switch e.Finish {
	case FinishContentFilter, FinishRefusal:
		return target == ErrContentFilter
	case FinishContextLength:
		return target == ErrContextLength
	}
	return false
}

// IsEmpty reports whether an answer says nothing at all: no text, no call, no media. Agents that get one with
// [FinishStop] should ask again.
func IsEmpty[M Message](m M) bool {
	switch m := any(m).(type) {
	case *schema.Message:
		return m == nil || m.Content == "" && len(m.ToolCalls) == 0 && !hasOutput(m.AssistantGenMultiContent)
	case *schema.AgenticMessage:
		if m == nil {
			return true
		}
		for _, b := range m.ContentBlocks {
			if b != nil && b.Type != schema.ContentBlockTypeReasoning &&
				(b.AssistantGenText == nil || b.AssistantGenText.Text != "" || b.AssistantGenText.OpenAIExtension != nil) {
				return false
			}
		}
	}
	return true
}

func hasOutput(parts []schema.MessageOutputPart) bool {
	for _, p := range parts {
		if p.Type != schema.ChatMessagePartTypeReasoning && (p.Type != schema.ChatMessagePartTypeText || p.Text != "") {
			return true
		}
	}
	return false
}

// CheckStopped returns a [StoppedError] for an empty answer that did not end as one that is done.
func CheckStopped[M Message](provider, reason, detail string, m M) error {
	finish := FinishOf(m)
	if !IsEmpty(m) || finish == FinishStop || finish == FinishToolCalls || finish == FinishUnknown && reason == "" {
		return nil
	}
	return &StoppedError{Provider: provider, Finish: finish, Reason: reason, Detail: detail}
}
