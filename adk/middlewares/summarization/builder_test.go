package summarization_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/summarization"
	"github.com/weftgo/weft/schema"
)

// Rule batteries/SU-14.
func TestBuilder_RefusesInvalidConfigs(t *testing.T) {
	_, err := summarization.NewFinalizer().Build()
	require.EqualError(t, err, "at least one handler is required")
	_, err = summarization.NewFinalizer().PreserveSkills(nil).Build()
	require.EqualError(t, err, "failed to build finalizer:\nPreserveSkills: PreserveSkillsConfig is required")
	minus := -1
	for want, c := range map[string]*summarization.PreserveSkillsConfig{
		"MaxSkills must be non-negative":         {MaxSkills: &minus},
		"MaxTokensPerSkill must be non-negative": {MaxTokensPerSkill: &minus},
		"SkillsTokenBudget must be non-negative": {SkillsTokenBudget: &minus},
	} {
		f, err := summarization.NewFinalizer().PreserveSkills(c).Build()
		require.EqualError(t, err, "failed to build finalizer:\nPreserveSkills: "+want)
		require.Nil(t, f)
	}
}

// loads is a call of the skill tool and its result.
func loads[M adk.MessageType](id, name, content string) []M {
	call := schema.ToolCall{ID: id,
		Function: schema.FunctionCall{Name: "skill", Arguments: fmt.Sprintf("{%q:%q}", "skill", name)}}
	return []M{messagetest.Assistant[M]("", call), messagetest.Result[M](id, content)}
}

// Rules batteries/B13.10, batteries/SU-15.
func TestPreserveSkills_KeepsTheLatestWithinTheBudget(t *testing.T) {
	messagetest.Both(t, testPreserveSkills[*schema.Message], testPreserveSkills[*schema.AgenticMessage])
}

func testPreserveSkills[M adk.MessageType](t *testing.T) {
	preserve := func(c summarization.PreserveSkillsConfig, messages ...M) []M {
		t.Helper()
		f, err := summarization.NewTypedFinalizer[M]().PreserveSkills(&c).Build()
		require.NoError(t, err)
		got, err := f(t.Context(), append([]M{messagetest.System[M]("s")}, messages...), messagetest.Assistant[M]("sum"))
		require.NoError(t, err)
		require.Equal(t, "system: s", adktest.Line(got[0]))
		require.Contains(t, adktest.Line(got[len(got)-1]), "sum")
		return got
	}
	var history []M
	for i, name := range []string{"a", "b", "a", "c"} {
		history = append(history, loads[M](fmt.Sprint("id", i), name, fmt.Sprint("content ", i))...)
	}
	history = append(history, messagetest.Calling[M]("other"), messagetest.Result[M]("other", "no skill"))

	got := preserve(summarization.PreserveSkillsConfig{}, history...)
	require.Len(t, got, 3)
	text := adktest.Line(got[1])
	require.Regexp(t, `(?s)^user: <system-reminder>.*b\n\ncontent 1.*a\n\ncontent 2.*c\n\ncontent 3.*</system-reminder>$`,
		text)
	require.NotContains(t, text, "content 0")

	again := preserve(summarization.PreserveSkillsConfig{},
		append([]M{got[1], got[2]}, loads[M]("id", "b", "newer")...)...)
	require.Regexp(t, `(?s)a\n\ncontent 2.*c\n\ncontent 3.*b\n\nnewer`, adktest.Line(again[1]),
		"what was preserved is carried over")

	none, one, two := 0, 1, 2
	require.Len(t, preserve(summarization.PreserveSkillsConfig{MaxSkills: &none}, history...), 2)
	require.Len(t, preserve(summarization.PreserveSkillsConfig{SkillToolName: "unknown"}, history...), 2)
	text = adktest.Line(preserve(summarization.PreserveSkillsConfig{MaxSkills: &one}, history...)[1])
	require.Contains(t, text, "content 3")
	require.NotContains(t, text, "content 2")
	text = adktest.Line(preserve(summarization.PreserveSkillsConfig{SkillsTokenBudget: &two}, history...)[1])
	require.Contains(t, text, "content 3")
	require.NotContains(t, text, "content 2")

	limit := 30
	text = adktest.Line(preserve(summarization.PreserveSkillsConfig{MaxTokensPerSkill: &limit},
		loads[M]("id", "x", strings.Repeat("中", 100))...)[1])
	require.Contains(t, text, "中\n\n[... skill content truncated for compaction")
	require.NotContains(t, text, "�")
	text = adktest.Line(preserve(summarization.PreserveSkillsConfig{MaxTokensPerSkill: &one},
		loads[M]("id", "x", "long enough")...)[1])
	require.Contains(t, text, "x\n\n\n\n[... skill content truncated")
}

func TestPreserveSkills_BadArguments(t *testing.T) {
	f, err := summarization.NewFinalizer().PreserveSkills(&summarization.PreserveSkillsConfig{}).Build()
	require.NoError(t, err)
	bad := schema.AssistantMessage("",
		[]schema.ToolCall{{ID: "id", Function: schema.FunctionCall{Name: "skill", Arguments: "{"}}})
	_, err = f(t.Context(), []*schema.Message{bad}, schema.AssistantMessage("s", nil))
	require.ErrorContains(t, err, "failed to parse skill arguments from tool call id: ")
}

func TestPreserveSkills_InASummary(t *testing.T) {
	f, err := summarization.NewFinalizer().PreserveSkills(&summarization.PreserveSkillsConfig{}).Build()
	require.NoError(t, err)
	m := made(t, &summarization.Config{Model: adktest.NewModel(t, adktest.Says("sum")), Finalize: f})
	got, err := m.Summarize(t.Context(),
		state(append(loads[*schema.Message]("id", "x", "how to"), schema.UserMessage("go on"))...))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Contains(t, got[0].Content, "how to")
	require.Equal(t, "skills", got[0].Extra["_eino_summarization_content_type"])
}
