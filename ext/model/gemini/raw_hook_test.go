package gemini_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Rule providers/K52.
func TestRawHook_SeesDocuments(t *testing.T) {
	body := `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"responseId":"r","createTime":"now"}`
	for _, answer := range []string{body, "data: " + body + "\n\n"} {
		conf, _ := fake(t, answer)
		var seen []string
		conf.RawHook = func(_ context.Context, a kit.RawAnswer) error {
			seen = append(seen, string(a.JSON))
			return nil
		}
		_, err := chat(t, conf).Generate(t.Context(), []*schema.Message{schema.UserMessage("q")})
		require.NoError(t, err)
		require.Equal(t, []string{body}, seen)
	}
}
