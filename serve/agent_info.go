package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/picture"
	"github.com/weftgo/weft/schema"
)

// AgentInfo describes an agent to clients.
type AgentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Input is a JSON Schema of what a run is asked: the member input of POST /agents/{agent}/runs.
	Input        json.RawMessage `json:"input"`
	Capabilities Capabilities    `json:"capabilities"`

	// About describes the agent: its tools, and the agents around it. It is for protocols, which must not
	// change it; lists of the native API do not have it.
	About *picture.Agent `json:"-"`
}

// Capabilities say what clients can do with an agent. Every run can be watched and stopped, and may ask.
type Capabilities struct {
	// Threads: the server keeps conversations.
	Threads bool `json:"threads"`
	// History: what clients say was said before is taken for it (see TypedConfig.TrustHistory).
	History bool `json:"history"`
	// ClientTools: a client may bring tools.
	ClientTools bool `json:"client_tools"`
	// Formats: a client may say what the answer is to be (see [ClientFormats]).
	Formats bool `json:"formats"`
	// Forks: the steps of runs can be read, and forks be made of them.
	Forks bool `json:"forks"`
}

// served is an agent of a server.
type served struct {
	info  AgentInfo
	tools clientToolUse
}

// describe asks agents what they are, and refuses names that are not good or there twice.
func describe[M adk.MessageType](agents []adk.TypedAgent[M]) (all []*picture.Agent, err error) {
	names := map[string]bool{}
	for i, a := range agents {
		if a == nil {
			return nil, fmt.Errorf("serve: Config.Agents[%d] is nil", i)
		}
		about := picture.Describe(context.Background(), a)
		if names[about.Name] || !clientID.MatchString(about.Name) {
			return nil, fmt.Errorf(`serve: Config.Agents[%d]: its name must be one of its own, of up to 128 letters, digits, `+
				`and any of "._:-", and is %q`, i, about.Name)
		}
		names[about.Name], all = true, append(all, about)
	}
	return all, nil
}

// serve adds an agent to a server whose settings are there.
func (s *Server) serve(about *picture.Agent) {
	use := clientToolUseOf(about)
	can := Capabilities{Threads: s.KeepsThreads(), History: s.settings.trustHistory, Forks: s.forks != nil,
		ClientTools: s.settings.allowClientTools && use.by != noAgent,
		Formats:     keepsFormats(about, map[*picture.Agent]bool{})}
	s.agents[about.Name] = &served{tools: use, info: AgentInfo{Name: about.Name, Description: about.Description,
		Input: inputSchema(s.settings.limits, s.settings.trustHistory), Capabilities: can, About: about}}
}

// clientToolUser is which agents tools of clients are offered to.
type clientToolUser int

const (
	noAgent      clientToolUser = iota
	someAgent                   // one of them has the middleware
	perhapsAgent                // one of them does not show what it has
)

// clientToolUse says how the runs of an agent use tools of clients. taken has the names that they cannot have: the names
// of tools that are offered beside them, as far as the agents show theirs.
type clientToolUse struct {
	by    clientToolUser
	taken map[string]bool
}

// takesClientTools is implemented by the middleware.
type takesClientTools interface{ TakesClientTools() }

// clientToolUseOf looks at an agent and those below it.
func clientToolUseOf(about *picture.Agent) clientToolUse {
	use := clientToolUse{taken: map[string]bool{}}
	transfers := false
	for a := range about.All() {
		transfers = transfers || len(a.SubAgents) > 0
		if a.Opaque && use.by == noAgent {
			use.by = perhapsAgent
		}
		for _, m := range a.Middlewares {
			if _, takes := m.(takesClientTools); takes {
				use.by = someAgent
				for _, t := range a.Tools {
					use.taken[t.Name] = true
				}
			}
		}
	}
	if transfers && use.by == someAgent {
		use.taken[adk.TransferToAgentToolName] = true
	}
	return use
}

// check refuses tools of a client that no model would be offered, or that have the name of another one.
func (u *clientToolUse) check(tools []ClientTool) error {
	if len(tools) > 0 && u.by == noAgent {
		return &Problem{Code: BadRequest, Title: "the agent takes no tools of clients",
			Cause: errors.New("no agent in it has the middleware serve.ClientTools")}
	}
	for _, t := range tools {
		if u.taken[t.Name] {
			return NewProblem(BadRequest, "the agent has a tool %q of its own: give yours another name", t.Name)
		}
	}
	return nil
}

// object is a part of a JSON Schema.
type object map[string]any

// inputSchema describes the input of a run: a text, or messages of users, and with trust of others, too.
func inputSchema(l Limits, trust bool) json.RawMessage {
	text := object{"type": "string"}
	medium := object{"type": "object", "properties": object{"url": object{"type": "string", "pattern": "^https://"},
		"base64data": text, "mime_type": text, "name": text}}
	part := object{"type": "object", "required": []string{"type"}, "properties": object{"text": text, "image": medium,
		"audio": medium, "video": medium, "file": medium,
		"type": object{"enum": []schema.ChatMessagePartType{schema.ChatMessagePartTypeText, schema.ChatMessagePartTypeImageURL,
			schema.ChatMessagePartTypeAudioURL, schema.ChatMessagePartTypeVideoURL, schema.ChatMessagePartTypeFileURL}}}}
	roles := []schema.RoleType{schema.User}
	properties := object{"content": text, "name": text, "user_input_multi_content": object{"type": "array", "items": part}}
	if trust {
		roles = append(roles, schema.Assistant, schema.Tool, schema.System)
		properties["tool_call_id"], properties["tool_name"], properties["reasoning_content"] = text, text, text
		function := object{"type": "object", "properties": object{"name": text, "arguments": text}}
		properties["tool_calls"] = object{"type": "array", "items": object{"type": "object",
			"required": []string{"id", "function"}, "properties": object{"id": text, "function": function}}}
	}
	properties["role"] = object{"enum": roles}
	message := object{"type": "object", "required": []string{"role"}, "properties": properties}
	data, _ := json.Marshal(object{"$schema": "https://json-schema.org/draft/2020-12/schema", "anyOf": []object{
		{"type": "string", "minLength": 1},
		{"type": "array", "minItems": 1, "maxItems": l.Messages, "items": message}}})
	return data
}
