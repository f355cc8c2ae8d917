package kittest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A GeminiBackend is a service that speaks Gemini's protocol.
type GeminiBackend string

// The services: one with API keys, and Google Cloud's.
const (
	GeminiAPI    GeminiBackend = "api"
	GeminiVertex GeminiBackend = "vertex"
)

// Gemini returns a validator of the generateContent protocol.
func Gemini(backend GeminiBackend) *GeminiRequests { return &GeminiRequests{backend: backend} }

// GeminiRequests is a [Validator] and an [Observer]. It is safe for concurrent use.
type GeminiRequests struct {
	backend GeminiBackend

	mu     sync.Mutex            // mu guards signed, ids, seen
	signed map[string][]string   // contents of the parts that came with a signature, by signature; nil: nothing observed
	ids    map[string]bool       // ids of calls
	seen   map[string]signedness // calls, by their content
}

// signedness says how often a part of one content came with and without a signature.
type signedness struct{ signed, unsigned int }

// partContent returns what a part says, without its signature and, for a call, without its id.
func partContent(part node) string {
	if call := part.get("functionCall"); call.given() {
		args := "{}"
		if call.get("args").given() {
			args = call.get("args").json()
		}
		return "call " + call.get("name").text() + " " + args
	}
	content := map[string]any{}
	for _, key := range part.keys() {
		if key != "thoughtSignature" && key != "thought_signature" {
			content[key] = part.get(key).value
		}
	}
	if len(content) == 0 {
		content["text"] = ""
	}
	data, _ := json.Marshal(content)
	return string(data)
}

// Observe implements [Observer].
func (g *GeminiRequests) Observe(answer []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.signed == nil {
		g.signed, g.ids, g.seen = map[string][]string{}, map[string]bool{}, map[string]signedness{}
	}
	for _, v := range answerValues(answer) {
		for _, candidate := range v.get("candidates").list() {
			for _, part := range candidate.get("content").get("parts").list() {
				g.issue(part)
			}
		}
	}
}

func (g *GeminiRequests) issue(part node) {
	content := partContent(part)
	signature := part.get("thoughtSignature").text()
	if signature != "" {
		g.signed[signature] = append(g.signed[signature], content)
	}
	if !part.get("functionCall").given() {
		return
	}
	g.ids[part.get("functionCall").get("id").text()] = true
	s := g.seen[content]
	if signature != "" {
		s.signed++
	} else {
		s.unsigned++
	}
	g.seen[content] = s
}

// Refuse implements [Validator].
func (g *GeminiRequests) Refuse(w http.ResponseWriter, faults []Fault) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{
		"code": http.StatusBadRequest, "message": describe(faults), "status": "INVALID_ARGUMENT",
	}})
}

var (
	geminiName   = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
	geminiPath   = regexp.MustCompile(`/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$`)
	geminiFields = []string{
		"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent",
		"model", "serviceTier", "store", "generateContentRequest",
	}
	generationFields = []string{
		"candidateCount", "stopSequences", "maxOutputTokens", "temperature", "topP", "topK", "seed", "presencePenalty",
		"frequencyPenalty", "responseLogprobs", "logprobs", "responseMimeType", "responseSchema", "responseJsonSchema",
		"responseModalities", "speechConfig", "thinkingConfig", "mediaResolution", "imageConfig", "audioTimestamp",
		"enableEnhancedCivicAnswers", "routingConfig", "modelConfig", "enableAffectiveDialog",
	}
	serverTools = []string{
		"googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "computerUse", "fileSearch", "googleMaps",
		"retrieval", "enterpriseWebSearch", "mcpServers",
	}
	callingModes = []string{"AUTO", "ANY", "NONE", "VALIDATED"}
)

// geminiCheck is the check of one request.
type geminiCheck struct {
	*GeminiRequests
	root  node
	model string
	names []string // of the declared functions
}

