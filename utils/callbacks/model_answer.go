package callbacks

import (
	"cmp"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// ModelAnswer holds what the answer of a model says of itself, whole or in chunks, ordinary or agentic: everything but
// its content. The zero value is of an answer of which nothing was seen. It is for one goroutine at a time.
type ModelAnswer struct {
	// ID, Model and Provider belong to the response, FinishReason says why it ended, in the provider's words; "" if it
	// does not say so.
	ID, Model, Provider, FinishReason string
	// Configured is the model that was to be called, as the adapter reports it with the answer.
	Configured string
	// Usage is nil if it is not reported.
	Usage *schema.TokenUsage

	calls map[string]bool
}

// Add takes in an output that a callback handler got, or a chunk of one, and returns the message in it: one of the two,
// or none for what is no answer of a model.
func (a *ModelAnswer) Add(output callbacks.CallbackOutput) (chat *schema.Message, agentic *schema.AgenticMessage) {
	if out := model.ConvCallbackOutput(output); out != nil {
		a.addUsage(out.TokenUsage)
		if out.Config != nil {
			a.Configured = cmp.Or(a.Configured, out.Config.Model)
		}
		a.addMessage(out.Message)
		return out.Message, nil
	}
	if out := model.ConvAgenticCallbackOutput(output); out != nil {
		a.addUsage(out.TokenUsage)
		if out.Config != nil {
			a.Configured = cmp.Or(a.Configured, out.Config.Model)
		}
		a.addAgentic(out.Message)
		return nil, out.Message
	}
	return nil, nil
}

// ToolCalls is the number of tools that the answer calls.
func (a *ModelAnswer) ToolCalls() int { return len(a.calls) }

func (a *ModelAnswer) addMessage(m *schema.Message) {
	if m == nil {
		return
	}
	for _, call := range m.ToolCalls {
		a.addCall(call.ID)
	}
	if meta := m.ResponseMeta; meta != nil {
		a.FinishReason = cmp.Or(meta.FinishReason, a.FinishReason)
		a.addMeta(meta.ID, meta.Model, meta.Provider, meta.Usage)
	}
}

func (a *ModelAnswer) addAgentic(m *schema.AgenticMessage) {
	if m == nil {
		return
	}
	for _, b := range m.ContentBlocks {
		if b != nil && b.FunctionToolCall != nil {
			a.addCall(b.FunctionToolCall.CallID)
		}
	}
	meta := m.ResponseMeta
	if meta != nil {
		a.addMeta(meta.ID, meta.Model, meta.Provider, meta.TokenUsage)
	}
	a.FinishReason = cmp.Or(agenticReason(m.Extra, meta), a.FinishReason)
}

// agenticReason is the reason for which an agentic answer ended, in the provider's words: adapters put it into Extra, since
// those messages have no field for it, and some into the extension of their provider.
func agenticReason(extra map[string]any, meta *schema.AgenticResponseMeta) string {
	reason, _ := extra["finish_reason"].(string)
	switch {
	case reason != "", meta == nil:
	case meta.ClaudeExtension != nil:
		reason = meta.ClaudeExtension.StopReason
	case meta.GeminiExtension != nil:
		reason = meta.GeminiExtension.FinishReason
	case meta.OpenAIExtension != nil && meta.OpenAIExtension.IncompleteDetails != nil:
		reason = meta.OpenAIExtension.IncompleteDetails.Reason
	}
	return reason
}

// addCall counts a tool call by its ID, which the later chunks of one do not have.
func (a *ModelAnswer) addCall(id string) {
	if id == "" {
		return
	}
	if a.calls == nil {
		a.calls = map[string]bool{}
	}
	a.calls[id] = true
}

func (a *ModelAnswer) addMeta(id, name, provider string, u *schema.TokenUsage) {
	a.ID, a.Model, a.Provider = cmp.Or(id, a.ID), cmp.Or(name, a.Model), cmp.Or(provider, a.Provider)
	if u != nil {
		a.usage().Max(u)
	}
}

func (a *ModelAnswer) addUsage(u *model.TokenUsage) {
	if u == nil {
		return
	}
	a.usage().Max(&schema.TokenUsage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens,
		TotalTokens: u.TotalTokens, PromptTokenDetails: schema.PromptTokenDetails(u.PromptTokenDetails),
		CompletionTokensDetails: schema.CompletionTokensDetails(u.CompletionTokensDetails)})
}

func (a *ModelAnswer) usage() *schema.TokenUsage {
	if a.Usage == nil {
		a.Usage = &schema.TokenUsage{}
	}
	return a.Usage
}
