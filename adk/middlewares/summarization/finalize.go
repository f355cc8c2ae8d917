package summarization

import (
	"context"
	"errors"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/language"
)

const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
)

// DefaultFinalize is used by the middleware without a Finalize, but for the hint to a transcript: it returns the
// leading system messages and a user message that holds the summary, with the user's own messages put back into it.
func DefaultFinalize[M adk.MessageType](ctx context.Context, originalMessages []M, summary M) ([]M, error) {
	return finalize(ctx, originalMessages, summary, nil, "")
}

// finalize makes the new history: the system messages, extra ones, the summary.
func finalize[M adk.MessageType](
	_ context.Context, original []M, summary M, extra []M, transcript string,
) ([]M, error) {
	system, rest := splitSystem(original)
	text, err := summaryText(summary, rest, transcript)
	if err != nil {
		return nil, err
	}
	messages := make([]M, 0, len(system)+len(extra)+1)
	messages = append(append(messages, system...), extra...)
	return append(messages, message.WithExtra(message.NewUser[M](text), contentTypeKey, contentTypeSummary)), nil
}

// summaryText returns what the model reads of a summary.
func summaryText[M adk.MessageType](summary M, context []M, transcript string) (string, error) {
	content := ""
	if message.KindOf(summary) == message.Assistant {
		content = message.Text(summary)
	}
	if strings.TrimSpace(content) == "" {
		return "", errors.New("summary content is empty")
	}
	sections := []string{language.Select(preamble, preambleChinese), withUserMessages(withoutAnalysis(content), context)}
	if transcript != "" {
		sections = append(sections, strings.ReplaceAll(language.Select(transcriptHint, transcriptHintChinese), "%s",
			transcript))
	}
	sections = append(sections, language.Select(continueText, continueTextChinese))
	return strings.Join(sections, "\n\n"), nil
}

// withoutAnalysis drops what the model wrote to collect its thoughts. A text that is nothing else stays.
func withoutAnalysis(text string) string {
	open := strings.Index(text, analysisOpen)
	if open < 0 {
		return text
	}
	before := len(text) // analysis ends before the summary, which may quote its tags
	if s := strings.Index(text[open:], analysisClose); s < 0 {
		return text
	}
	if s := strings.LastIndex(text, summaryOpen); s > open {
		before = s
	}
	closing := strings.LastIndex(text[:before], analysisClose)
	if closing < open {
		return text
	}
	rest := strings.TrimSpace(text[:open] + text[closing+len(analysisClose):])
	if rest == "" {
		return text
	}
	return rest
}
