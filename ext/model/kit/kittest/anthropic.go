package kittest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Anthropic returns a validator of the Messages protocol: of Anthropic's own service, of Bedrock and of Vertex. It
// tells them apart by the path of the request.
func Anthropic() *AnthropicMessages {
	return &AnthropicMessages{BedrockRefuses: []string{"eager_input_streaming", "defer_loading", "cache_control"}}
}

// AnthropicMessages is a [Validator] and an [Observer]. Set its fields before the first request. It is safe for
// concurrent use.
type AnthropicMessages struct {
	// Unsigned: the server is a compatible one, whose thinking has no signatures.
	Unsigned bool
	// BedrockRefuses lists fields that Bedrock refuses, at the top and in tools.
	BedrockRefuses []string

	mu       sync.Mutex          // mu guards issued, redacted
	issued   map[string][]string // thinking texts by signature; nil: nothing was observed
	redacted map[string]bool
}

// Issue makes the validator take a signature as one that the service gave to this thinking. From the first call on it
// refuses all signatures that were not issued.
func (a *AnthropicMessages) Issue(signature, thinking string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remember()
	a.issued[signature] = append(a.issued[signature], thinking)
}

func (a *AnthropicMessages) remember() {
	if a.issued == nil {
		a.issued, a.redacted = map[string][]string{}, map[string]bool{}
	}
}

// Observe implements [Observer].
func (a *AnthropicMessages) Observe(answer []byte) {
	type open struct{ text, signature strings.Builder }
	blocks := map[string]*open{}
	a.mu.Lock()
	a.remember()
	a.mu.Unlock()
	whole := func(block node) {
		switch block.get("type").text() {
		case "thinking":
			if s := block.get("signature").text(); s != "" {
				a.Issue(s, block.get("thinking").text())
			}
		case "redacted_thinking":
			a.mu.Lock()
			a.redacted[block.get("data").text()] = true
			a.mu.Unlock()
		}
	}
	for _, v := range answerValues(answer) {
		for _, block := range v.get("content").list() {
			whole(block)
		}
		index, delta, start := v.get("index").json(), v.get("delta"), v.get("content_block")
		if start.get("type").text() == "redacted_thinking" {
			whole(start)
		}
		if start.get("type").text() == "thinking" {
			blocks[index] = new(open)
			blocks[index].text.WriteString(start.get("thinking").text())
			blocks[index].signature.WriteString(start.get("signature").text())
		}
		block := blocks[index]
		if block == nil {
			continue
		}
		block.text.WriteString(delta.get("thinking").text())
		block.signature.WriteString(delta.get("signature").text())
		if v.get("type").text() == "content_block_stop" {
			if s := block.signature.String(); s != "" {
				a.Issue(s, block.text.String())
			}
			delete(blocks, index)
		}
	}
}

// Refuse implements [Validator].
func (a *AnthropicMessages) Refuse(w http.ResponseWriter, faults []Fault) {
	w.Header().Set("Request-Id", "req_refused")
	writeJSON(w, http.StatusBadRequest, map[string]any{
		"type": "error", "request_id": "req_refused",
		"error": map[string]any{"type": "invalid_request_error", "message": describe(faults)},
	})
}

var (
	anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	titleText     = regexp.MustCompile(`^[a-zA-Z0-9 \-()\[\]]+$`)
	// One of temperature and top_p only.
	oneSampling = regexp.MustCompile(`claude-(opus-4-[1-9]|sonnet-4-[5-9]|haiku-4-5|(opus|sonnet|haiku)-[5-9])(\D|$)`)
	// An answer cannot be begun by the caller.
	noPrefill = regexp.MustCompile(`claude-(opus-4-[6-9]|sonnet-4-[6-9]|(opus|sonnet|haiku)-[5-9])(\D|$)`)

	anthropicFields = []string{
		"max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "temperature", "top_p", "top_k",
		"stop_sequences", "metadata", "output_config", "cache_control",
	}
	// Fields of the first-party service beyond the common ones.
	anthropicOwnFields = []string{
		"model", "stream", "service_tier", "container", "inference_geo", "speed", "diagnostics", "mcp_servers",
		"context_management", "fallbacks",
	}
)

