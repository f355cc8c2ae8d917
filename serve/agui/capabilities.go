package agui

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/weftgo/weft/adk/picture"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// flags are capabilities that are there or not. One that is not known is left out.
type flags map[string]any

// set says that something is there, or, if all is known, that it is not.
func (f flags) set(name string, is, all bool) {
	if is || all {
		f[name] = is
	}
}

// toolItem is a tool of an agent.
type toolItem struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// subagentItem is an agent below another one.
type subagentItem struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// capabilities says what the agent and the server can do, as clients ask for it before they show anything.
func (h *handler) capabilities(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	agents := c.Agents(r.Context())
	at := slices.IndexFunc(agents, func(a serve.AgentInfo) bool { return a.Name == h.agent(r) })
	if at < 0 {
		return serve.NewProblem(serve.NotFound, "there is no agent %q", h.agent(r))
	}
	a := &agents[at]
	serve.SendJSON(w, http.StatusOK, map[string]any{
		"identity":       map[string]string{"name": a.Name, "description": a.Description, "type": "weft"},
		"transport":      flags{"streaming": true, "resumable": true},
		"tools":          h.toolsOf(a),
		"output":         flags{"structuredOutput": a.Capabilities.Formats},
		"state":          flags{"snapshots": true, "deltas": true, "persistentState": h.conf.AllowState, "memory": h.server.KeepsThreads()},
		"multiAgent":     h.agentsOf(a),
		"reasoning":      flags{"supported": !h.conf.HideReasoning, "streaming": !h.conf.HideReasoning, "encrypted": false},
		"humanInTheLoop": flags{"supported": true, "approvals": true, "interrupts": true, "approveWithEdits": true},
	})
	return nil
}

// toolsOf are the tools of an agent and of those below it, each name once.
func (h *handler) toolsOf(a *serve.AgentInfo) flags {
	items, known := []toolItem{}, map[string]bool{}
	for below := range a.About.All() {
		for _, t := range below.Tools {
			if !known[t.Name] {
				known[t.Name], items = true, append(items, toolItem{t.Name, t.Desc, parametersOf(t)})
			}
		}
	}
	tools := flags{"parallelCalls": true, "clientProvided": a.Capabilities.ClientTools}
	tools.set("supported", len(items) > 0 || a.Capabilities.ClientTools, isWhole(a.About))
	if !h.conf.HideTools {
		tools["items"] = items
	}
	return tools
}

// parametersOf is the schema of a tool, nil if it has none that can be read.
func parametersOf(t *schema.ToolInfo) json.RawMessage {
	text, err := t.ParamsOneOf.SchemaJSON()
	if err != nil || !json.Valid(text) {
		return nil
	}
	return text
}

// isWhole reports whether an agent and those below it show all that they have.
func isWhole(about *picture.Agent) bool {
	for a := range about.All() {
		if a.Opaque {
			return false
		}
	}
	return true
}

// agentsOf are the agents below an agent, each name once, and how it comes to them.
func (h *handler) agentsOf(a *serve.AgentInfo) flags {
	items, known := []subagentItem{}, map[string]bool{a.Name: true, "": true}
	delegates, handsOver := false, false
	for below := range a.About.All() {
		delegates, handsOver = delegates || len(below.AsTools) > 0, handsOver || len(below.SubAgents) > 0
		if !known[below.Name] {
			known[below.Name], items = true, append(items, subagentItem{below.Name, below.Description})
		}
	}
	agents, whole := flags{}, isWhole(a.About)
	agents.set("delegation", delegates, whole)
	agents.set("handoffs", handsOver, whole)
	agents.set("supported", len(items) > 0, whole)
	if !h.conf.HideTools {
		agents["subagents"] = items
	}
	return agents
}
