package sqlrun

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// longestName is how many bytes of an encoded name are a key. Databases bound what an index can hold.
const longestName = 512

// escape writes any bytes as text that every database takes: control characters, '%' and what is not UTF-8 are %XX.
func escape(s string) string {
	clean := func(r rune, size int) bool {
		return r >= 0x20 && r != 0x7f && r != '%' && (r != utf8.RuneError || size > 1)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case !clean(r, size):
			fmt.Fprintf(&b, "%%%02X", s[i])
			size = 1
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// unescape reads what escape wrote.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// encode writes a name as a key: escaped, and '#' with a hash if that is long. No two names have the same key. A name
// that was hashed cannot be read from its key: it is in the details of the row.
func encode(name string) string {
	e := escape(name)
	if strings.HasPrefix(e, "#") {
		e = "%23" + e[1:]
	}
	if len(e) > longestName {
		sum := sha256.Sum256([]byte(name))
		return "#" + hex.EncodeToString(sum[:])
	}
	return e
}

// decode reads a key. whole is the name, escaped, that the details have of one that was hashed.
func decode(key, whole string) string {
	if strings.HasPrefix(key, "#") {
		return unescape(whole)
	}
	return unescape(key)
}

// hashed is what the details have to keep of a name: all of it, escaped, if its key is a hash.
func hashed(name string) string {
	if strings.HasPrefix(encode(name), "#") {
		return escape(name)
	}
	return ""
}

// prefixRange returns bounds of the keys of the names that begin with a prefix; those of other names may lie between
// them. Keys that are hashes may be anywhere.
func prefixRange(prefix string) (from, to string) {
	for !utf8.ValidString(prefix) { // the bytes at the end may be the beginning of a rune
		prefix = prefix[:len(prefix)-1]
	}
	from = encode(prefix)
	if strings.HasPrefix(from, "#") {
		return "#", "#"
	}
	// No key that begins with from is behind it: keys are bounded.
	return from, from + strings.Repeat("\U0010ffff", longestName/4+1)
}
