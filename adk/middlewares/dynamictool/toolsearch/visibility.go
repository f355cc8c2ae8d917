package toolsearch

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/schema"
)

// reminderKey marks the message with the names of the dynamic tools.
const reminderKey = "__toolsearch_reminder__"

func reminderText(infos []*schema.ToolInfo) string {
	var b strings.Builder
	b.WriteString("<available-deferred-tools>\n")
	for _, info := range infos {
		b.WriteString(info.Name + "\n")
	}
	b.WriteString("</available-deferred-tools>")
	return b.String()
}

// remind puts the names of the dynamic tools behind the system messages, if they are not in the history.
func (m *middleware[M]) remind(state *adk.TypedChatModelAgentState[M]) {
	if reminded(state.Messages) {
		return
	}
	at := slices.IndexFunc(state.Messages, func(msg M) bool { return message.KindOf(msg) != message.System })
	if at < 0 {
		at = len(state.Messages)
	}
	reminder := message.WithExtra(message.NewUser[M](m.reminder), reminderKey, true)
	state.Messages = slices.Concat(state.Messages[:at], []M{reminder}, state.Messages[at:])
}

func reminded[M adk.MessageType](history []M) bool {
	return slices.ContainsFunc(history, isReminder[M])
}

func isReminder[M adk.MessageType](m M) bool {
	_, ok := message.Extra(m)[reminderKey]
	return ok
}

// without leaves the dynamic tools out of a list, and tool_search as well if so asked.
func (x *index) without(infos []*schema.ToolInfo, searchToo bool) []*schema.ToolInfo {
	kept := make([]*schema.ToolInfo, 0, len(infos))
	for _, info := range infos {
		if info == nil || x.isDynamic(info.Name) || searchToo && info.Name == toolName {
			continue
		}
		kept = append(kept, info)
	}
	return kept
}

// defers moves the dynamic tools from the offered tools to the deferred ones.
func (x *index) defers(offered, deferred *[]*schema.ToolInfo) {
	moved := slices.Clone(*deferred)
	for _, info := range *offered {
		if info != nil && x.isDynamic(info.Name) && !has(moved, info.Name) {
			moved = append(moved, info)
		}
	}
	*offered, *deferred = x.without(*offered, true), moved
}

func has(infos []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(infos, func(info *schema.ToolInfo) bool { return info != nil && info.Name == name })
}

// missing are the dynamic tools that were selected and that the model is not offered yet.
func (m *middleware[M]) missing(
	ctx context.Context, state *adk.TypedChatModelAgentState[M],
) (infos []*schema.ToolInfo) {
	selected, ok := ctx.Value(selectionKey[M]{m}).(*selection[M])
	if !ok { // outside a run
		selected = newSelection[M](m.index)
	}
	for _, info := range selected.after(state.Messages) {
		if !has(state.ToolInfos, info.Name) {
			infos = append(infos, info)
		}
	}
	return infos
}

// selectionKey is the place where the context of a run has the selection of one middleware.
type selectionKey[M adk.MessageType] struct{ *middleware[M] }

// A selection is the dynamic tools that a history selects, and how far the history was looked through.
type selection[M adk.MessageType] struct {
	index *index

	mu    sync.Mutex
	tools []*schema.ToolInfo
	// seen is the number of messages that were looked through, last the last of them: histories grow at their end, and one
	// that has another message there was rewritten.
	seen int
	last M
}

func newSelection[M adk.MessageType](x *index) *selection[M] { return &selection[M]{index: x} }

// after returns the tools that a history selects: those that searches found, and those that were called, as the
// searches may have been summarized away. What was selected once in a run stays.
func (s *selection[M]) after(history []M) []*schema.ToolInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen > len(history) || s.seen > 0 && history[s.seen-1] != s.last {
		s.seen = 0
	}
	var room [8]message.Call // for the usual number of them, without an allocation
	for _, m := range history[s.seen:] {
		for _, c := range message.AppendCalls(room[:0], m) {
			s.add(c.Name)
		}
		for _, r := range message.AppendResults(room[:0], m) {
			if r.Name == toolName {
				text, _ := message.ResultText(m, r.ID)
				s.addMatches(text)
			}
		}
	}
	if s.seen = len(history); s.seen > 0 {
		s.last = history[s.seen-1]
	}
	return s.tools
}

func (s *selection[M]) addMatches(result string) {
	var found matches
	if json.UnmarshalString(result, &found) != nil {
		return // whatever it is, it selects nothing
	}
	for _, name := range found.Matches {
		s.add(name)
	}
}

func (s *selection[M]) add(name string) {
	if e := s.index.byName[name]; e != nil && !slices.Contains(s.tools, e.info) {
		s.tools = append(s.tools, e.info)
	}
}
