package toolsearch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func described(nameAndDesc ...string) (infos []*schema.ToolInfo) {
	for i := 0; i < len(nameAndDesc); i += 2 {
		infos = append(infos, &schema.ToolInfo{Name: nameAndDesc[i], Desc: nameAndDesc[i+1]})
	}
	return infos
}

func named(infos []*schema.ToolInfo) (names []string) {
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names
}

// Rules batteries/TS-5, batteries/TS-6.
func TestSearch_SelectsByNameAndRanksByKeyword(t *testing.T) {
	x := newIndex(described(
		"slack_send_message", "Sends a message",
		"slackRead", "Reads a channel",
		"github__create_issue", "Opens an issue; can send mail",
		"mailSender", "Delivers mail",
		"slacker", "Does nothing",
		"b_same", "zzz", "a_same", "zzz", "c1", "num", "c2", "num", "c3", "num", "c4", "num", "c5", "num", "c6", "num",
	))
	for _, c := range []struct {
		query string
		most  int
		want  []string
	}{
		{"select:slackRead,slack_send_message", 1, []string{"slackRead", "slack_send_message"}},
		{"  select: slackRead , none,slackRead,", 0, []string{"slackRead"}},
		{"select:SLACKREAD", 0, nil},
		{"slack", 0, []string{"slackRead", "slack_send_message", "slacker"}},              // 10, 10, 5
		{"SEND", 0, []string{"slack_send_message", "mailSender", "github__create_issue"}}, // 10, 5, 2
		{"slack_send", 0, []string{"slack_send_message"}},                                 // 3
		{"slack send", 0, []string{"slack_send_message", "slackRead", "mailSender", "slacker", "github__create_issue"}},
		{"+slack send", 0, []string{"slack_send_message", "slackRead", "slacker"}},
		{"+slack +send", 0, []string{"slack_send_message"}},
		{"+none slack", 0, nil},
		{"slack +", 1, []string{"slackRead"}},
		{"+ +", 0, nil},
		{"same", 0, []string{"a_same", "b_same"}},
		{"num", 0, []string{"c1", "c2", "c3", "c4", "c5"}},
		{"num", -1, []string{"c1", "c2", "c3", "c4", "c5"}},
		{"num", 2, []string{"c1", "c2"}},
		{"num", 9, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
	} {
		require.Equal(t, c.want, named(x.search(c.query, c.most)), "%q, %d", c.query, c.most)
	}
}

// Rule batteries/TS-7.
func TestNameParts_SplitsWordsAndCamelCase(t *testing.T) {
	for name, want := range map[string][]string{
		"HTMLParser": {"HTML", "Parser"}, "getURL": {"get", "URL"}, "AB": {"AB"}, "a": {"a"}, "": nil, "__": nil,
		"mcp__github__createIssue_fast": {"mcp", "github", "create", "Issue", "fast"},
		"getHTTPResponseCode":           {"get", "HTTP", "Response", "Code"},
		"v2Api":                         {"v2Api"}, "ÄpfelÖl": {"Äpfel", "Öl"},
	} {
		require.Equal(t, want, nameParts(name), name)
	}
}

// Rules batteries/B13.22, batteries/TS-3, batteries/TS-4.
func TestTool_ResultsAndErrorsOfBothModes(t *testing.T) {
	x := newIndex(described("slack_send", "", "github", ""))
	byName := newSearchTool(x, false).(tool.InvokableTool)
	require.NotImplements(t, (*tool.EnhancedInvokableTool)(nil), byName)
	got, err := byName.InvokableRun(t.Context(), `{"query":"select:github,slack_send"}`)
	require.NoError(t, err)
	require.Equal(t, `{"matches":["github","slack_send"]}`, got)
	got, err = byName.InvokableRun(t.Context(), `{"query":"none","max_results":3}`)
	require.NoError(t, err)
	require.Equal(t, `{"matches":[]}`, got)

	byModel := newSearchTool(x, true).(tool.EnhancedInvokableTool)
	require.NotImplements(t, (*tool.InvokableTool)(nil), byModel)
	result, err := byModel.InvokableRun(t.Context(), &schema.ToolArgument{Text: `{"query":"github"}`})
	require.NoError(t, err)
	require.Equal(t, &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeToolSearchResult,
		ToolSearchResult: &schema.ToolSearchResult{Tools: []*schema.ToolInfo{x.entries[1].info}}}}}, result)
	_, err = byModel.InvokableRun(t.Context(), nil)
	require.EqualError(t, err, "query is required")

	for arguments, want := range map[string]string{`{`: "failed to unmarshal tool search arguments: ",
		`{}`: "query is required", `{"query":" "}`: "query is required"} {
		_, err = byName.InvokableRun(t.Context(), arguments)
		require.ErrorContains(t, err, want)
		_, err = byModel.InvokableRun(t.Context(), &schema.ToolArgument{Text: arguments})
		require.ErrorContains(t, err, want)
	}
	info, err := newSearchTool(x, false).Info(t.Context())
	require.NoError(t, err)
	s, err := info.ToJSONSchema()
	require.NoError(t, err)
	require.Equal(t, []string{"query"}, s.Required)
	require.Equal(t, description, info.Desc)
}

// Rule batteries/TS-12.
func TestInfo_Description(t *testing.T) {
	for language, wants := range map[adk.Language][]string{
		adk.LanguageEnglish: {"<available-deferred-tools>", "before you call it", "Two ways", "Both ways load",
			"do not select it again", `"select:read_file,edit_file"`,
			`"select:slack_send_message"`, "+slack send", "at most 5", "max_results", "Good:", "Bad:"},
		adk.LanguageChinese: {"<available-deferred-tools>", "之前，必须先", "两种", "都会加载", "不要再用 select",
			`"select:read_file,edit_file"`,
			`"select:slack_send_message"`, "+slack send", "最多 5", "max_results", "正确示例", "错误示例"},
	} {
		require.NoError(t, adk.SetLanguage(language))
		t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
		info, err := newSearchTool(newIndex(nil), false).Info(t.Context())
		require.NoError(t, err)
		for _, want := range wants {
			require.Contains(t, info.Desc, want)
		}
	}
}
