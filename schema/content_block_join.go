package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/internal/concat"
)

// blockListJoin joins the blocks of the chunks of one message: either all are finished, or all are streamed.
type blockListJoin struct {
	whole    []*ContentBlock
	streamed map[int]*blockJoin // by index
	last     *blockJoin         // of the index seen last: nearly always the index of the next chunk, too
	lastAt   int
	err      error // of the first chunk of a block that did not fit
}

var (
	errWholeAfterStreamed = errors.New("found non-streaming block after streaming blocks")
	errStreamedAfterWhole = errors.New("found streaming block after non-streaming blocks")
)

func (j *blockListJoin) add(blocks []*ContentBlock) error {
	for _, b := range blocks {
		switch {
		case b == nil:
		case b.StreamingMeta == nil && j.streamed != nil:
			return errWholeAfterStreamed
		case b.StreamingMeta == nil:
			j.whole = append(j.whole, b)
		case j.whole != nil:
			return errStreamedAfterWhole
		default:
			j.addStreamed(b)
		}
	}
	return nil
}

func (j *blockListJoin) addStreamed(b *ContentBlock) {
	index := b.StreamingMeta.Index
	if j.last == nil || j.lastAt != index {
		j.last, j.lastAt = j.at(index, b.Type), index
	}
	if err := j.last.add(b); err != nil && j.err == nil {
		j.err = err
	}
}

func (j *blockListJoin) at(index int, t ContentBlockType) *blockJoin {
	if join, ok := j.streamed[index]; ok {
		return join
	}
	if j.streamed == nil {
		j.streamed = map[int]*blockJoin{}
	}
	join := &blockJoin{blockType: t, payload: newPayloadJoin(t)}
	j.streamed[index] = join
	return join
}

func (j *blockListJoin) result() ([]*ContentBlock, error) {
	if j.err != nil {
		return nil, j.err
	}
	if j.streamed == nil {
		return slices.Clone(j.whole), nil
	}
	blocks := make([]*ContentBlock, 0, len(j.streamed))
	for _, index := range slices.Sorted(maps.Keys(j.streamed)) {
		b, err := j.streamed[index].block()
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// blockJoin joins the chunks of one block.
type blockJoin struct {
	blockType ContentBlockType // type of the first chunk
	payload   payloadJoin      // nil if there is no such type
	extra     concat.Map
}

func (j *blockJoin) add(b *ContentBlock) error {
	switch {
	case j.payload == nil:
		return fmt.Errorf("unknown content block type: %s", j.blockType)
	case b.Type != j.blockType:
		return fmt.Errorf("content block type mismatch: expected '%s', but got '%s'", j.blockType, b.Type)
	}
	switch err := j.payload.add(b); err {
	case nil:
	case errNoPayload:
		return fmt.Errorf("'%s' %w", j.blockType, err)
	default:
		return j.wrap(err)
	}
	addFilled(&j.extra, b.Extra)
	return nil
}

func (j *blockJoin) block() (*ContentBlock, error) {
	b := &ContentBlock{Type: j.blockType}
	if err := j.payload.put(b); err != nil {
		return nil, j.wrap(err)
	}
	var err error
	if b.Extra, err = j.extra.Result(); err != nil {
		return nil, fmt.Errorf("failed to concat content block extras: %w", err)
	}
	return b, nil
}

func (j *blockJoin) wrap(err error) error {
	return fmt.Errorf("failed to concat '%s' content blocks: %w", j.blockType, err)
}
