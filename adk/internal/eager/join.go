package eager

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/weftgo/weft/internal/jsonscan"
	"github.com/weftgo/weft/schema"
)

// joins joins the pieces of tool calls while they come, by the rules of joining messages, to see which calls are
// complete: those whose arguments are a JSON object.
type joins struct {
	byIndex map[int]*join
	// current takes the pieces without an index.
	current *join
}

// join is a call so far.
type join struct {
	call      schema.ToolCall
	arguments strings.Builder
	scan      jsonscan.Object
	started   bool
}

// add takes a piece and returns the call that it completes, if it does.
func (j *joins) add(piece *schema.ToolCall) (*schema.ToolCall, error) {
	c := j.find(piece)
	if err := c.add(piece); err != nil {
		return nil, err
	}
	if c.started || c.call.ID == "" || c.call.Function.Name == "" || !c.scan.Ended() {
		return nil, nil
	}
	arguments := c.arguments.String()
	if !json.Valid([]byte(arguments)) {
		return nil, nil
	}
	c.started = true
	c.call.Function.Arguments = arguments
	return &c.call, nil
}

// find returns the call that a piece belongs to. Without an index, a new ID begins a new call.
func (j *joins) find(piece *schema.ToolCall) *join {
	if piece.Index == nil {
		if j.current == nil || piece.ID != "" && j.current.call.ID != "" && piece.ID != j.current.call.ID {
			j.current = new(join)
		}
		return j.current
	}
	c := j.byIndex[*piece.Index]
	if c == nil {
		if j.byIndex == nil {
			j.byIndex = map[int]*join{}
		}
		c = new(join)
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
