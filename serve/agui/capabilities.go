package agui

import (
	"net/http"
	"slices"

	"github.com/weftgo/weft/serve"
)

// capabilities says what the agent and the server can do, as clients ask for it before they show anything.
func (h *handler) capabilities(w http.ResponseWriter, r *http.Request) error {
	agents := h.server.Agents()
	at := slices.IndexFunc(agents, func(a serve.AgentInfo) bool { return a.Name == h.agent(r) })
	if at < 0 {
		return serve.NewProblem(serve.NotFound, "there is no agent %q", h.agent(r))
	}
	type flags map[string]bool
	serve.SendJSON(w, http.StatusOK, map[string]any{
		"identity":       map[string]string{"name": agents[at].Name, "description": agents[at].Description, "type": "weft"},
		"transport":      flags{"streaming": true, "resumable": true},
		"tools":          flags{"supported": true, "parallelCalls": true, "clientProvided": h.server.TakesClientTools()},
		"output":         flags{"structuredOutput": false},
		"state":          flags{"snapshots": true, "deltas": true, "persistentState": h.conf.AllowState, "memory": h.server.KeepsThreads()},
		"multiAgent":     flags{"supported": true, "delegation": true, "handoffs": true},
		"reasoning":      flags{"supported": !h.conf.HideReasoning, "streaming": !h.conf.HideReasoning, "encrypted": false},
		"humanInTheLoop": flags{"supported": true, "approvals": true, "interrupts": true, "approveWithEdits": true},
	})
	return nil
}
