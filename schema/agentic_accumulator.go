package schema

import (
	"fmt"

	"github.com/weftgo/weft/internal/concat"
)

// An AgenticMessageAccumulator joins the chunks of a streamed agentic message while they come, as a
// [MessageAccumulator] does for a [Message]. [ConcatAgenticMessages] is the same for chunks that are there already; the
// rules are documented there. The zero value is ready for use. An accumulator must not be copied after the first Add,
// and is not safe for concurrent use.
type AgenticMessageAccumulator struct {
	chunks int
	first  *AgenticMessage // while it is the only chunk: it is the result as it is
	err    error           // of the first chunk that could not be joined

	role   AgenticRoleType
	blocks blockListJoin
	meta   *agenticMetaJoin
	extra  concat.Map
}

// Add joins one more chunk, which is not changed. A chunk that cannot belong to the same message (nil, with another
// role, or with finished blocks among streamed ones) is an error, which Message will return, too. What can only be
// seen in all chunks, such as conflicting blocks or extras, is reported by Message.
func (a *AgenticMessageAccumulator) Add(chunk *AgenticMessage) error {
	if a.err != nil {
		return a.err
	}
	if chunk == nil {
		a.err = fmt.Errorf("message at index %d is nil", a.chunks)
		return a.err
	}
	a.chunks++
	if a.chunks == 1 {
		a.first = chunk
		return nil
	}
	if a.chunks == 2 {
		a.err = a.join(a.first)
		a.first = nil
	}
	if a.err == nil {
		a.err = a.join(chunk)
	}
	return a.err
}

func (a *AgenticMessageAccumulator) join(chunk *AgenticMessage) error {
	if !single(&a.role, chunk.Role) {
		return fmt.Errorf("cannot concat messages with different roles: got '%s' and '%s'", a.role, chunk.Role)
	}
	if err := a.blocks.add(chunk.ContentBlocks); err != nil {
		return err
	}
	if chunk.ResponseMeta != nil {
		if a.meta == nil {
			a.meta = &agenticMetaJoin{}
		}
		a.meta.add(chunk.ResponseMeta)
	}
	a.extra.Add(chunk.Extra)
	return nil
}

// Message returns the message as far as it has come: an empty one before the first chunk, and after it that very
// chunk. From the second chunk on the result is a new message, and more chunks may be added afterwards.
//
// If the chunks contradict each other the message is nil.
func (a *AgenticMessageAccumulator) Message() (*AgenticMessage, error) {
	if a.err != nil {
		return nil, a.err
	}
	if a.first != nil {
		return a.first, nil
	}
	m := &AgenticMessage{Role: a.role}
	var err error
	if m.ContentBlocks, err = a.blocks.result(); err != nil {
		return nil, err
	}
	if m.ResponseMeta, err = a.meta.result(); err != nil {
		return nil, fmt.Errorf("failed to concat agentic response meta: %w", err)
	}
	if m.Extra, err = a.extra.Result(); err != nil {
		return nil, err
	}
	return m, nil
}

// ConcatAgenticMessages joins the chunks of an agentic message. A single chunk is returned as it is, and without
// chunks the result is an empty message; otherwise it is a new one, and no chunk is changed.
//
//   - Role may be repeated or left out, but a second, different value is an error.
//   - Blocks without StreamingMeta are finished: they are listed in order, unchanged.
//   - Blocks with StreamingMeta are chunks: chunks of one index become one block, and blocks are ordered by index. The
//     resulting blocks have no StreamingMeta. Texts, arguments, signatures and base64 data are appended; names, IDs,
//     URLs and MIME types may be repeated, but not change. What comes from users, results of tool searches and
//     responses to approval requests cannot be streamed.
//   - Finished blocks and chunks must not be mixed.
//   - Of the response metadata the highest token counts and the joined provider extension are taken.
//   - Extra is joined as [ConcatMessages] does.
//
// A nil message is an error. With an error the message is nil.
func ConcatAgenticMessages(msgs []*AgenticMessage) (*AgenticMessage, error) {
	var acc AgenticMessageAccumulator
	for _, m := range msgs {
		if err := acc.Add(m); err != nil {
			return nil, err
		}
	}
	return acc.Message()
}
