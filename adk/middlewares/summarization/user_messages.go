package summarization

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const (
	userMessagesOpen  = "<all_user_messages>"
	userMessagesClose = "</all_user_messages>"

	// userMessagesTokens is the number of tokens that the user's messages may take together.
	userMessagesTokens = 30000
	// shortenedRunes is the most that is left of the first message that does not fit.
	shortenedRunes = 2000
)

// injectedKeys mark user messages that other middlewares made: they are no words of the user.
var injectedKeys = []string{"__agentsmd_content__", "__toolsearch_reminder__"}

// withUserMessages puts the user's messages into the block that a summary has for them, in the place of what the model
// wrote there. A summary without the block stays as it is.
func withUserMessages[M adk.MessageType](summary string, messages []M) string {
	end := strings.LastIndex(summary, userMessagesClose)
	if end < 0 {
		return summary
	}
	start := strings.LastIndex(summary[:end], userMessagesOpen)
	if start < 0 {
		return summary
	}
	texts, dropped := userTexts(messages)
	if len(texts) == 0 {
		return summary
	}
	var b strings.Builder
	b.WriteString(summary[:start])
	b.WriteString(userMessagesOpen + "\n")
	if dropped {
		b.WriteString(language.Select(someDropped, someDroppedChinese) + "\n")
	}
	for _, text := range texts {
		b.WriteString("    - ")
		b.WriteString(strings.ReplaceAll(text, userMessagesClose, "&lt;"+userMessagesClose[1:])) // it must not end the block
		b.WriteString("\n")
	}
	b.WriteString(summary[end:])
	return b.String()
}

// userTexts are the texts of the user's messages, the oldest first, as many of the newest as there is room for.
func userTexts[M adk.MessageType](messages []M) (texts []string, dropped bool) {
	var all []string
	for _, m := range messages {
		if text := message.Text(m); text != "" && isUsers(m) {
			all = append(all, text)
		}
	}
	if len(all) <= 1 {
		return all, false
	}
	room := userMessagesTokens
	for _, text := range slices.Backward(all) {
		if tokens := len(text) / bytesPerToken; tokens <= room {
			room -= tokens
			texts = append(texts, text)
			continue
		}
		dropped = true
		if room > 0 {
			texts = append(texts, shortened(text, room))
		}
		break
	}
	slices.Reverse(texts)
	return texts, dropped && len(texts) < len(all)
}

// isUsers reports whether a message is from the user.
func isUsers[M adk.MessageType](m M) bool {
	kind := message.KindOf(m)
	// An agentic message may have the user's words as well as results. A tool message has none.
	if _, agentic := any(m).(*schema.AgenticMessage); kind == message.Result && agentic {
		kind = message.User
	}
	if kind != message.User || contentType(m) != "" {
		return false
	}
	extra := message.Extra(m)
	return !slices.ContainsFunc(injectedKeys, func(key string) bool { _, ok := extra[key]; return ok })
}

// shortened is the beginning and the end of a text, in so many tokens.
func shortened(text string, tokens int) string {
	runes := []rune(text)
	half := min(shortenedRunes, tokens*bytesPerToken*len(runes)/len(text)) / 2
	if 2*half >= len(runes) {
		return text
	}
	marker := fmt.Sprintf(language.Select(cutMarker, cutMarkerChinese), len(runes)-2*half)
	return string(runes[:half]) + marker + string(runes[len(runes)-half:])
}
