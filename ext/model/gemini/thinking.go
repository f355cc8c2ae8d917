package gemini

import (
	"errors"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// ThinkingConfig says how much the model thinks before it answers. Set ThinkingBudget for Gemini 2.5 and ThinkingLevel
// for Gemini 3.
type ThinkingConfig struct {
	// IncludeThoughts has the answer show the thinking. Default true.
	IncludeThoughts *bool
	// ThinkingBudget is the number of tokens that the model may think; -1 leaves it to the model, 0 turns thinking off
	// where that is possible.
	ThinkingBudget *int32
	// ThinkingLevel is "MINIMAL", "LOW", "MEDIUM" or "HIGH".
	ThinkingLevel string
}

var thinkingLevels = []string{"", "MINIMAL", "LOW", "MEDIUM", "HIGH"}

func (t *ThinkingConfig) validate() error {
	switch {
	case t == nil:
		return nil
	case t.ThinkingBudget != nil && t.ThinkingLevel != "":
		return errors.New("ThinkingConfig has both ThinkingBudget and ThinkingLevel: set the first for Gemini 2.5, " +
			"the second for Gemini 3")
	case t.ThinkingBudget != nil && *t.ThinkingBudget < -1:
		return errors.New("ThinkingBudget must be -1, 0 or a number of tokens")
	case !slices.Contains(thinkingLevels, strings.ToUpper(t.ThinkingLevel)):
		return errors.New("ThinkingLevel must be MINIMAL, LOW, MEDIUM or HIGH")
	}
	return nil
}

// minProBudget is the least that Gemini 2.5 Pro thinks.
const minProBudget = 128

// thinking returns the setting, without what the model is known to refuse.
func (c *call) thinking() kit.Object {
	t := c.o.ThinkingConfig
	if t == nil {
		return nil
	}
	if err := t.validate(); err != nil {
		c.unsupported.Refuse("thinkingConfig", err.Error())
		return nil
	}
	g := kit.Object{{Key: "includeThoughts", Value: t.IncludeThoughts == nil || *t.IncludeThoughts}}
	if t.IncludeThoughts == nil && t.ThinkingBudget != nil && *t.ThinkingBudget == 0 {
		g = nil
	}
	kit.SetPtr(&g, "thinkingBudget", t.ThinkingBudget)
	g.SetText("thinkingLevel", strings.ToUpper(t.ThinkingLevel))
	v := versionOf(c.model)
	switch {
	case v.known && v.major >= 3:
		c.unsupported.Reject(&g, "thinkingBudget", c.model+" takes ThinkingLevel, not ThinkingBudget: set that")
	case v.known:
		c.unsupported.Reject(&g, "thinkingLevel", c.model+" takes ThinkingBudget, not ThinkingLevel: set that")
	}
	if b := t.ThinkingBudget; b != nil && *b >= 0 && *b < minProBudget && v.major == 2 && strings.Contains(c.model, "-pro") {
		c.unsupported.Reject(&g, "thinkingBudget", c.model+" thinks with at least 128 tokens: use that, or -1")
	}
	return g
}
