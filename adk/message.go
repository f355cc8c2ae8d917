package adk

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"

	"github.com/weftgo/weft/schema"
)

// MessageType is the kind of message an agent works with.
type MessageType interface {
	*schema.Message | *schema.AgenticMessage
}

// Message is the message of ordinary chat models.
type Message = *schema.Message

// MessageStream is a stream of message chunks.
type MessageStream = *schema.StreamReader[Message]

// AgenticMessage is the message of agentic models.
type AgenticMessage = *schema.AgenticMessage

// AgenticMessageStream is a stream of agentic message chunks.
type AgenticMessageStream = *schema.StreamReader[AgenticMessage]

// messageIDKey is where a message keeps its ID.
const messageIDKey = "_eino_msg_id"

// GetMessageID returns the ID that the runtime gave a message, "" if it has none. Model outputs and tool results of
// an agent have one: the same on the event and in the history.
func GetMessageID[M MessageType](msg M) string { return engineOf[M]().messageID(msg) }

func (compiled[M]) messageID(m M) string { return opsOf[M]().id(m) }

// EnsureMessageID gives a message an ID if it has none. It replaces msg.Extra by a copy with the ID, so that a map that
// is shared with other messages stays as it is.
func EnsureMessageID[M MessageType](msg M) { engineOf[M]().ensureMessageID(msg) }

func (compiled[M]) ensureMessageID(m M) {
	ops := opsOf[M]()
	if ops.isNil(m) || ops.id(m) != "" {
		return
	}
	ops.replaceExtra(m, ops.markedExtra(m, newMark()))
}

// id is GetMessageID.
func (ops *messageOps[M]) id(m M) string {
	if ops.isNil(m) {
		return ""
	}
	id, _ := ops.extra(m)[messageIDKey].(string)
	return id
}

// A mark is the Extra of a message that has nothing but its ID. It is never written to, so that messages can share it.
type mark = map[string]any

func newMark() mark { return markOf(newMessageID()) }

func markOf(id string) mark { return mark{messageIDKey: id} }

// identified returns the message itself if it has an ID, else a copy with that of the mark: the message may be shared
// with other runs.
func (ops *messageOps[M]) identified(m M, with mark) M {
	if ops.id(m) != "" {
		return m
	}
	return ops.withExtra(m, ops.markedExtra(m, with))
}

// markedExtra returns what Extra is with a mark. The message's own map stays as it is: it may be shared.
func (ops *messageOps[M]) markedExtra(m M, with mark) map[string]any {
	extra := ops.extra(m)
	if len(extra) == 0 {
		return with
	}
	extra = maps.Clone(extra)
	maps.Copy(extra, with)
	return extra
}

// newMessageID makes a version 4 UUID (RFC 9562). IDs name messages; they are no secrets.
func newMessageID() string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var digits [32]byte
	hex.Encode(digits[:], b[:])
	var text [36]byte // as 8-4-4-4-12 digits
	copy(text[:8], digits[:8])
	copy(text[9:13], digits[8:12])
	copy(text[14:18], digits[12:16])
	copy(text[19:23], digits[16:20])
	copy(text[24:], digits[20:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
