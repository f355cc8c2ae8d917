package kittest

import (
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Responses returns a validator of OpenAI's Responses protocol.
func Responses() *ResponsesRequests {
	return &ResponsesRequests{ReasoningModels: []string{"o1", "o3", "o4", "gpt-5"}}
}

// ResponsesRequests is a [Validator] and an [Observer]. Set its fields before the first request. It is safe for
// concurrent use.
type ResponsesRequests struct {
	// ReasoningModels are prefixes of the models that reason.
	ReasoningModels []string

	mu     sync.Mutex // mu guards issued, stored
	issued map[string]issuedItem
	stored map[string][]string // by id of a response: call ids that await an output
}

// An issuedItem is an output item as it was handed out.
type issuedItem struct {
	kind, encrypted string
	streamed        string // the encrypted content of its own event, which is another encryption than the terminal event's
	reasoning       string // id of the reasoning item before it in its response
	next            string // id of the item after it
}

// Observe implements [Observer].
func (p *ResponsesRequests) Observe(answer []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.issued == nil {
		p.issued, p.stored = map[string]issuedItem{}, map[string][]string{}
	}
	streamed := map[string]string{}
	for _, v := range answerValues(answer) {
		if v.get("type").text() == "response.output_item.done" {
			streamed[v.get("item").get("id").text()] = v.get("item").get("encrypted_content").text()
		}
		if v.get("response").isObject() {
			v = v.get("response") // of a terminal event
		}
		if v.get("output").isList() {
			p.issue(v)
		}
	}
	for id, encrypted := range streamed {
		if item, ok := p.issued[id]; ok {
			item.streamed = encrypted
			p.issued[id] = item
		}
	}
}

func (p *ResponsesRequests) issue(response node) {
	reasoning, before := "", ""
	var open []string
	for _, item := range response.get("output").list() {
		id, kind := item.get("id").text(), item.get("type").text()
		p.issued[id] = issuedItem{kind: kind, encrypted: item.get("encrypted_content").text(), reasoning: reasoning}
		if last, ok := p.issued[before]; ok && before != "" {
			last.next = id
			p.issued[before] = last
		}
		if kind == "reasoning" {
			reasoning = id
		}
		if strings.HasSuffix(kind, "tool_call") || kind == "function_call" {
			open = append(open, item.get("call_id").text())
		}
		before = id
	}
	p.stored[response.get("id").text()] = open
}

// Refuse implements [Validator].
func (p *ResponsesRequests) Refuse(w http.ResponseWriter, faults []Fault) {
	refuseAsOpenAI(w, http.StatusBadRequest, faults)
}

var (
	responsesFields = []string{
		"model", "input", "instructions", "max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs",
		"reasoning", "text", "store", "previous_response_id", "conversation", "include", "truncation", "service_tier",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "metadata", "background",
		"parallel_tool_calls", "context_management", "stream", "stream_options", "tools", "tool_choice", "prompt", "user",
	}
	// Fields of the items whose form is checked.
	responsesItems = map[string][]string{
		"message":                 {"role", "content", "id", "status", "phase"},
		"reasoning":               {"id", "summary", "content", "encrypted_content", "status"},
		"function_call":           {"id", "call_id", "name", "arguments", "status", "namespace", "caller"},
		"function_call_output":    {"id", "call_id", "output", "status", "caller"},
		"custom_tool_call":        {"id", "call_id", "name", "input", "namespace", "caller", "status"},
		"custom_tool_call_output": {"id", "call_id", "output", "caller", "status"},
		"item_reference":          {"id"},
		"mcp_approval_response":   {"id", "approval_request_id", "approve", "reason"},
	}
	// Types of items that are passed through.
	otherItems = []string{
		"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "computer_call",
		"computer_call_output", "shell_call", "shell_call_output", "local_shell_call", "local_shell_call_output",
		"apply_patch_call", "apply_patch_call_output", "mcp_list_tools", "mcp_call", "mcp_approval_request",
		"tool_search_call", "tool_search_output", "compaction", "program", "program_output", "additional_tools",
	}
	responsesEffort = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	imageURL        = regexp.MustCompile(`^(https?://|data:image/)`)
)

// responsesCheck is the check of one request.
type responsesCheck struct {
	*ResponsesRequests
	root    node
	reasons bool            // the model reasons
	open    map[string]bool // call ids of the input and of the predecessor: has its output
	ids     map[string]bool // ids of items
	own     map[string]bool // call ids in the input
}

// Validate implements [Validator].
func (p *ResponsesRequests) Validate(req *http.Request, body []byte) []Fault {
	r := new(report)
	root, ok := parse(r, req, body)
	if !ok {
		return r.faults
	}
	if path.Base(req.URL.Path) != "responses" {
		r.add("url", "HTTP", "the path %s does not end in /responses", req.URL.Path)
	}
	model := path.Base(root.get("model").required("R1"))
	c := &responsesCheck{
		ResponsesRequests: p, root: root,
		reasons: slices.ContainsFunc(p.ReasoningModels, func(m string) bool { return strings.HasPrefix(model, m) }),
		open:    map[string]bool{}, ids: map[string]bool{}, own: map[string]bool{},
	}
	root.only("R1", responsesFields...)
	c.settings()
	c.format(root.get("text"))
	c.state()
	c.tools()
	p.mu.Lock()
	defer p.mu.Unlock()
	c.input()
	return r.faults
}

func (c *responsesCheck) settings() {
	root := c.root
	root.get("max_output_tokens").integer("R1", 16)
	root.get("temperature").between("R1", 0, 2)
	root.get("top_p").between("R1", 0, 1)
	root.get("truncation").oneOf("R1", "auto", "disabled")
	root.get("prompt_cache_retention").oneOf("R1", "in_memory", "24h")
	reasoning := root.get("reasoning")
	reasoning.only("R1", "effort", "summary", "context", "mode", "generate_summary")
	reasoning.get("effort").oneOf("R1", responsesEffort...)
	reasoning.get("summary").oneOf("R1", "auto", "concise", "detailed")
	if reasoning.given() && !c.reasons {
		reasoning.fault("R9", "model %s does not reason", root.get("model").json())
	}
	for _, key := range []string{"temperature", "top_p"} {
		if c.reasons && root.get(key).given() && reasoning.get("effort").text() != "none" {
			root.get(key).fault("R9", "a reasoning model refuses %s", key)
		}
	}
	if root.get("stream_options").exists() && !root.get("stream").isTrue() {
		root.get("stream_options").fault("R1", "stream_options is for stream: true only")
	}
	if n := len(root.get("metadata").keys()); n > 16 {
		root.get("metadata").fault("R1", "%d entries; at most 16 are allowed", n)
	}
}

func (c *responsesCheck) format(text node) {
	text.only("R1", "format", "verbosity")
	text.get("verbosity").oneOf("R1", "low", "medium", "high")
	format := text.get("format")
	if !format.given() {
		return
	}
	format.get("type").required("R1")
	format.get("type").oneOf("R1", "text", "json_object", "json_schema")
	if format.get("type").text() != "json_schema" {
		return
	}
	format.only("R1", "type", "name", "schema", "strict", "description")
	format.get("name").match("R1", chatName)
	format.get("schema").object("R1")
	if format.get("strict").isTrue() {
		format.get("schema").strictSchema()
	}
}

// state checks what depends on whether the service keeps the conversation.
func (c *responsesCheck) state() {
	root := c.root
	previous := root.get("previous_response_id")
	if previous.given() && root.get("conversation").given() {
		previous.fault("R16", "conversation and previous_response_id may not be sent together")
	}
	if root.get("background").isTrue() && root.get("store").value == false {
		root.get("background").fault("R26", "a background response must be stored")
	}
	for _, include := range root.get("include").list() {
		if include.text() == "reasoning.encrypted_content" && !c.reasons {
			include.fault("R10", "model %s does not reason", root.get("model").json())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, known := c.stored[previous.text()]
	if previous.given() && c.stored != nil && !known {
		previous.fault("R17", "response %s is unknown", previous.json())
	}
	for _, id := range calls {
		c.open[id] = false
	}
}

// tools checks the tools and their choice.
func (c *responsesCheck) tools() {
	root := c.root
	var names []string
	if root.get("tools").exists() {
		for _, tool := range root.get("tools").elements("K10") {
			kind := tool.get("type").required("R4")
			if kind != "function" {
				continue
			}
			tool.only("R4", "type", "name", "description", "parameters", "strict", "defer_loading", "allowed_callers")
			tool.get("name").match("K11", chatName)
			if slices.Contains(names, tool.get("name").text()) {
				tool.get("name").fault("K11", "two tools are named %s", tool.get("name").text())
			}
			names = append(names, tool.get("name").text())
			if !tool.get("strict").isBool() {
				tool.get("strict").fault("R4", "strict must be sent: without it the service takes true")
			}
			tool.get("parameters").toolSchema()
			if tool.get("strict").isTrue() {
				tool.get("parameters").strictSchema()
			}
		}
	}
	choice := root.get("tool_choice")
	if !choice.given() {
		return
	}
	if !root.get("tools").exists() {
		choice.fault("K10", "tool_choice without tools")
	}
	if choice.isString() {
		choice.oneOf("R6", "auto", "none", "required")
		return
	}
	switch choice.get("type").required("R6") {
	case "function":
		choice.only("R6", "type", "name")
		if !slices.Contains(names, choice.get("name").text()) {
			choice.get("name").fault("R6", "no tool is named %s", choice.get("name").json())
		}
	case "allowed_tools":
		choice.only("R6", "type", "mode", "tools")
		choice.get("mode").required("R6")
		choice.get("mode").oneOf("R6", "auto", "required")
		for _, tool := range choice.get("tools").elements("R6") {
			if tool.get("type").text() == "function" && !slices.Contains(names, tool.get("name").text()) {
				tool.get("name").fault("R6", "no tool is named %s", tool.get("name").json())
			}
		}
	}
}
