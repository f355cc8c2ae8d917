package kittest

import (
	"slices"
	"strings"
)

// anthropicBlocks has the fields of the blocks by type. Blocks with nil fields are not looked into.
var anthropicBlocks = map[string][]string{
	"text":              {"text", "citations"},
	"image":             {"source"},
	"document":          {"source", "title", "context", "citations"},
	"search_result":     {"source", "title", "content", "citations"},
	"tool_reference":    {"tool_name"},
	"tool_use":          {"id", "name", "input", "caller"},
	"tool_result":       {"tool_use_id", "content", "is_error"},
	"thinking":          {"thinking", "signature"},
	"redacted_thinking": {"data"},
	"server_tool_use":   {"id", "name", "input", "caller"},
	"container_upload":  {"file_id"},
	"mcp_tool_use":      nil, "mcp_tool_result": nil, "compaction": nil, "fallback": nil,
}

var (
	userBlocks   = []string{"text", "image", "document", "search_result", "tool_result", "container_upload"}
	resultBlocks = []string{"text", "image", "document", "search_result", "tool_reference"}
	imageTypes   = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
)

// messages checks the conversation.
func (c *anthropicCheck) messages() {
	messages := c.root.get("messages").elements("K16")
	ids := map[string]bool{}
	var pending []string // ids of the calls of the message before
	before := ""
	for n, m := range messages {
		m.only("A21", "role", "content")
		m.get("role").oneOf("A5", "user", "assistant", "system")
		role := m.get("role").text()
		if n == 0 && role != "user" {
			m.get("role").fault("A5", "the first message must be the user's")
		}
		if role == before {
			m.get("role").fault("A5", "two %s messages follow each other", role)
		}
		blocks := c.contents(m)
		c.results(m, blocks, pending)
		before, pending = role, nil
		if role == "assistant" {
			pending = c.calls(blocks, ids)
			c.searches(blocks, n == len(messages)-1)
		}
	}
	if len(messages) == 0 {
		return
	}
	if len(pending) > 0 {
		c.root.get("messages").fault("K16", "the calls of the last message have no results")
	}
	if len(ids) > 0 && !c.root.get("tools").exists() {
		c.root.get("tools").fault("A8", "must be sent, as the history has calls")
	}
	c.lastMessage(messages[len(messages)-1])
	c.openTurn(messages)
}

// contents checks the content of a message and returns its blocks.
func (c *anthropicCheck) contents(m node) []node {
	content := m.get("content")
	if content.isString() {
		if content.blank() {
			content.fault("A6", "the text is blank")
		}
		return nil
	}
	blocks := content.elements("A6")
	for _, block := range blocks {
		kind := block.get("type").text()
		fromUser := slices.Contains(userBlocks, kind)
		switch role := m.get("role").text(); {
		case role == "user" && !fromUser:
			block.get("type").fault("A5", "no block of type %s in a user message", kind)
		case role == "assistant" && fromUser && kind != "text":
			block.get("type").fault("A5", "no block of type %s in an assistant message", kind)
		}
		c.block(block)
	}
	return blocks
}

// block checks one block of any message.
func (c *anthropicCheck) block(block node) {
	if !block.object("A5") {
		return
	}
	kind := block.get("type").text()
	fields, known := anthropicBlocks[kind]
	if !known && !strings.HasSuffix(kind, "_tool_result") {
		block.get("type").fault("A5", "blocks of type %s are unknown", block.get("type").json())
		return
	}
	if fields != nil {
		block.only("A5", append([]string{"type", "cache_control"}, fields...)...)
	}
	if block.get("cache_control").given() {
		c.marker(block)
	}
	switch kind {
	case "text":
		if block.get("text").blank() {
			block.get("text").fault("A6", "the text is blank")
		}
	case "tool_use", "server_tool_use":
		block.get("id").match("K12", anthropicID)
		block.get("name").match("K11", anthropicName)
		block.get("input").object("A10")
	case "tool_result":
		c.resultContent(block)
	case "thinking":
		c.signed(block)
	case "redacted_thinking":
		c.mu.Lock()
		issued := c.issued == nil || c.redacted[block.get("data").text()]
		c.mu.Unlock()
		if block.get("data").required("A15"); !issued {
			block.get("data").fault("A15", "this data was not issued")
		}
	case "image", "document":
		c.source(block, kind)
	}
}

func (c *anthropicCheck) resultContent(block node) {
	block.get("tool_use_id").required("A10")
	block.get("is_error").boolean("A10")
	content := block.get("content")
	if content.given() && !content.isString() && !content.isList() {
		content.fault("A10", "must be a text or a list of blocks")
	}
	for _, inner := range content.list() {
		if kind := inner.get("type").text(); !slices.Contains(resultBlocks, kind) {
			inner.get("type").fault("A10", "no block of type %q in a result", kind)
			continue
		}
		c.block(inner)
	}
}

