package schema

import (
	"fmt"
	"io"

	"github.com/weftgo/weft/internal/concat"
)

func init() {
	concat.Register(ConcatMessages)
	concat.Register(ConcatMessageArray)
	concat.Register(ConcatAgenticMessages)
	concat.Register(ConcatAgenticMessagesArray)
	concat.Register(ConcatToolResults)
}

// ConcatMessages joins the chunks of a message. The result is always a new message, which shares nothing that can be
// written to with the chunks; no chunk is changed. Without chunks it is an empty message.
//
//   - Role, Name, ToolCallID and ToolName may be repeated or left out, but a second, different value is an error.
//   - Content and ReasoningContent are appended.
//   - Tool calls with equal Index become one: ID, type and name as above, arguments appended. Calls without an Index
//     are never joined and come first.
//   - Adjacent text, reasoning and base64 audio parts of the assistant become one if their StreamingMeta agrees, as
//     do adjacent text parts of the user. All other parts are kept as they are.
//   - Of the response metadata the last finish reason, the highest token counts and all log probabilities are taken.
//   - Extra is joined key by key: strings are appended, maps joined, of numbers and booleans the last is taken, nils
//     are ignored. A value of any other type may occur once, unless a concat function is registered for it (see
//     compose.RegisterStreamChunkConcatFunc).
//
// A nil chunk is an error. With an error the message is nil.
func ConcatMessages(msgs []*Message) (*Message, error) {
	var acc MessageAccumulator
	acc.reserve(msgs)
	for _, m := range msgs {
		if err := acc.Add(m); err != nil {
			return nil, err
		}
	}
	return acc.Message()
}

// reserve makes room for the texts of msgs at once.
func (a *MessageAccumulator) reserve(msgs []*Message) {
	content, contents := 0, 0
	reasoning, reasonings := 0, 0
	for _, m := range msgs {
		if m == nil {
			return
		}
		if n := len(m.Content); n > 0 {
			content, contents = content+n, contents+1
		}
		if n := len(m.ReasoningContent); n > 0 {
			reasoning, reasonings = reasoning+n, reasonings+1
		}
	}
	if contents > 1 {
		a.content.b.Grow(content)
	}
	if reasonings > 1 {
		a.reasoning.b.Grow(reasoning)
	}
}

// ConcatMessageArray joins lists of messages position by position. All lists must have one length. Nil entries say
// nothing: a position without messages stays nil, one with a single message keeps that very message, and others are
// joined by [ConcatMessages]. Without lists the result is nil.
func ConcatMessageArray(mas [][]*Message) ([]*Message, error) {
	return concatArrays(mas, ConcatMessages)
}

// ConcatAgenticMessagesArray joins lists of agentic messages position by position, as [ConcatMessageArray] does,
// by [ConcatAgenticMessages].
func ConcatAgenticMessagesArray(mas [][]*AgenticMessage) ([]*AgenticMessage, error) {
	return concatArrays(mas, ConcatAgenticMessages)
}

func concatArrays[M any](lists [][]*M, join func([]*M) (*M, error)) ([]*M, error) {
	if len(lists) == 0 {
		return nil, nil
	}
	for _, list := range lists {
		if len(list) != len(lists[0]) {
			return nil, fmt.Errorf("unexpected array length. Got %d, expected %d", len(list), len(lists[0]))
		}
	}
	joined := make([]*M, len(lists[0]))
	var chunks []*M
	for i := range joined {
		chunks = chunks[:0]
		for _, list := range lists {
			if list[i] != nil {
				chunks = append(chunks, list[i])
			}
		}
		var err error
		switch len(chunks) {
		case 0:
		case 1:
			joined[i] = chunks[0]
		default:
			joined[i], err = join(chunks)
		}
		if err != nil {
			return nil, err
		}
	}
	return joined, nil
}

// ConcatMessageStream reads the stream to its end, closes it, and returns what it read as one message, joined by the
// rules of [ConcatMessages]. An error of the stream is returned as it is. An empty stream gives an empty message.
// It blocks as long as the stream does.
func ConcatMessageStream(s *StreamReader[*Message]) (*Message, error) {
	defer s.Close()
	var acc MessageAccumulator
	for {
		chunk, err := s.Recv()
		if err == io.EOF {
			return acc.Message()
		}
		if err != nil {
			return nil, err
		}
		// An error of the stream itself, which may still come, says more than one of joining.
		_ = acc.Add(chunk)
	}
}