// anthropicCheck is the check of one request.
type anthropicCheck struct {
	*AnthropicMessages
	root    node
	backend string // api, bedrock, vertex
	count   bool   // tokens are counted only
	markers int    // cache markers so far
	short   bool   // a marker with the shorter lifetime was seen
	tools   []string
}

// Validate implements [Validator].
func (a *AnthropicMessages) Validate(req *http.Request, body []byte) []Fault {
	r := new(report)
	root, ok := parse(r, req, body)
	if !ok {
		return r.faults
	}
	c := &anthropicCheck{AnthropicMessages: a, root: root}
	c.count = strings.HasSuffix(req.URL.Path, "/count_tokens")
	c.target(r, req)
	c.settings()
	c.thinking()
	// Markers are counted in the order of the cached prefix: tools, system, messages.
	c.checkTools()
	c.system(root.get("system"))
	c.messages()
	if root.get("cache_control").given() {
		c.marker(root)
	}
	if c.markers > 4 {
		root.fault("A19", "%d cache markers; at most 4 are allowed", c.markers)
	}
	return r.faults
}

// target checks what depends on who serves the request: headers, model and version.
func (c *anthropicCheck) target(r *report, req *http.Request) {
	known := slices.Clone(anthropicFields)
	version := ""
	switch p := req.URL.Path; {
	case strings.Contains(p, "/invoke"):
		c.backend, version = "bedrock", "bedrock-2023-05-31"
		for _, field := range c.BedrockRefuses {
			known = slices.DeleteFunc(known, func(f string) bool { return f == field })
		}
	case strings.HasSuffix(p, "awPredict"):
		c.backend, version = "vertex", "vertex-2023-10-16"
		known = append(known, "stream")
	default:
		c.backend = "api"
		known = append(known, anthropicOwnFields...)
		c.root.get("model").required("A1")
		if req.Header.Get("Anthropic-Version") != "2023-06-01" {
			r.add("header Anthropic-Version", "A1", "%q is not 2023-06-01", req.Header.Get("Anthropic-Version"))
		}
		if req.Header.Get("X-Api-Key") == "" && !strings.HasPrefix(req.Header.Get("Authorization"), "Bearer ") {
			r.add("header X-Api-Key", "A1", "neither a key nor a bearer token")
		}
	}
	if version != "" {
		known = append(known, "anthropic_version", "anthropic_beta")
		if v := c.root.get("anthropic_version"); v.text() != version {
			v.fault("A36", "%s is not %q", v.json(), version)
		}
	}
	c.root.only("A13", known...)
}

// settings checks the scalar fields.
func (c *anthropicCheck) settings() {
	root := c.root
	root.get("stream").boolean("A1")
	if !root.get("max_tokens").given() && !c.count {
		root.get("max_tokens").fault("A2", "is required")
	}
	root.get("max_tokens").integer("A2", 0)
	root.get("temperature").between("A13", 0, 1)
	root.get("top_p").between("A13", 0, 1)
	root.get("top_k").integer("A13", 0)
	if root.get("temperature").given() && root.get("top_p").given() && oneSampling.MatchString(root.get("model").text()) {
		root.get("top_p").fault("A13", "this model takes only one of temperature and top_p")
	}
	for _, stop := range root.get("stop_sequences").list() {
		if stop.blank() {
			stop.fault("A13", "a stop sequence must not be blank")
		}
	}
	root.get("metadata").only("A13", "user_id")
	root.get("service_tier").oneOf("A13", "auto", "standard_only")
	if config := root.get("output_config"); config.exists() {
		config.only("A12", "effort", "format", "task_budget")
		config.get("effort").oneOf("A12", "low", "medium", "high", "xhigh", "max")
		if format := config.get("format"); format.given() {
			format.only("A12", "type", "schema")
			format.get("type").oneOf("A12", "json_schema")
			format.get("schema").object("A12")
		}
	}
}