// Validate implements [Validator].
func (g *GeminiRequests) Validate(req *http.Request, body []byte) []Fault {
	r := new(report)
	root, ok := parse(r, req, body)
	if !ok {
		return r.faults
	}
	c := &geminiCheck{GeminiRequests: g, root: root}
	if m := geminiPath.FindStringSubmatch(req.URL.Path); m != nil {
		c.model = m[1]
	} else {
		r.add("url", "HTTP", "the path %s names no model and method", req.URL.Path)
	}
	if strings.HasSuffix(req.URL.Path, ":streamGenerateContent") && req.URL.Query().Get("alt") != "sse" {
		r.add("url", "HTTP", "a stream without alt=sse is one JSON list")
	}
	known := geminiFields
	if g.backend == GeminiVertex {
		known = append([]string{"labels"}, known...)
	}
	root.only("G2", known...)
	functions, services := c.tools()
	c.toolConfig(functions, services)
	c.generation(functions)
	c.cached()
	if system := root.get("systemInstruction"); system.given() {
		for _, part := range system.get("parts").elements("G10") {
			part.only("G10", "text")
			part.get("text").required("G10")
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.contents()
	return r.faults
}

// tools checks the tools and reports which kinds there are.
func (c *geminiCheck) tools() (functions, services bool) {
	if !c.root.get("tools").exists() {
		return false, false
	}
	for _, tool := range c.root.get("tools").elements("K10") {
		tool.only("G11", append([]string{"functionDeclarations"}, serverTools...)...)
		if len(tool.keys()) != 1 {
			tool.fault("G11", "a tool has one kind, not %d", len(tool.keys()))
		}
		declarations := tool.get("functionDeclarations")
		if !declarations.exists() {
			services = true
			continue
		}
		if functions {
			tool.fault("G11", "a second list of functions: the model sees only the first one")
		}
		functions = true
		for _, declaration := range declarations.elements("K10") {
			c.declaration(declaration)
		}
	}
	return functions, services
}

func (c *geminiCheck) declaration(d node) {
	d.only("G11", "name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema",
		"behavior")
	name := d.get("name")
	name.match("K11", geminiName)
	if slices.Contains(c.names, name.text()) {
		name.fault("K11", "two tools are named %s", name.text())
	}
	c.names = append(c.names, name.text())
	schema, older := d.get("parametersJsonSchema"), d.get("parameters")
	if schema.exists() && older.exists() {
		older.fault("G20", "both forms of a schema")
	}
	if schema.exists() {
		schema.toolSchema()
		geminiSchema(schema, geminiKeywords)
	}
	if older.exists() {
		older.toolSchema()
		geminiSchema(older, openAPIKeywords)
	}
}

// Keywords of the two forms of a schema.
var (
	openAPIKeywords = []string{
		"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "minimum", "maximum",
		"minLength", "maxLength", "pattern", "anyOf", "properties", "required", "propertyOrdering", "minProperties",
		"maxProperties", "default", "example",
	}
	geminiKeywords = []string{
		"type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems", "minimum",
		"maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering", "nullable",
	}
	geminiFormats = []string{"date-time", "date", "time", "enum", "int32", "int64", "float", "double"}
)

// geminiSchema checks a schema and those in it.
func geminiSchema(schema node, keywords []string) {
	if schema.isBool() {
		return // additionalProperties
	}
	if !schema.object("G20") {
		return
	}
	schema.only("G20", keywords...)
	kind := schema.get("type")
	if kind.isList() {
		kind.fault("G20", "a list of types; anyOf does that")
	}
	if schema.get("format").given() {
		schema.get("format").oneOf("G20", geminiFormats...)
	}
	for _, value := range schema.get("enum").list() {
		if strings.EqualFold(kind.text(), "string") && !value.isString() {
			value.fault("G20", "a value of an enum of strings must be a string")
		}
	}
	if strings.EqualFold(kind.text(), "array") && !schema.get("items").exists() && !schema.get("prefixItems").exists() {
		schema.get("items").fault("G20", "an array needs items")
	}
	properties := schema.get("properties")
	for _, key := range properties.keys() {
		geminiSchema(properties.get(key), keywords)
	}
	for _, name := range schema.get("required").list() {
		if !properties.get(name.text()).exists() {
			name.fault("G20", "property %s is required and not defined", name.json())
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if schema.get(key).exists() {
			geminiSchema(schema.get(key), keywords)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "prefixItems"} {
		for _, part := range schema.get(key).list() {
			geminiSchema(part, keywords)
		}
	}
}

func (c *geminiCheck) toolConfig(functions, services bool) {
	config := c.root.get("toolConfig")
	include := config.get("includeServerSideToolInvocations")
	if functions && services && c.backend == GeminiVertex {
		c.root.get("tools").fault("G12", "Vertex takes no functions beside its own tools")
	}
	if functions && services && c.backend == GeminiAPI && !include.isTrue() {
		include.fault("G12", "must be true for functions beside tools of the service")
	}
	if !config.given() {
		return
	}
	config.only("G13", "functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations")
	if !functions && !services {
		config.fault("G13", "toolConfig without tools")
	}
	calling := config.get("functionCallingConfig")
	calling.only("G13", "mode", "allowedFunctionNames", "streamFunctionCallArguments")
	if calling.given() && !functions {
		calling.fault("G13", "a calling mode without functions")
	}
	mode := calling.get("mode")
	mode.oneOf("G13", callingModes...)
	allowed := calling.get("allowedFunctionNames")
	if len(allowed.list()) > 0 && mode.text() != "ANY" && mode.text() != "VALIDATED" {
		allowed.fault("G13", "names are for mode ANY only")
	}
	for _, name := range allowed.list() {
		if !slices.Contains(c.names, name.text()) {
			name.fault("G13", "no function is named %s", name.json())
		}
	}
}

// generation checks the settings.
func (c *geminiCheck) generation(functions bool) {
	g := c.root.get("generationConfig")
	g.only("G24", generationFields...)
	g.get("maxOutputTokens").integer("G24", 1)
	g.get("temperature").between("G24", 0, 2)
	g.get("topP").between("G24", 0, 1)
	g.get("topK").between("G24", 0, 1e6)
	thinking := g.get("thinkingConfig")
	thinking.only("G19", "includeThoughts", "thinkingBudget", "thinkingLevel")
	budget, level := thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
	level.oneOf("G19", "MINIMAL", "LOW", "MEDIUM", "HIGH", "minimal", "low", "medium", "high")
	budget.integer("G19", -1)
	if budget.given() && level.given() {
		level.fault("G19", "thinkingBudget and thinkingLevel may not be sent together")
	} else if level.given() && strings.HasPrefix(c.model, "gemini-2") {
		level.fault("G19", "%s takes thinkingBudget", c.model)
	} else if budget.given() && c.third() {
		budget.fault("G19", "%s takes thinkingLevel", c.model)
	}
	if n, ok := budget.number(); ok && strings.HasPrefix(c.model, "gemini-2.5-pro") && n >= 0 && n < 128 {
		budget.fault("G19", "%s thinks with at least 128 tokens", c.model)
	}
	schema, older, kind := g.get("responseJsonSchema"), g.get("responseSchema"), g.get("responseMimeType")
	structured := schema.given() || older.given()
	if structured && kind.text() != "application/json" && kind.text() != "text/x.enum" {
		kind.fault("G20", "must be application/json for an answer with a schema")
	}
	if schema.given() {
		geminiSchema(schema, geminiKeywords)
	}
	if older.given() {
		geminiSchema(older, openAPIKeywords)
	}
	if functions && !c.third() && (structured || kind.text() == "application/json") {
		kind.fault("G21", "%s gives no JSON answers while it has functions", c.model)
	}
}

// third reports whether the model is of the third generation or later.
func (c *geminiCheck) third() bool {
	version, ok := strings.CutPrefix(c.model, "gemini-")
	return ok && version >= "3" && version[0] <= '9'
}

func (c *geminiCheck) cached() {
	if !c.root.get("cachedContent").given() {
		return
	}
	for _, key := range []string{"systemInstruction", "tools", "toolConfig"} {
		if c.root.get(key).given() {
			c.root.get(key).fault("G23", "%s is part of the cached content", key)
		}
	}
}
