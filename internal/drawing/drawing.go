// Package drawing writes pictures of boxes and arrows as Mermaid and as DOT. It knows how both languages quote text;
// what the boxes are is up to the packages that use it.
package drawing

import (
	"fmt"
	"strings"
)

// Shape is the outline of a box.
type Shape uint8

const (
	Box   Shape = iota // a step
	Round              // where the picture begins or ends
	Diamond
	Pill // a part that passes on what it gets
)

// Line is the style of an arrow.
type Line uint8

const (
	Solid Line = iota
	Dotted
	Thick
)

// Node is a box. Each element of Text is a line.
type Node struct {
	ID    string
	Text  []string
	Shape Shape
}

// Edge is an arrow between two nodes or groups, by their IDs.
type Edge struct {
	From, To string
	Text     []string
	Line     Line
	// Both has a point at each end.
	Both bool
}

// Group is a frame around nodes and other groups. Each is in one group only.
type Group struct {
	ID   string
	Text []string
	// Nodes come before Groups, and Edges, which may lead anywhere, behind both.
	Nodes  []Node
	Groups []*Group
	Edges  []Edge
	// First and Last are the nodes inside that an arrow to or from the frame leads to or comes from, where the language
	// has no arrows of frames (DOT).
	First, Last string
}

// Picture is a whole drawing: the outermost group is not framed.
type Picture struct {
	Group
	// Rightwards draws from the left to the right, otherwise it is from the top down.
	Rightwards bool
}

// IDs makes IDs that both languages accept, one for each name: letters, digits and underscores with a prefix, so that
// none is a word of the language.
type IDs struct{ taken map[string]bool }

// New returns an ID that resembles the name and that was not returned before.
func (ids *IDs) New(prefix, name string) string {
	if ids.taken == nil {
		ids.taken = map[string]bool{}
	}
	plain := prefix + strings.Map(func(r rune) rune {
		if r < 0x80 && isAlphanumeric(r) {
			return r
		}
		return '_'
	}, name)
	id := plain
	for n := 2; ids.taken[id]; n++ {
		id = fmt.Sprintf("%s_%d", plain, n)
	}
	ids.taken[id] = true
	return id
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
