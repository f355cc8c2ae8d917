package summarization

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/language"
)

const (
	// skillsKey is the place where a message with preserved skills has them for the next summarization, as JSON.
	skillsKey = "_summarization_skills"

	defaultSkillToolName     = "skill"
	defaultMaxSkills         = 5
	defaultMaxTokensPerSkill = 5000
	defaultSkillsTokenBudget = 25000
)

// PreserveSkillsConfig says how much of the loaded skills is kept.
type PreserveSkillsConfig struct {
	// SkillToolName is the tool that loads skills. Default: skill.
	SkillToolName string
	// MaxSkills is the number of most recently loaded skills that are kept. Default 5; 0 keeps none.
	MaxSkills *int
	// MaxTokensPerSkill is from which size on a skill is cut. Default 5000.
	MaxTokensPerSkill *int
	// SkillsTokenBudget limits the tokens of all together. Default 25000.
	SkillsTokenBudget *int
}

// skillLimits is a configuration with its defaults.
type skillLimits struct {
	tool                       string
	skills, perSkill, together int
}

func (c *PreserveSkillsConfig) withDefaults() (*skillLimits, error) {
	if c == nil {
		return nil, errors.New("PreserveSkillsConfig is required")
	}
	l := &skillLimits{
		tool:     c.SkillToolName,
		skills:   orElse(c.MaxSkills, defaultMaxSkills),
		perSkill: orElse(c.MaxTokensPerSkill, defaultMaxTokensPerSkill),
		together: orElse(c.SkillsTokenBudget, defaultSkillsTokenBudget),
	}
	switch {
	case l.skills < 0:
		return nil, errors.New("MaxSkills must be non-negative")
	case l.perSkill < 0:
		return nil, errors.New("MaxTokensPerSkill must be non-negative")
	case l.together < 0:
		return nil, errors.New("SkillsTokenBudget must be non-negative")
	}
	if l.tool == "" {
		l.tool = defaultSkillToolName
	}
	return l, nil
}

// loadedSkill is the text of a skill that was loaded.
type loadedSkill struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// preservedSkills makes the message with the skills that were loaded, none if there are none.
func preservedSkills[M adk.MessageType](ctx context.Context, limits *skillLimits, original []M) ([]M, error) {
	if limits.skills == 0 {
		return nil, nil
	}
	messages, _ := ctx.Value(modelInputKey{}).([]M)
	if messages == nil {
		messages = original
	}
	skills, err := loadedSkills(messages, limits.tool)
	if err != nil {
		return nil, err
	}
	if skills = limits.apply(skills); len(skills) == 0 {
		return nil, nil
	}
	carried, err := json.MarshalString(skills)
	if err != nil {
		return nil, err
	}
	m := message.WithExtra(message.NewUser[M](skillsText(skills)), contentTypeKey, contentTypeSkills)
	return []M{message.WithExtra(m, skillsKey, carried)}, nil
}

// loadedSkills finds the skills of a history, the one that was loaded last at the end.
func loadedSkills[M adk.MessageType](messages []M, tool string) ([]loadedSkill, error) {
	var skills []loadedSkill
	load := func(s loadedSkill) {
		skills = slices.DeleteFunc(skills, func(old loadedSkill) bool { return old.Name == s.Name })
		skills = append(skills, s)
	}
	loading := map[string]string{} // names by the IDs of calls
	for _, m := range messages {
		if earlier, ok := message.Extra(m)[skillsKey].(string); ok {
			var carried []loadedSkill
			if err := json.UnmarshalString(earlier, &carried); err == nil {
				for _, s := range carried {
					load(s)
				}
			}
		}
		for _, call := range message.Calls(m) {
			if call.Name != tool {
				continue
			}
			var arguments struct {
				Skill string `json:"skill"`
			}
			if err := json.UnmarshalString(call.Arguments, &arguments); err != nil {
				return nil, fmt.Errorf("failed to parse skill arguments from tool call %s: %w", call.ID, err)
			}
			loading[call.ID] = arguments.Skill
		}
		for _, result := range message.Results(m) {
			name, ok := loading[result.ID]
			if !ok {
				continue
			}
			delete(loading, result.ID)
			if text, ok := message.ResultText(m, result.ID); ok {
				load(loadedSkill{Name: name, Content: text})
			}
		}
	}
	return skills, nil
}

// apply leaves out what is too much, the oldest first.
func (l *skillLimits) apply(skills []loadedSkill) []loadedSkill {
	skills = skills[max(len(skills)-l.skills, 0):]
	kept := make([]loadedSkill, 0, len(skills))
	room := l.together
	for _, s := range slices.Backward(skills) {
		s.Content = cutSkill(s.Content, l.perSkill)
		if room -= len(s.Content) / bytesPerToken; room < 0 {
			break
		}
		kept = append(kept, s)
	}
	slices.Reverse(kept)
	return kept
}

// cutSkill is the beginning of a skill, in so many tokens.
func cutSkill(content string, tokens int) string {
	most := tokens * bytesPerToken
	marker := language.Select(skillCut, skillCutChinese)
	if len(content) <= most || strings.HasSuffix(content, marker) && len(content) <= most+len(marker) {
		return content
	}
	at := max(most-len(marker), 0)
	for at > 0 && !utf8.RuneStart(content[at]) {
		at--
	}
	return content[:at] + marker
}

func skillsText(skills []loadedSkill) string {
	var b strings.Builder
	b.WriteString("<system-reminder>\n" + language.Select(skillsIntro, skillsIntroChinese) + "\n")
	for _, s := range skills {
		fmt.Fprintf(&b, language.Select(skillSection, skillSectionChinese), s.Name, s.Content)
	}
	b.WriteString("</system-reminder>")
	return b.String()
}
