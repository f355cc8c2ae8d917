package agentsmd

import "unicode/utf8"

// A budget says how much of each file is shown.
type budget struct {
	perFile, all int // 0 is no bound
	used         int
	// spent: nothing more is read.
	spent bool
}

// worthCutting is the number of bytes of a file that must be left for it to be shown in part, behind others.
const worthCutting = 500

// take returns what is shown of a file, "" if nothing is, and whether that is all of it.
func (b *budget) take(content string) (kept string, whole bool) {
	kept = content
	if b.perFile > 0 {
		kept = cut(kept, b.perFile)
	}
	if b.all > 0 && len(kept) > b.all-b.used {
		b.spent = true
		left := b.all - b.used
		if b.used > 0 && left < worthCutting {
			return "", false
		}
		kept = cut(kept, left)
	}
	b.used += len(kept)
	b.spent = b.spent || b.all > 0 && b.used >= b.all
	return kept, len(kept) == len(content)
}

// cut is the longest beginning of a text that has at most so many bytes and whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
