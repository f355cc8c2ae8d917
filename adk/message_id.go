package adk

import (
	"encoding/hex"
	"maps"
	"math/rand/v2"
)

// messageIDKey is where a message keeps its ID.
const messageIDKey = "_eino_msg_id"

// GetMessageID returns the ID that the runtime gave a message, "" if it has none. Model outputs and tool results of
// an agent have one: the same on the event and in the history.
func GetMessageID[M MessageType](msg M) string {
	ops := opsOf[M]()
	if ops.isNil(msg) {
		return ""
	}
	id, _ := ops.extra(msg)[messageIDKey].(string)
	return id
}

// EnsureMessageID gives a message an ID if it has none. It replaces msg.Extra by a copy with the ID, so that a map that
// is shared with other messages stays as it is.
func EnsureMessageID[M MessageType](msg M) {
	ops := opsOf[M]()
	if ops.isNil(msg) || GetMessageID(msg) != "" {
		return
	}
	ops.replaceExtra(msg, ops.markedExtra(msg, newMark()))
}

// A mark is the Extra of a message that has nothing but its ID. It is never written to, so that messages can share it.
type mark = map[string]any

func newMark() mark { return markOf(newMessageID()) }

func markOf(id string) mark { return mark{messageIDKey: id} }

// identified returns the message itself if it has an ID, else a copy with that of the mark: the message may be shared
// with other runs.
func (ops *messageOps[M]) identified(m M, with mark) M {
	if GetMessageID(m) != "" {
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
	for i, word := 0, uint64(0); i < len(b); i++ {
		if i%8 == 0 {
			word = rand.Uint64()
		}
		b[i] = byte(word >> (i % 8 * 8))
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], b[0:4])
	hex.Encode(text[9:13], b[4:6])
	hex.Encode(text[14:18], b[6:8])
	hex.Encode(text[19:23], b[8:10])
	hex.Encode(text[24:36], b[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