// signed checks the signature of a thinking block.
func (c *anthropicCheck) signed(block node) {
	if !block.get("thinking").isString() {
		block.get("thinking").fault("A15", "must be a string")
	}
	signature := block.get("signature")
	if c.Unsigned {
		return
	}
	if signature.text() == "" {
		signature.fault("A16", "thinking without a signature")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	texts, known := c.issued[signature.text()]
	switch {
	case c.issued != nil && !known:
		signature.fault("A15", "this signature was not issued")
	case known && !slices.Contains(texts, block.get("thinking").text()):
		block.get("thinking").fault("A15", "the signature belongs to another thinking")
	}
}

func (c *anthropicCheck) source(block node, kind string) {
	source := block.get("source")
	media := source.get("media_type")
	switch form := source.get("type").text(); {
	case form == "base64" && kind == "image":
		media.required("A11")
		media.oneOf("A11", imageTypes...)
		source.get("data").base64("A11")
	case form == "base64":
		media.required("A11")
		media.oneOf("A11", "application/pdf")
		source.get("data").base64("A11")
	case form == "url":
		source.get("url").match("A11", webURL)
	case form == "file":
		source.get("file_id").required("A11")
	case form == "text" && kind == "document":
		media.oneOf("A11", "text/plain")
		source.get("data").required("A11")
	case form == "content" && kind == "document":
	default:
		source.get("type").fault("A11", "no source of type %s for a block of type %s", source.get("type").json(), kind)
	}
	if title := block.get("title"); title.given() && !titleText.MatchString(title.text()) {
		title.fault("A11", "only letters, digits, spaces and -()[] are allowed")
	}
}

// results checks the results in a message against the calls of the message before.
func (c *anthropicCheck) results(m node, blocks []node, pending []string) {
	var done []string
	for n, block := range blocks {
		if block.get("type").text() != "tool_result" {
			continue
		}
		id := block.get("tool_use_id")
		switch {
		case slices.Contains(done, id.text()):
			id.fault("K16", "a second result of call %q", id.text())
		case !slices.Contains(pending, id.text()):
			id.fault("K16", "%q is no call of the message before", id.text())
		}
		if n > 0 && blocks[n-1].get("type").text() != "tool_result" {
			block.fault("A5", "a result after other content of its message")
		}
		done = append(done, id.text())
	}
	for _, id := range pending {
		if !slices.Contains(done, id) {
			m.fault("A5", "no result of call %q in the message after it", id)
		}
	}
}

// calls returns the ids of the calls among the blocks.
func (c *anthropicCheck) calls(blocks []node, ids map[string]bool) (pending []string) {
	for _, block := range blocks {
		if block.get("type").text() != "tool_use" {
			continue
		}
		id := block.get("id")
		if ids[id.text()] {
			id.fault("K12", "%q is the id of an earlier call, too", id.text())
		}
		ids[id.text()] = true
		pending = append(pending, id.text())
	}
	if len(blocks) > 0 {
		last := blocks[len(blocks)-1]
		if kind := last.get("type").text(); kind == "thinking" || kind == "redacted_thinking" {
			last.fault("A15", "the last block of an assistant message must not be thinking")
		}
	}
	return pending
}

// searches checks that the searches and fetches of the service stand before their results. Only the last message may
// have one without, as it is when the service has paused.
func (c *anthropicCheck) searches(blocks []node, last bool) {
	open := map[string]node{}
	for _, block := range blocks {
		kind, id := block.get("type").text(), block.get("tool_use_id").text()
		switch name := block.get("name").text(); {
		case kind == "server_tool_use" && (name == "web_search" || name == "web_fetch"):
			open[block.get("id").text()] = block
		case kind == "web_search_tool_result" || kind == "web_fetch_tool_result":
			if _, known := open[id]; !known {
				block.get("tool_use_id").fault("A24", "%q is no call of the service before", id)
			}
			delete(open, id)
		}
	}
	for id, block := range open {
		if !last {
			block.fault("A33", "call %q of the service has no result", id)
		}
	}
}

// lastMessage checks a conversation that ends with the beginning of an answer.
func (c *anthropicCheck) lastMessage(m node) {
	if m.get("role").text() != "assistant" {
		return
	}
	text := m.get("content")
	paused := false
	if blocks := text.list(); len(blocks) > 0 {
		last := blocks[len(blocks)-1]
		text = last.get("text")
		for _, block := range blocks {
			paused = paused || block.get("type").text() == "server_tool_use"
		}
	}
	if text.isString() && strings.TrimRight(text.text(), " \t\r\n") != text.text() {
		text.fault("A6", "the text of the last assistant message ends with white space")
	}
	if noPrefill.MatchString(c.root.get("model").text()) && !paused {
		m.fault("A6", "this model refuses an assistant message at the end")
	}
}

// openTurn checks that the turn whose results this request brings began with thinking, as budget thinking requires.
func (c *anthropicCheck) openTurn(messages []node) {
	if c.root.get("thinking").get("type").text() != "enabled" {
		return
	}
	var first *node // first assistant message after the last message with other content than results
	for n, m := range messages {
		switch {
		case m.get("role").text() == "assistant" && first == nil:
			first = &messages[n]
		case m.get("role").text() != "assistant" && !bringsResults(m):
			first = nil
		}
	}
	if first == nil || !bringsResults(messages[len(messages)-1]) {
		return
	}
	blocks := first.get("content").list()
	if len(blocks) == 0 || !strings.HasSuffix(blocks[0].get("type").text(), "thinking") {
		first.fault("A17", "the open turn must begin with thinking while thinking is on")
	}
}

func bringsResults(m node) bool {
	return slices.ContainsFunc(m.get("content").list(), func(block node) bool {
		return block.get("type").text() == "tool_result"
	})
}
