package openai

import "strings"

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// tagState tracks how far an answer with tags has come. It goes from left to right, and may skip.
type tagState int

const (
	// tagUndecided has seen neither tag: what came may be thinking, as some models begin inside it.
	tagUndecided tagState = iota
	// tagThinking is between the tags.
	tagThinking
	// tagBreak is behind the closing tag, before the answer.
	tagBreak
	// tagAnswer is in the answer.
	tagAnswer
)

// thinkTags separates thinking that a model writes at the beginning of its text, as <think>…</think>, from the text.
// Tags may be cut by chunks. Text is held back while it may be either.
type thinkTags struct {
	state tagState
	held  string
}

// split takes a piece of the text and returns what is certain. elsewhere says that the thinking has come in a field of
// its own, so that the text has none.
func (t *thinkTags) split(piece string, elsewhere bool) (content, thought string) {
	t.held += piece
	if t.state == tagUndecided {
		thought = t.decide(elsewhere)
	}
	if t.state == tagThinking {
		more, _, closed := strings.Cut(t.held, closeTag)
		switch {
		case closed:
			t.held = t.held[len(more)+len(closeTag):]
			t.state = tagBreak
		default:
			more = t.held[:len(t.held)-partialTag(t.held, closeTag)]
			t.held = t.held[len(more):]
		}
		thought += more
	}
	if t.state == tagBreak {
		t.held = strings.TrimLeft(t.held, "\r\n")
		if t.held != "" {
			t.state = tagAnswer
		}
	}
	if t.state == tagAnswer {
		content, t.held = t.held, ""
	}
	return content, thought
}

// decide finds out what the text begins with, and returns the thinking if a closing tag ends it.
func (t *thinkTags) decide(elsewhere bool) (thought string) {
	begin := strings.TrimLeft(t.held, " \t\r\n")
	switch before, rest, closed := strings.Cut(t.held, closeTag); {
	case strings.HasPrefix(begin, openTag):
		t.held = begin[len(openTag):]
		t.state = tagThinking
	case closed:
		t.held = rest
		t.state = tagBreak
		return before
	case elsewhere:
		t.state = tagAnswer
	}
	return ""
}

// partialTag returns how many bytes at the end of a text are the beginning of a tag.
func partialTag(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// end returns what is held back when the answer has ended.
func (t *thinkTags) end() (content, thought string) {
	held := t.held
	t.held = ""
	if t.state == tagThinking {
		return "", held
	}
	return held, ""
}
