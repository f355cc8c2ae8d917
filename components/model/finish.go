package model

import "github.com/weftgo/weft/schema"

// Finish says why an answer ended, for every provider in the same words. The word of the provider itself is in the
// answer: see [FinishWord].
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
	"completed": FinishStop, "incomplete": FinishLength, "max_output_tokens": FinishLength, "max_messages": FinishLength,
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

// FinishOf returns why an answer ended, from the provider's word for it.
func FinishOf(word string) Finish {
	if f, known := finishOf[word]; known {
		return f
	}
	return FinishUnknown
}

// CutOff reports whether the answer ended before the model was done with it, so that what it was in the middle of is a
// part: a text, a value, or the arguments of a tool call.
func (f Finish) CutOff() bool {
	switch f {
	case FinishLength, FinishContextLength, FinishContentFilter, FinishRefusal, FinishMalformed, FinishError:
		return true
	}
	return false
}

// FinishWordKey is the key of AgenticMessage.Extra under which adapters keep the provider's word for why the answer ended,
// as those messages have no field for it.
const FinishWordKey = "finish_reason"

// FinishWord returns the provider's word for why an answer ended, "" if it gave none.
func FinishWord[M messageType](m M) string {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil && m.ResponseMeta != nil {
			return m.ResponseMeta.FinishReason
		}
	case *schema.AgenticMessage:
		if m != nil {
			word, _ := m.Extra[FinishWordKey].(string)
			return word
		}
	}
	return ""
}

// wholeCallKey marks a tool call, in the Extra of schema.ToolCall or of the content block that has it.
const wholeCallKey = "weft_whole_call"

// MarkWholeCall notes in the Extra of a tool call, or of the content block that has one, that the provider said of the call
// that it is complete. Adapters call it for calls of answers that were cut off (see [Finish.CutOff]); in a stream one chunk
// of the call has the mark. Agents execute no other calls of such an answer.
func MarkWholeCall(extra *map[string]any) {
	if *extra == nil {
		*extra = make(map[string]any, 1)
	}
	(*extra)[wholeCallKey] = "yes"
}

// IsWholeCall reports whether [MarkWholeCall] was called for the Extra of a tool call.
func IsWholeCall(extra map[string]any) bool { return extra[wholeCallKey] != nil }
