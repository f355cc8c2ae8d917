package summarization

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/language"
)

const (
	leftOut        = "(Messages between the earlier summary, if there is one, and the next message were left out: there are too many of them.)"
	leftOutChinese = "（较早的摘要（如有）与下一条消息之间的消息过多，已省略。）"
)

// newest is as much of a history as fits into so many tokens: what earlier summaries left, and the newest messages. No
// result of a tool is torn from its call. The newest message is there even if it does not fit.
func newest[M adk.MessageType](messages []M, most int) []M {
	total := 0
	for _, m := range messages {
		total += estimate(m)
	}
	if total <= most {
		return messages
	}
	var kept, others []M
	for _, m := range messages {
		if contentType(m) == "" {
			others = append(others, m)
			continue
		}
		kept = append(kept, m)
		most -= estimate(m)
	}
	kept = append(kept, message.NewUser[M](language.Select(leftOut, leftOutChinese)))
	return append(kept, others[firstThatFits(others, most):]...)
}

// firstThatFits is the place where the messages begin that fit.
func firstThatFits[M adk.MessageType](messages []M, most int) int {
	from := len(messages)
	for from > 0 {
		if most -= estimate(messages[from-1]); most < 0 && from < len(messages) {
			break
		}
		from--
	}
	isResult := func(i int) bool { return message.KindOf(messages[i]) == message.Result }
	behind := from
	for behind < len(messages) && isResult(behind) { // their call does not fit
		behind++
	}
	if behind < len(messages) {
		return behind
	}
	for from > 0 && from < len(messages) && isResult(from) { // nothing else is left, so it has to
		from--
	}
	return from
}
