// Package bound keeps results within limits, for both sides of the protocol.
package bound

import (
	"fmt"
	"strings"
)

// Room counts the bytes of text and of decoded media that a result may still have. It is for one goroutine.
type Room struct{ Text, Media int }

// Fit returns as much of a text as there is room for, takes that room, and reports whether all of it fits. What does
// not fit is cut out of the middle, where the least is lost as a rule, and the text says how much it is.
func (r *Room) Fit(text string) (shown string, whole bool) {
	if len(text) <= r.Text {
		r.Text -= len(text)
		return text, true
	}
	head, tail := text[:r.Text/2], text[len(text)-r.Text/2:]
	note := fmt.Sprintf("\n[%d bytes are left out here]\n", len(text)-len(head)-len(tail))
	r.Text = 0
	return strings.ToValidUTF8(head, "") + note + strings.ToValidUTF8(tail, ""), false
}

// Take takes room for a medium, and reports whether there is enough.
func (r *Room) Take(size int) bool {
	if size > r.Media {
		return false
	}
	r.Media -= size
	return true
}
