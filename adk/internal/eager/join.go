package eager

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/internal/jsonscan"
	"github.com/weftgo/weft/schema"
)

// joins joins the pieces of tool calls while they come, by the rules of joining messages, to see which calls are
// complete: those whose arguments are a JSON object.
type joins struct {
	byIndex map[int]*join
	// current takes the pieces without an index.
	current *join
	// order are all calls as they began. room is room for the calls of most answers.
	order []*join
	room  [4]*join
}

// join is a call so far.
type join struct {
	call      schema.ToolCall
	arguments strings.Builder
	scan      jsonscan.Object
	started   bool
}

// add takes a piece and returns the call that it completes, if it does, with its place in the answer.
func (j *joins) add(piece *schema.ToolCall) (call *schema.ToolCall, at place, err error) {
	c := j.find(piece)
	if err := c.add(piece); err != nil {
		return nil, at, err
	}
	if c.started || c.call.ID == "" || c.call.Function.Name == "" || !c.scan.Ended() {
		return nil, at, nil
	}
	arguments := c.arguments.String()
	if !json.Valid([]byte(arguments)) {
		return nil, at, nil
	}
	c.started = true
	c.call.Function.Arguments = arguments
	at.before = slices.Index(j.order, c)
	at.label = callorder.Label(at.before, func(i int) string { return j.order[i].call.ID })
	return &c.call, at, nil
}

// place is the position of a call in its answer: its label, and how many calls are before it.
type place struct {
	label  string
	before int
}

// begin makes a call that follows those that have begun.
func (j *joins) begin() *join {
	c := new(join)
	if j.order == nil {
		j.order = j.room[:0]
	}
	j.order = append(j.order, c)
	return c
}

// find returns the call that a piece belongs to. Without an index, a new ID begins a new call.
func (j *joins) find(piece *schema.ToolCall) *join {
	if piece.Index == nil {
		if j.current == nil || piece.ID != "" && j.current.call.ID != "" && piece.ID != j.current.call.ID {
			j.current = j.begin()
		}
		return j.current
	}
	c := j.byIndex[*piece.Index]
	if c == nil {
		if j.byIndex == nil {
			j.byIndex = map[int]*join{}
		}
		c = j.begin()
		j.byIndex[*piece.Index] = c
	}
	return c
}

func (c *join) add(piece *schema.ToolCall) error {
	for _, f := range []struct {
		what      string
		have, got *string
	}{
		{"ID", &c.call.ID, &piece.ID},
		{"name", &c.call.Function.Name, &piece.Function.Name},
		{"type", &c.call.Type, &piece.Type},
	} {
		switch {
		case *f.got == "" || *f.got == *f.have:
		case *f.have == "":
			*f.have = *f.got
		default:
			return fmt.Errorf("conflicting tool call %s in same accumulator: %q and %q", f.what, *f.have, *f.got)
		}
	}
	c.arguments.WriteString(piece.Function.Arguments)
	c.scan.Feed(piece.Function.Arguments)
	if len(c.call.Extra) == 0 && len(piece.Extra) > 0 {
		c.call.Extra = maps.Clone(piece.Extra)
	}
	return nil
}
