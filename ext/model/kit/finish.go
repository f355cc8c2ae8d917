package kit

import (
	"fmt"

	"github.com/weftgo/weft/schema"
)

// Finish says why an answer ended, for every provider in the same words.
type Finish string

// The reasons for which answers end.
const (
	FinishStop          Finish = "stop"           // the model was done, or met a stop sequence
	FinishLength        Finish = "length"         // the limit of tokens was reached
	FinishToolCalls     Finish = "tool_calls"     // the model waits for the results of tools
	FinishContentFilter Finish = "content_filter" // the provider's rules ended the answer
	FinishRefusal       Finish = "refusal"        // the model refused
	FinishContextLength Finish = "context_length" // the model's context is full; the answer is a part
	FinishPaused        Finish = "paused"         // the provider paused a long turn
	FinishMalformed     Finish = "malformed"      // the model wrote a call that the provider could not read
	FinishError         Finish = "error"          // the provider failed
	FinishUnknown       Finish = "unknown"        // a word that this package does not know, or none
)

// finishOf has the words of all providers; none of them has two meanings.
var finishOf = map[string]Finish{
	// Chat Completions and its dialects
	"stop": FinishStop, "length": FinishLength, "tool_calls": FinishToolCalls, "function_call": FinishToolCalls,
	"content_filter": FinishContentFilter, "eos": FinishStop, "error": FinishError, "sensitive": FinishContentFilter,
	"network_error": FinishError, "insufficient_system_resource": FinishError, "model_length": FinishContextLength,
	"stop_sequence": FinishStop,
	// OpenAI Responses
	"completed": FinishStop, "max_output_tokens": FinishLength, "max_messages": FinishLength,
	"steered": FinishStop, "failed": FinishError, "cancelled": FinishError,
	// Anthropic
	"end_turn": FinishStop, "max_tokens": FinishLength, "tool_use": FinishToolCalls, "pause_turn": FinishPaused,
	"refusal": FinishRefusal, "model_context_window_exceeded": FinishContextLength, "compaction": FinishPaused,
	// Gemini
	"STOP": FinishStop, "MAX_TOKENS": FinishLength, "SAFETY": FinishContentFilter, "RECITATION": FinishContentFilter,
	"BLOCKLIST": FinishContentFilter, "PROHIBITED_CONTENT": FinishContentFilter, "SPII": FinishContentFilter,
	"IMAGE_SAFETY": FinishContentFilter, "IMAGE_PROHIBITED_CONTENT": FinishContentFilter,
	"IMAGE_RECITATION": FinishContentFilter, "IMAGE_OTHER": FinishContentFilter, "MODEL_ARMOR": FinishContentFilter,
	"JAILBREAK": FinishContentFilter, "MALFORMED_FUNCTION_CALL": FinishMalformed,
	"UNEXPECTED_TOOL_CALL": FinishMalformed, "TOO_MANY_TOOL_CALLS": FinishMalformed, "LANGUAGE": FinishError,
	"OTHER": FinishError, "NO_IMAGE": FinishError, "CONTINUATION": FinishPaused,
	// Ollama
	"load": FinishPaused, "unload": FinishPaused,
}

// finishKey is the key of AgenticMessage.Extra that holds the provider's word, as those messages have no field for it.
const finishKey = "finish_reason"

// SetFinishReason notes the provider's word for why the answer ended. In a stream it must be set in one chunk only.
func SetFinishReason(m *schema.AgenticMessage, reason string) { SetExtra(&m.Extra, finishKey, reason) }

// FinishOf returns why an answer ended, from the provider's word for it.
func FinishOf[M Message](m M) Finish {
	reason, calls := "", false
	switch m := any(m).(type) {
	case *schema.Message:
		if m == nil {
			return FinishUnknown
		}
		calls = len(m.ToolCalls) > 0
		if m.ResponseMeta != nil {
			reason = m.ResponseMeta.FinishReason
		}
	case *schema.AgenticMessage:
		if m == nil {
			return FinishUnknown
		}
		reason = ExtraText(m.Extra, finishKey)
		for _, b := range m.ContentBlocks {
			calls = calls || b != nil && b.FunctionToolCall != nil
		}
	}
	finish, known := finishOf[reason]
	switch {
	case !known:
		return FinishUnknown
	case finish == FinishStop && calls:
		return FinishToolCalls
	}
	return finish
}

// StoppedError is an answer without any content that ended for another reason than being done: the provider blocked it,
// the limit of tokens went into thinking, or the model's call could not be read.
type StoppedError struct {
	// Provider is the adapter that asked.
	Provider string
	Finish   Finish
	// Reason is the provider's word.
	Reason string
	// Detail is what else the provider said.
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

// ErrorType is how the answer ended, for traces and logs: see adk.ErrorType.
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
