package summarization_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/summarization"
	"github.com/weftgo/weft/schema"
)

// TestInput_Bounded: what the model gets fits into its window, however long the history has become.
func TestInput_Bounded(t *testing.T) {
	messagetest.Both(t, testInputBounded[*schema.Message], testInputBounded[*schema.AgenticMessage])
}

func testInputBounded[M adk.MessageType](t *testing.T) {
	text := func(letter string) string { return strings.Repeat(letter, 400) } // 100 tokens
	user, result, calling := messagetest.User[M], messagetest.Result[M], messagetest.Calling[M]
	summary := message.WithExtra(user(text("s")), "_eino_summarization_content_type", "summary")
	for name, c := range map[string]struct {
		most    int
		history []M
		want    string // how the messages between the instructions begin
	}{
		"fits":      {200, []M{user(text("a")), user(text("b"))}, "user: a|user: b"},
		"unbounded": {0, []M{user(text("a")), user(text("b"))}, "user: a|user: b"},
		"newest": {250, []M{user(text("a")), user(text("b")), user(text("c"))},
			"user: (|user: b|user: c"},
		"the last does not fit": {50, []M{user(text("a")), user(text("b"))}, "user: (|user: b"},
		"a result without its call": {250,
			[]M{messagetest.Assistant[M](text("x"), messagetest.Call("i")), result("i", text("r")), user(text("c"))},
			"user: (|user: c"},
		"a round": {205, []M{user(text("a")), calling("i"), result("i", text("r")), user(text("c"))},
			"user: (|assista|tool t#|user: c"},
		"nothing but a result": {50, []M{user(text("a")), calling("i"), result("i", text("r"))},
			"user: (|assista|tool t#"},
		"an earlier summary is kept": {250, []M{summary, user(text("a")), user(text("c"))}, "user: s|user: (|user: c"},
	} {
		t.Run(name, func(t *testing.T) {
			m := adktest.NewTypedModel[M](t, adktest.Says("the summary"))
			_, err := made(t, &summarization.TypedConfig[M]{Model: m, MaxInputTokens: c.most}).Summarize(t.Context(),
				state(c.history...))
			require.NoError(t, err)
			lines := adktest.Lines(m.Calls()[0].Messages)
			var got []string
			for _, line := range lines[1 : len(lines)-1] {
				got = append(got, line[:7])
			}
			require.Equal(t, c.want, strings.Join(got, "|"))
		})
	}
}
