package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/openai"
)

// A responsesAnchor is how much of a conversation the server has already.
type responsesAnchor struct {
	// previous is the response that the request continues, "" for none.
	previous string
	// items is the number of items that are not sent.
	items int
}

// anchor returns how much of the conversation the server has. Without a setting that makes it keep conversations, that
// is what WithHeadPreviousResponseID says.
func (c *responsesCall) anchor(in []*schema.AgenticMessage, input *responsesInput) responsesAnchor {
	for i := len(in) - 1; i >= 0 && c.keeps(); i-- {
		m := in[i]
		if m.Role != schema.AgenticRoleTypeAssistant || c.engine.kinship(kit.OriginOf(m.Extra)) != kit.Own {
			continue
		}
		behind := input.starts[i+1]
		switch {
		case c.conf.Conversation != "" && kit.ExtraText(m.Extra, responsesConversationKey) == c.conf.Conversation:
			return responsesAnchor{items: behind}
		case c.conf.PreviousResponse && isResponsesPredecessor(m) &&
			kit.ExtraText(m.Extra, responsesHistoryKey) == responsesHistoryHash(input.items[:behind]):
			return responsesAnchor{previous: m.ResponseMeta.ID, items: behind}
		case c.conf.PreviousResponse:
			// An earlier answer would fit only if other code had inserted this one.
			continue
		}
	}
	return responsesAnchor{previous: c.head}
}

// isResponsesPredecessor reports whether an answer is one that a request can continue: only those are marked.
func isResponsesPredecessor(m *schema.AgenticMessage) bool {
	return m.ResponseMeta != nil && m.ResponseMeta.ID != "" && kit.ExtraText(m.Extra, responsesHistoryKey) != ""
}

// responsesHistoryHash returns a hash of the beginning of a conversation, as it would be sent. A conversation that was
// changed has another one, and must not continue a response that does not know the change.
func responsesHistoryHash(items []any) string {
	text, err := kit.Encode(items)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// markHistory notes the hash of the conversation with the answer in the last chunk of the answer. An incomplete answer
// has none, as no request can continue it.
func (c *responsesCall) markHistory(history []*schema.AgenticMessage, answer, last *schema.AgenticMessage) {
	if last.ResponseMeta.OpenAIExtension.Status != openai.ResponseStatusCompleted {
		return
	}
	input := c.newInput()
	if input.add(history) != nil || input.add([]*schema.AgenticMessage{answer}) != nil {
		return
	}
	kit.SetExtra(&last.Extra, responsesHistoryKey, responsesHistoryHash(input.items))
}

// isResponsesPreviousLost reports whether the server does not have the response that a request continues.
func isResponsesPreviousLost(err error) bool {
	var api *kit.APIError
	if !errors.As(err, &api) {
		return false
	}
	return api.Code == "previous_response_not_found" || api.Param == "previous_response_id" ||
		strings.Contains(strings.ToLower(api.Message), "previous response with id")
}
