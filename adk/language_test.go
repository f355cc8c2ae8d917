package adk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// speak sets the language for a test.
func speak(t *testing.T, lang Language) {
	t.Helper()
	require.NoError(t, SetLanguage(lang))
	t.Cleanup(func() { _ = SetLanguage(LanguageEnglish) })
}

// TestLanguage_PromptsExistInBoth: each built-in prompt of an agent exists in both languages, and is made in the one
// that is set then: the instruction at the first run, the description of the tool whenever it is asked for.
// Rules agent/LG-1, agent/LG-2.
func TestLanguage_PromptsExistInBoth(t *testing.T) {
	require.EqualError(t, SetLanguage(7), "invalid language: 7")
	for _, prompt := range []string{TransferToAgentInstruction, TransferToAgentInstructionChinese, agentLine,
		agentLineChinese} {
		require.Equal(t, 2, strings.Count(prompt, "%s"))
	}
	team := func() (Agent, *recalling) {
		m := recall(chatAnswer("done"))
		a, err := SetSubAgents(t.Context(), newOrdinary(t, "boss", m),
			[]Agent{newOrdinary(t, "helper", recall(chatAnswer("helped")))})
		require.NoError(t, err)
		return a, m
	}
	instruction := func(a Agent, m *recalling) string {
		read(t, ask(t.Context(), a, false))
		return m.seen[len(m.seen)-1][0].Content
	}
	describe := func() string {
		info, err := (&transferTool[Message]{}).Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, "transfer_to_agent", info.Name)
		return info.Desc
	}
	for _, c := range []struct {
		lang                      Language
		instruction, tool, result string
		line                      string
	}{
		{LanguageEnglish, TransferToAgentInstruction, TransferToAgentToolDesc, "successfully transferred to agent [x]",
			agentLine},
		{LanguageChinese, TransferToAgentInstructionChinese, TransferToAgentToolDescChinese, "成功移交任务至 agent [x]",
			agentLineChinese},
	} {
		speak(t, c.lang)
		a, m := team()
		want := fmt.Sprintf(c.instruction, fmt.Sprintf(c.line, "helper", "does helper"), TransferToAgentToolName)
		require.Equal(t, want, instruction(a, m))
		require.Equal(t, c.tool, describe())
		require.Equal(t, c.result, transferResult("x"))
		speak(t, LanguageChinese-c.lang)
		require.Equal(t, want, instruction(a, m), "the instruction is made once")
		require.NotEqual(t, c.tool, describe())
	}
	require.True(t, strings.HasPrefix(agentLine, "\n") && strings.HasPrefix(agentLineChinese, "\n"),
		"the list starts with a newline")
}
