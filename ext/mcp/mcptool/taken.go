package mcptool

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
)

// NameTaken is the error of a tool that is left out because another one has its name: of the agent, of another server, or
// of the same one. It is logged, and with Config.Strict the error of the list or of the run.
type NameTaken struct {
	// Server is the name in the configuration, Tool the server's name of the tool, and Name that for the model.
	Server, Tool, Name string
	// By says what has the name: "the agent", or a server.
	By string
}

// Error says how to use both.
func (e *NameTaken) Error() string {
	return fmt.Sprintf("MCP server %q: tool %q is left out, since %s has a tool %q: set Config.Prefix, or exclude it",
		e.Server, clean(e.Tool), e.By, e.Name)
}

// withoutDoubles leaves out tools whose name another one of the list has: that which the server gives this very name
// keeps it, or else the first.
func (s *Server) withoutDoubles(tools []*remoteTool) (kept []*remoteTool, taken []*NameTaken) {
	owner := map[string]*remoteTool{}
	for _, t := range tools {
		name := t.info.Name
		if first := owner[name]; first == nil || !first.isNamed(name) && t.isNamed(name) {
			owner[name] = t
		}
	}
	for _, t := range tools {
		if first := owner[t.info.Name]; first != t {
			taken = append(taken, t.takenBy(first.origin()))
			continue
		}
		kept = append(kept, t)
	}
	return kept, taken
}

// isNamed reports whether the server itself gives the tool a name.
func (t *remoteTool) isNamed(name string) bool { return t.server.conf.Prefix+t.raw == name }

// origin says where the tool is from.
func (t *remoteTool) origin() string { return fmt.Sprintf("MCP server %q", t.server.conf.Name) }

func (t *remoteTool) takenBy(by string) *NameTaken {
	return &NameTaken{Server: t.server.conf.Name, Tool: t.raw, Name: t.info.Name, By: by}
}

// leftOut logs which tools are left out, each once as long as its name is taken by the same, or returns the first as an
// error if the configuration wants that.
func (s *Server) leftOut(ctx context.Context, taken []*NameTaken) error {
	for _, t := range taken {
		if s.conf.Strict {
			return s.fail(ctx, List, t.Tool, t)
		}
		if _, known := s.told.LoadOrStore(*t, true); !known {
			s.conf.Logger.ErrorContext(ctx, "a tool of an MCP server is left out", "tool", clean(t.Tool), "error", t)
		}
	}
	return nil
}

// reserved are the names of tools that an agent gets without listing them.
var reserved = []string{adk.TransferToAgentToolName, "exit"}

// free returns the tools whose names are not taken in a run, and takes their names. names has the taken names and what
// has taken them.
func free(ctx context.Context, tools []*remoteTool, names map[string]string) (kept []*remoteTool, err error) {
	for _, t := range tools {
		by, isTaken := names[t.info.Name]
		if !isTaken && slices.Contains(reserved, t.info.Name) {
			by, isTaken = "the agent", true
		}
		if !isTaken {
			names[t.info.Name] = t.origin()
			kept = append(kept, t)
			continue
		}
		if err := t.server.leftOut(ctx, []*NameTaken{t.takenBy(by)}); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
