package sqlrun

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// longestName is the length in bytes up to which an encoded name is a key. Databases bound what an index can hold.
const longestName = 512

// encode writes a name as a key: escaped (see storekit.Escape), and '#' with a hash if that is long. No two names have the
// same key. A name that was hashed cannot be read from its key: it is in the data of the row.
func encode(name string) string {
	e := storekit.Escape(name)
	if strings.HasPrefix(e, "#") {
		e = "%23" + e[1:]
	}
	if len(e) > longestName {
		sum := sha256.Sum256([]byte(name))
		return "#" + hex.EncodeToString(sum[:])
	}
	return e
}

// decode reads a key, and reports false for one that is a hash.
func decode(key string) (name string, ok bool) {
	return storekit.Unescape(key), !strings.HasPrefix(key, "#")
}

// prefixRange returns bounds of the keys of the names that begin with a prefix; keys of other names may lie between them.
// Keys that are hashes may be anywhere.
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
