package kittest

import (
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ChatRules say what one server of the Chat Completions protocol accepts beyond, or refuses of, what all accept. They
// are data: copy a ready value and change it for a server of your own.
type ChatRules struct {
	Name   string
	Status int // of a refusal; 0: 400

	// Fields of the request beyond the common ones, and common ones that this server refuses.
	Fields, Refused []string
	// AnyField: fields that the server does not know are ignored, not refused, at the top and in messages.
	AnyField bool
	// Exclusive lists pairs of fields that may not be sent together.
	Exclusive [][2]string
	// ReasoningModels are prefixes of models that refuse the fields in ReasoningRefuses.
	ReasoningModels, ReasoningRefuses []string

	Roles           []string // beyond user, assistant and tool
	SystemFirst     bool     // a system message stands at the start only
	NoUserAfterTool bool     // after a tool message comes an assistant message, not a user's
	NoPrefill       bool     // the last message is no assistant message, unless it has prefix: true

	AssistantFields   []string // of assistant messages beyond the common ones, such as reasoning_content
	ThinkingParts     bool     // contents of assistant messages may have parts of type thinking
	ReasoningRequired string   // field that each assistant message with calls must have, unless thinking is disabled

	CallID      *regexp.Regexp // form of the ids of calls; nil: any that is not empty
	RepeatedIDs bool           // an id may stand for different calls of one history
	ObjectArgs  bool           // arguments must parse as a JSON object
	TextOnly    bool           // contents take no media
	ToolMedia   bool           // tool messages take media

	ForcedWords      []string // words for "some tool must be called"; nil: required
	NoNamedChoice    bool     // no single tool may be forced
	NoForcedThinking bool     // no tool may be forced while thinking is on
	NoStrict         bool     // a function has no field strict
	StreamToThink    bool     // enable_thinking: true needs stream: true
}

// ChatCompletions returns a validator for servers of the Chat Completions protocol.
func ChatCompletions(rules ChatRules) Validator { return &chat{rules} }

type chat struct{ ChatRules }

func (c *chat) Refuse(w http.ResponseWriter, faults []Fault) {
	status := c.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	if c.Name == "Mistral" {
		writeJSON(w, status, map[string]any{"object": "error", "message": describe(faults), "type": "invalid_request_error"})
		return
	}
	refuseAsOpenAI(w, status, faults)
}

// chatFields are the fields of a request that every server of the protocol knows.
var chatFields = []string{
	"model", "messages", "stream", "stream_options", "max_tokens", "temperature", "top_p", "stop", "n", "seed", "user",
	"presence_penalty", "frequency_penalty", "response_format", "tools", "tool_choice",
}

var (
	chatName    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	dataURL     = regexp.MustCompile(`^data:[a-z]+/[a-zA-Z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$`)
	webURL      = regexp.MustCompile(`^https?://`)
	forcedWords = []string{"required"}
)

func (c *chat) Validate(req *http.Request, body []byte) []Fault {
	r := new(report)
	root, ok := parse(r, req, body)
	if !ok {
		return r.faults
	}
	if path.Base(req.URL.Path) != "completions" {
		r.add("url", "HTTP", "the path %s does not end in chat/completions", req.URL.Path)
	}
	if !strings.Contains(req.URL.Path, "/deployments/") {
		root.get("model").required("HTTP")
	}
	c.fields(root)
	c.settings(root)
	names := c.tools(root)
	c.choice(root, names)
	c.messages(root)
	return r.faults
}

// fields checks which fields the request has.
func (c *chat) fields(root node) {
	if !c.AnyField {
		root.only("D4", slices.Concat(chatFields, c.Fields)...)
	}
	for _, key := range c.Refused {
		if root.get(key).exists() {
			root.get(key).fault("D4", "%s refuses %s", c.Name, key)
		}
	}
	for _, pair := range c.Exclusive {
		if root.get(pair[0]).given() && root.get(pair[1]).given() {
			root.get(pair[1]).fault("D4", "%s and %s may not be sent together", pair[0], pair[1])
		}
	}
	model := path.Base(root.get("model").text())
	reasons := slices.ContainsFunc(c.ReasoningModels, func(p string) bool { return strings.HasPrefix(model, p) })
	for _, key := range c.ReasoningRefuses {
		if reasons && root.get(key).given() {
			root.get(key).fault("K15", "model %s refuses %s", model, key)
		}
	}
}

// settings checks the values of the scalar fields.
func (c *chat) settings(root node) {
	root.get("stream").boolean("D4")
	if options := root.get("stream_options"); options.exists() {
		options.object("D4")
		options.only("D4", "include_usage", "include_obfuscation")
		if !root.get("stream").isTrue() {
			options.fault("D4", "stream_options is for stream: true only")
		}
	}
	root.get("max_tokens").integer("D4", 1)
	root.get("max_completion_tokens").integer("D4", 1)
	root.get("temperature").between("D4", 0, 2)
	root.get("top_p").between("D4", 0, 1)
	root.get("presence_penalty").between("D4", -2, 2)
	root.get("frequency_penalty").between("D4", -2, 2)
	root.get("n").integer("D4", 1)
	if stop := root.get("stop"); stop.isList() && len(stop.list()) > 4 {
		stop.fault("D4", "more than 4 stop sequences")
	}
	if c.StreamToThink && root.get("enable_thinking").isTrue() && !root.get("stream").isTrue() {
		root.get("enable_thinking").fault("C11", "thinking is for stream: true only")
	}
	format := root.get("response_format")
	if !format.given() {
		return
	}
	format.get("type").required("D4")
	format.get("type").oneOf("D4", "text", "json_object", "json_schema")
	if schema := format.get("json_schema"); format.get("type").text() == "json_schema" && schema.object("D4") {
		schema.only("D4", "name", "description", "schema", "strict")
		schema.get("name").match("D4", chatName)
		if schema.get("strict").isTrue() {
			schema.get("schema").strictSchema()
		}
	}
}

// tools checks the tools and returns their names.
func (c *chat) tools(root node) (names []string) {
	if !root.get("tools").exists() {
		if root.get("parallel_tool_calls").exists() {
			root.get("parallel_tool_calls").fault("K10", "parallel_tool_calls without tools")
		}
		return nil
	}
	for _, tool := range root.get("tools").elements("K10") {
		if tool.get("type").text() != "function" {
			if !c.AnyField && !slices.Contains(c.Fields, "plugins") {
				tool.get("type").oneOf("D4", "function", "custom")
			}
			continue
		}
		tool.only("D4", "type", "function", "cache_control")
		function := tool.get("function")
		if !function.object("D4") {
			continue
		}
		function.only("D4", "name", "description", "parameters", "strict")
		if c.NoStrict && function.get("strict").exists() {
			function.get("strict").fault("D4", "%s does not know strict", c.Name)
		}
		function.get("name").match("K11", chatName)
		if slices.Contains(names, function.get("name").text()) {
			function.get("name").fault("K11", "two tools are named %s", function.get("name").text())
		}
		names = append(names, function.get("name").text())
		if function.get("parameters").exists() {
			function.get("parameters").toolSchema()
		}
		if function.get("strict").isTrue() {
			function.get("parameters").strictSchema()
		}
	}
	return names
}

// choice checks tool_choice.
func (c *chat) choice(root node, names []string) {
	choice := root.get("tool_choice")
	if !choice.exists() {
		return
	}
	if len(names) == 0 && !root.get("tools").exists() {
		choice.fault("K10", "tool_choice without tools")
	}
	forced := c.ForcedWords
	if forced == nil {
		forced = forcedWords
	}
	if choice.isString() {
		choice.oneOf("D4", append([]string{"auto", "none"}, forced...)...)
	} else if choice.get("type").text() == "function" {
		name := choice.get("function").get("name")
		if c.NoNamedChoice {
			choice.fault("D4", "%s forces no single tool", c.Name)
		} else if !slices.Contains(names, name.text()) {
			name.fault("K10", "no tool is named %s", name.json())
		}
	} else if choice.get("type").text() != "allowed_tools" {
		choice.fault("D4", "must be a word or an object of type function")
	}
	isForced := choice.isObject() || slices.Contains(forced, choice.text())
	if c.NoForcedThinking && isForced && thinks(root) {
		choice.fault("K15", "no tool may be forced while thinking is on")
	}
}

// thinks reports whether thinking is not turned off: these servers think when nothing is said.
func thinks(root node) bool {
	return root.get("thinking").get("type").text() != "disabled" && root.get("enable_thinking").value != false
}

// chatTurn holds what the messages so far require of the next one.
type chatTurn struct {
	calls map[string]bool // id of a call of the latest assistant message: has its result
	ids   map[string]bool // all ids so far
	open  int             // calls without a result
}

// messages checks the conversation.
func (c *chat) messages(root node) {
	turn := &chatTurn{ids: map[string]bool{}}
	messages := root.get("messages").elements("K16")
	for n, m := range messages {
		if !m.object("D4") {
			continue
		}
		role := m.get("role").text()
		if role != "tool" && turn.open > 0 {
			m.fault("K16", "%d calls have no result before the next %s message", turn.open, role)
			turn.open = 0
		}
		switch {
		case role == "assistant":
			c.assistant(root, m, turn)
		case role == "tool":
			c.result(m, turn)
		case role == "user":
			c.messageFields(m, "role", "content", "name")
			if c.NoUserAfterTool && n > 0 && messages[n-1].get("role").text() == "tool" {
				m.fault("K16", "a user message right after a tool message")
			}
			c.content(m.get("content"), !c.TextOnly)
		case slices.Contains(c.Roles, role):
			c.messageFields(m, "role", "content", "name")
			c.content(m.get("content"), false)
			if c.SystemFirst && n > 0 {
				m.fault("K16", "a %s message that is not the first", role)
			}
		default:
			m.get("role").fault("D4", "role %s is unknown", m.get("role").json())
		}
	}
	if turn.open > 0 {
		root.get("messages").fault("K16", "%d calls at the end have no result", turn.open)
	}
	if len(messages) > 0 && c.NoPrefill {
		last := messages[len(messages)-1]
		if last.get("role").text() == "assistant" && !last.get("prefix").isTrue() {
			last.fault("K16", "the last message is the assistant's, without prefix: true")
		}
	}
}

func (c *chat) messageFields(m node, known ...string) {
	if !c.AnyField {
		m.only("C1", known...)
	}
}

// assistant checks an assistant message and opens the turn of its calls.
func (c *chat) assistant(root, m node, turn *chatTurn) {
	known := []string{"role", "content", "name", "tool_calls", "refusal", "audio"}
	c.messageFields(m, append(known, c.AssistantFields...)...)
	content, calls := m.get("content"), m.get("tool_calls")
	if content.given() {
		c.content(content, false)
	}
	if !content.given() && !calls.exists() && !m.get("refusal").given() && !m.get("audio").given() {
		m.fault("K16", "an assistant message with neither content nor calls")
	}
	if m.get("reasoning_details").given() && (m.get("reasoning").given() || m.get("reasoning_content").given()) {
		m.get("reasoning_details").fault("C4", "reasoning_details beside a second form of the same thinking")
	}
	turn.calls, turn.open = map[string]bool{}, 0
	if !calls.exists() {
		return
	}
	if field := c.ReasoningRequired; field != "" && !m.get(field).isString() && thinks(root) {
		m.get(field).fault("C3", "%s is missing in an assistant message with calls", field)
	}
	for _, call := range calls.elements("D4") {
		call.only("C2", "id", "type", "function", "index")
		call.get("type").oneOf("D4", "function", "custom")
		id := call.get("id").required("K12")
		if c.CallID != nil {
			call.get("id").match("K12", c.CallID)
		}
		if _, again := turn.calls[id]; again || turn.ids[id] && !c.RepeatedIDs {
			call.get("id").fault("K12", "%q is the id of an earlier call, too", id)
		}
		turn.calls[id], turn.ids[id] = false, true
		call.get("function").only("D4", "name", "arguments")
		call.get("function").get("name").match("K11", chatName)
		c.arguments(call.get("function").get("arguments"))
	}
	turn.open = len(turn.calls)
}

func (c *chat) arguments(args node) {
	if !args.isString() {
		args.fault("K13", "must be a string")
		return
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(args.text()), &object); c.ObjectArgs && (err != nil || object == nil) {
		args.fault("K13", "%s is no JSON object", args.json())
	}
}

// result checks a tool message against the open calls.
func (c *chat) result(m node, turn *chatTurn) {
	c.messageFields(m, "role", "content", "tool_call_id", "name")
	id := m.get("tool_call_id").required("K16")
	switch done, known := turn.calls[id]; {
	case !known:
		m.get("tool_call_id").fault("K16", "%q is no call of the assistant message before", id)
	case done:
		m.get("tool_call_id").fault("K16", "a second result of call %q", id)
	default:
		turn.calls[id] = true
		turn.open--
	}
	if !m.get("content").given() {
		m.get("content").fault("K14", "a tool message needs a content, if only an empty one")
		return
	}
	c.content(m.get("content"), c.ToolMedia)
}

// content checks a text or a list of parts.
func (c *chat) content(content node, media bool) {
	if content.isString() {
		return
	}
	for _, part := range content.elements("D4") {
		kind := part.get("type").text()
		switch {
		case kind == "text" || kind == "refusal":
			if !part.get(kind).isString() {
				part.get(kind).fault("D4", "must be a string")
			}
		case kind == "thinking" && c.ThinkingParts:
		case kind == "image_url" && media:
			url := part.get("image_url").get("url")
			if !dataURL.MatchString(url.text()) && !webURL.MatchString(url.text()) {
				url.fault("K17", "must be a data URL with base64 or a web address")
			}
		case (kind == "input_audio" || kind == "file" || kind == "video_url") && media:
			part.get(kind).object("K17")
		default:
			part.get("type").fault("K17", "a part of type %s is refused here", part.get("type").json())
		}
	}
}
