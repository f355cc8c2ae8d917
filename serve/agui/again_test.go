package agui

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
)

// deltas is the text that the frames of an answer have.
func deltas(frames string) (text string) {
	for _, piece := range regexp.MustCompile(`"delta":"([^"]*)"`).FindAllStringSubmatch(frames, -1) {
		text += piece[1]
	}
	return text
}

// TestHandler_AnswersAgainWhatThePageLeftOut: a page that ends with a known question has it answered again, and one that has
// left messages out asks in their place. The same request again is answered with the same run.
// Rule serving/AG12.
func TestHandler_AnswersAgainWhatThePageLeftOut(t *testing.T) {
	post, _ := pageOf(t, Config{}, adk.ChatModelAgentConfig{}, adktest.Says("1."), adktest.Says("2."),
		adktest.Says("2!").Seeing("user: 1?", "assistant: 1.", "user: 2?"),
		adktest.Says("Two.").Seeing("user: 1?", "assistant: 1.", "user: two?"),
		adktest.Says("1!").Seeing("user: 1?"),
		adktest.Says("3.").Seeing("user: 1?", "assistant: 1!", "user: 3?"))
	runs := 0
	ask := func(run string, messages ...string) string {
		if run == "" {
			runs++
			run = fmt.Sprint("r", runs)
		}
		all := ""
		for i, m := range messages {
			role, id := "user", "u-"+m
			if i%2 == 1 {
				role, id = "assistant", fmt.Sprint("a", i)
			}
			if i > 0 {
				all += ","
			}
			all += fmt.Sprintf(`{"id":%q,"role":%q,"content":%q}`, id, role, m)
		}
		return deltas(post(200, `{"threadId":"t","runId":"`+run+`","messages":[`+all+`]}`))
	}
	require.Equal(t, "1.", ask("", "1?"))
	require.Equal(t, "2.", ask("", "1?", "1.", "2?"))
	require.Equal(t, "2.", ask("r2", "1?", "1.", "2?"), "the same request again is the same run")
	require.Equal(t, "2!", ask("", "1?", "1.", "2?"), "a question that the thread has is answered again")
	require.Equal(t, "Two.", ask("", "1?", "1.", "two?"), "another question in the place of one that the page left out")
	require.Equal(t, "1!", ask("", "1?"))
	require.Equal(t, "3.", ask("", "1?", "1!", "3?"))
}
