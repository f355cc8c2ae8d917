package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/weftgo/weft/ext/model/kit"
)

const pauseTurn = "pause_turn"

// mayPause reports whether the server may pause the answer, as it does when its own tools take long: then the blocks of
// the answer are kept.
func (c *call) mayPause() bool {
	return len(c.o.ServerTools) > 0 || len(c.o.ExtraFields) > 0 || c.o.Modifies()
}

// canContinue reports whether the answer was paused and is to be continued.
func (r *reader) canContinue() bool {
	limit := defaultMaxPauses
	if r.call.o.MaxPauses != nil {
		limit = *r.call.o.MaxPauses
	}
	return r.end.StopReason == pauseTurn && r.pauses < limit && len(r.sent) > 0
}

// resume sends the answer back as it is so far, for the server to continue it.
func (r *reader) resume() error {
	r.pauses++
	r.total = kit.AddUsage(r.total, r.usage.tokens())
	r.raws += kit.RawUsage(r.usage.raw())
	body := append(kit.Object{}, r.call.body...)
	body.Set("messages", append(r.call.turns[:len(r.call.turns):len(r.call.turns)], kit.Object{
		{Key: "role", Value: roleAssistant}, {Key: "content", Value: sendable(r.sent)},
	}))
	var container struct{ ID string }
	if json.Unmarshal(r.end.Container, &container) == nil && container.ID != "" {
		body.Set("container", container.ID)
	}
	r.Response().Finish()
	resp, err := r.call.post(r.ctx, body, r.call.stream, false)
	if err != nil {
		return fmt.Errorf("continue the answer after pause %d: %w", r.pauses, err)
	}
	r.read(resp)
	return nil
}

// sendable leaves out texts without content, which the API sends but does not take.
func sendable(blocks []json.RawMessage) []any {
	list := make([]any, 0, len(blocks))
	for _, raw := range blocks {
		var b struct {
			Type string
			Text string
		}
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" && isBlank(b.Text) {
			continue
		}
		list = append(list, raw)
	}
	return list
}
