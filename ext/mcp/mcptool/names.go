package mcptool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Bounds of names that all models take.
const (
	longestName = 64
	nameHead    = 55
)

// toolName makes a name that all models take of one that a server gives: other characters become _, and what is too
// long is cut and gets a hash. Equal names give equal names, in every process.
func toolName(raw string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, raw)
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(raw))
	return name[:nameHead] + "_" + hex.EncodeToString(sum[:4])
}

// cutText cuts a text off after a number of bytes, between characters, and says so.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