// thinking checks the setting and what it excludes.
func (c *anthropicCheck) thinking() {
	thinking := c.root.get("thinking")
	if !thinking.given() {
		return
	}
	thinking.get("type").required("A14")
	thinking.get("type").oneOf("A14", "adaptive", "enabled", "disabled")
	thinking.get("display").oneOf("A14", "summarized", "omitted")
	if thinking.get("type").text() != "enabled" {
		thinking.only("A14", "type", "display")
		return
	}
	thinking.only("A14", "type", "display", "budget_tokens")
	budget, ok := thinking.get("budget_tokens").number()
	if !ok || budget < 1024 {
		thinking.get("budget_tokens").fault("A14", "must be an integer of at least 1024")
	}
	if limit, ok := c.root.get("max_tokens").number(); ok && budget >= limit {
		thinking.get("budget_tokens").fault("A14", "must be less than max_tokens")
	}
	if t, ok := c.root.get("temperature").number(); ok && t != 1 {
		c.root.get("temperature").fault("A14", "must not be set with budget thinking")
	}
	if p, ok := c.root.get("top_p").number(); ok && p < 0.95 {
		c.root.get("top_p").fault("A14", "must be at least 0.95 with budget thinking")
	}
	if c.root.get("top_k").given() {
		c.root.get("top_k").fault("A14", "must not be set with budget thinking")
	}
	if choice := c.root.get("tool_choice"); slices.Contains([]string{"any", "tool"}, choice.get("type").text()) {
		choice.fault("A9", "no tool may be forced with budget thinking")
	}
}

// checkTools checks the tools and their choice.
func (c *anthropicCheck) checkTools() {
	tools, choice := c.root.get("tools"), c.root.get("tool_choice")
	if tools.exists() {
		for _, tool := range tools.elements("K10") {
			c.tool(tool)
		}
	}
	if !choice.given() {
		return
	}
	if !tools.exists() {
		choice.fault("K10", "tool_choice without tools")
	}
	choice.get("disable_parallel_tool_use").boolean("A9")
	switch kind := choice.get("type").text(); kind {
	case "auto", "any":
		choice.only("A9", "type", "disable_parallel_tool_use")
	case "none":
		choice.only("A9", "type")
	case "tool":
		choice.only("A9", "type", "name", "disable_parallel_tool_use")
		if !slices.Contains(c.tools, choice.get("name").text()) {
			choice.get("name").fault("A9", "no tool is named %s", choice.get("name").json())
		}
	default:
		choice.get("type").fault("A9", "%q is none of auto, any, tool, none", kind)
	}
}

func (c *anthropicCheck) tool(tool node) {
	kind := tool.get("type").text()
	if kind != "mcp_toolset" {
		name := tool.get("name")
		name.match("K11", anthropicName)
		if slices.Contains(c.tools, name.text()) {
			name.fault("K11", "two tools are named %s", name.text())
		}
		c.tools = append(c.tools, name.text())
	}
	if tool.get("cache_control").given() {
		c.marker(tool)
	}
	if kind != "" && kind != "custom" {
		return // a tool of the service
	}
	tool.only("A7", "type", "name", "description", "input_schema", "strict", "defer_loading", "eager_input_streaming",
		"cache_control", "allowed_callers", "input_examples")
	for _, field := range c.BedrockRefuses {
		if c.backend == "bedrock" && field != "cache_control" && tool.get(field).exists() {
			tool.get(field).fault("A37", "Bedrock refuses %s", field)
		}
	}
	tool.get("input_schema").toolSchema()
}

// marker checks the cache marker of a block, a tool or the request, and counts it.
func (c *anthropicCheck) marker(of node) {
	marker := of.get("cache_control")
	c.markers++
	marker.only("A19", "type", "ttl", "scope")
	if marker.get("type").text() != "ephemeral" {
		marker.get("type").fault("A19", "must be ephemeral")
	}
	marker.get("ttl").oneOf("A19", "5m", "1h")
	long := marker.get("ttl").text() == "1h"
	if long && c.short {
		marker.get("ttl").fault("A21", "a marker of 1h after one of 5m")
	}
	c.short = c.short || !long
	switch kind := of.get("type").text(); {
	case kind == "thinking" || kind == "redacted_thinking":
		marker.fault("A21", "a block of type %s cannot carry a marker", kind)
	case kind == "text" && of.get("text").blank():
		marker.fault("A21", "a blank text cannot carry a marker")
	}
}

func (c *anthropicCheck) system(system node) {
	if !system.given() {
		return
	}
	if system.isString() {
		if system.blank() {
			system.fault("A6", "the text is blank")
		}
		return
	}
	for _, block := range system.elements("A4") {
		block.get("type").oneOf("A4", "text")
		c.block(block)
	}
}
