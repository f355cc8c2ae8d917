package toolsearch

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/weftgo/weft/schema"
)

const defaultMaxResults = 5

// The scores of a word, by where it is found.
const (
	scorePart        = 10 // it is a part of the name
	scoreInPart      = 5
	scoreInName      = 3
	scoreDescription = 2
)

// An index is the dynamic tools, made ready to be searched. It never changes.
type index struct {
	entries []*entry
	byName  map[string]*entry
}

type entry struct {
	info *schema.ToolInfo
	// All in lower case.
	name, desc string
	parts      []string
}

func newIndex(infos []*schema.ToolInfo) *index {
	x := &index{byName: make(map[string]*entry, len(infos))}
	for _, info := range infos {
		e := &entry{info: info, name: strings.ToLower(info.Name), desc: strings.ToLower(info.Desc)}
		for _, part := range nameParts(info.Name) {
			e.parts = append(e.parts, strings.ToLower(part))
		}
		x.entries = append(x.entries, e)
		x.byName[info.Name] = e
	}
	return x
}

func (x *index) isDynamic(name string) bool { return x.byName[name] != nil }

// search finds tools: those that are named after "select:", or the best for some words.
func (x *index) search(query string, maxResults int) []*schema.ToolInfo {
	query = strings.TrimSpace(query)
	if names, ok := strings.CutPrefix(query, "select:"); ok {
		return x.named(strings.Split(names, ","))
	}
	if maxResults <= 0 {
		maxResults = defaultMaxResults
	}
	found := x.ranked(words(query))
	return found[:min(len(found), maxResults)]
}

// named are the tools with these names, in their order.
func (x *index) named(names []string) (found []*schema.ToolInfo) {
	for _, name := range names {
		if e := x.byName[strings.TrimSpace(name)]; e != nil && !slices.Contains(found, e.info) {
			found = append(found, e.info)
		}
	}
	return found
}

// A word is one of a query, in lower case.
type word struct {
	text     string
	required bool
}

func words(query string) (all []word) {
	for _, field := range strings.Fields(strings.ToLower(query)) {
		text, required := strings.CutPrefix(field, "+")
		if text != "" {
			all = append(all, word{text, required})
		}
	}
	return all
}

// ranked are the tools that fit the words, the best first.
func (x *index) ranked(words []word) []*schema.ToolInfo {
	type hit struct {
		*entry
		score int
	}
	var hits []hit
	for _, e := range x.entries {
		if score := e.score(words); score > 0 {
			hits = append(hits, hit{e, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.info.Name, b.info.Name))
	})
	infos := make([]*schema.ToolInfo, len(hits))
	for i, h := range hits {
		infos[i] = h.info
	}
	return infos
}

// score returns how well a tool fits all words, 0 if it lacks a required one.
func (e *entry) score(words []word) (total int) {
	for _, w := range words {
		score := e.scoreOf(w.text)
		if score == 0 && w.required {
			return 0
		}
		total += score
	}
	return total
}

func (e *entry) scoreOf(word string) int {
	switch {
	case slices.Contains(e.parts, word):
		return scorePart
	case slices.ContainsFunc(e.parts, func(part string) bool { return strings.Contains(part, word) }):
		return scoreInPart
	case strings.Contains(e.name, word):
		return scoreInName
	case strings.Contains(e.desc, word):
		return scoreDescription
	}
	return 0
}

// nameParts splits a name at underscores and where camel case begins a new word: HTML and Parser of HTMLParser.
func nameParts(name string) (parts []string) {
	for piece := range strings.SplitSeq(name, "_") {
		runes := []rune(piece)
		start := 0
		for i := 1; i < len(runes); i++ {
			if startsWord(runes, i) {
				parts = append(parts, string(runes[start:i]))
				start = i
			}
		}
		if len(runes) > 0 {
			parts = append(parts, string(runes[start:]))
		}
	}
	return parts
}

// startsWord reports whether an upper letter begins a word: after a lower one, or as the last upper one before a lower
// one.
func startsWord(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	return unicode.IsLower(runes[i-1]) ||
		unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}
