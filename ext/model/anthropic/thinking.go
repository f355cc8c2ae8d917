package anthropic

import (
	"fmt"

	"github.com/weftgo/weft/ext/model/kit"
)

// Thinking says whether and how the model thinks before it answers. Make it with [AdaptiveThinking], [BudgetThinking]
// or [NoThinking].
type Thinking struct {
	// Type is "adaptive", "enabled" or "disabled".
	Type string
	// BudgetTokens limits the thinking of an enabled model: at least 1024, and less than the limit of the answer.
	BudgetTokens int
	// Display says what of the thinking is shown: "summarized" or "omitted".
	Display string
}

// AdaptiveThinking has the model decide itself how much to think. Newer models only.
func AdaptiveThinking() *Thinking { return &Thinking{Type: "adaptive"} }

// BudgetThinking has the model think, for at most so many tokens.
func BudgetThinking(tokens int) *Thinking { return &Thinking{Type: "enabled", BudgetTokens: tokens} }

// NoThinking has the model answer at once.
func NoThinking() *Thinking { return &Thinking{Type: "disabled"} }

const minBudget = 1024

func (t *Thinking) validate() error {
	switch {
	case t == nil:
		return nil
	case t.Display != "" && t.Display != "summarized" && t.Display != "omitted":
		return fmt.Errorf(`Thinking.Display is %q: use "summarized" or "omitted"`, t.Display)
	}
	switch t.Type {
	case "enabled":
		if t.BudgetTokens < minBudget {
			return fmt.Errorf("Thinking.BudgetTokens is %d: use at least %d", t.BudgetTokens, minBudget)
		}
	case "adaptive", "disabled":
		if t.BudgetTokens != 0 {
			return fmt.Errorf(`Thinking.BudgetTokens is only for the type "enabled", not %q`, t.Type)
		}
	default:
		return fmt.Errorf(`Thinking.Type is %q: use "adaptive", "enabled" or "disabled"`, t.Type)
	}
	return nil
}

// hasBudget reports whether the model thinks with a budget, which restricts other settings.
func (t *Thinking) hasBudget() bool { return t != nil && t.Type == "enabled" }

func (t *Thinking) wire() kit.Object {
	o := kit.Object{{Key: "type", Value: t.Type}}
	if t.BudgetTokens > 0 {
		o.Set("budget_tokens", t.BudgetTokens)
	}
	o.SetText("display", t.Display)
	return o
}

// MissingThinking says what to do about thinking that cannot be sent back.
type MissingThinking string

const (
	// MissingThinkingDisable sends this request without thinking; the answer lists that (kit.DroppedSettingsKey).
	MissingThinkingDisable MissingThinking = ""
	// MissingThinkingError makes it an error.
	MissingThinkingError MissingThinking = "error"
)

// setThinking puts thinking into the request, unless the conversation forbids it, and checks the settings beside it.
func (b *builder) setThinking(body *kit.Object) error {
	t := b.o.Thinking
	if t == nil {
		return nil
	}
	if err := t.validate(); err != nil {
		return err
	}
	if !t.hasBudget() {
		body.Set("thinking", t.wire())
		return nil
	}
	if b.lacksThinking() {
		if b.o.OnMissingThinking == MissingThinkingError {
			return fmt.Errorf("Thinking has a budget, but the turn that waits for its tools has no thinking that can be " +
				"sent back: use WithThinking(nil) for this call, or OnMissingThinking")
		}
		b.unsupported.Omit("thinking")
		return nil
	}
	if t.BudgetTokens >= *b.common.MaxTokens {
		return fmt.Errorf("Thinking.BudgetTokens is %d and MaxTokens %d: the budget is a part of the limit and must be less",
			t.BudgetTokens, *b.common.MaxTokens)
	}
	body.Set("thinking", t.wire())
	u := &b.unsupported
	u.Reject(body, "temperature", "Temperature must not be set beside Thinking with a budget: remove one of them")
	u.Reject(body, "top_k", "TopK must not be set beside Thinking with a budget: remove one of them")
	if p, ok := body.Get("top_p").(float32); ok && p < minTopP {
		u.Reject(body, "top_p", "TopP must be at least 0.95 beside Thinking with a budget: raise or remove it")
	}
	return nil
}

// minTopP is the least top_p beside thinking with a budget.
const minTopP = 0.95

// lacksThinking reports whether the conversation ends in results of tools, and the turn that called them did not begin
// with thinking.
func (b *builder) lacksThinking() bool {
	var first *turn // the first answer since the user said something
	for i := len(b.turns) - 1; i >= 0; i-- {
		t := b.turns[i]
		if t.role != roleAssistant && len(t.results) == 0 {
			break
		}
		if t.role == roleAssistant {
			first = t
		}
	}
	return first != nil && len(b.turns[len(b.turns)-1].results) > 0 && !first.beginsWithThinking()
}
