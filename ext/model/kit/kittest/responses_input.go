package kittest

import (
	"slices"
	"strings"
)

// input checks the items. The caller holds mu.
func (c *responsesCheck) input() {
	input := c.root.get("input")
	if input.isString() {
		input.required("K16")
	} else {
		items := input.list()
		if !input.isList() || len(items) == 0 && !c.root.get("previous_response_id").given() {
			input.fault("K16", "must be a text or a list that is not empty")
		}
		for n, item := range items {
			c.item(item, items[n+1:])
		}
	}
	for id, done := range c.open {
		if !done {
			input.fault("R18", "call %q has no output", id)
		}
	}
}

// itemKind returns the type of an item; messages need none.
func itemKind(item node) string {
	if !item.get("type").exists() && item.get("role").given() {
		return "message"
	}
	return item.get("type").text()
}

func (c *responsesCheck) item(item node, after []node) {
	if !item.object("R3") {
		return
	}
	kind := itemKind(item)
	fields, known := responsesItems[kind]
	if !known && !slices.Contains(otherItems, kind) {
		item.get("type").fault("R3", "items of type %s are unknown", item.get("type").json())
		return
	}
	if known {
		item.only("R3", append([]string{"type"}, fields...)...)
	}
	c.itemID(item, kind)
	switch kind {
	case "message":
		c.message(item)
	case "reasoning":
		c.reasoning(item, after)
	case "function_call", "custom_tool_call":
		c.call(item)
	case "function_call_output", "custom_tool_call_output":
		c.output(item)
	case "item_reference":
		if c.root.get("store").value == false {
			item.fault("R13", "a reference to an item, but nothing is stored")
		}
	}
}

// itemID checks the id of an item, and that the reasoning that the item belongs to is there.
func (c *responsesCheck) itemID(item node, kind string) {
	id := item.get("id")
	if !id.exists() {
		return
	}
	if id.required("R15"); c.ids[id.text()] {
		id.fault("R15", "item %q is sent twice", id.text())
	}
	c.ids[id.text()] = true
	issued, known := c.issued[id.text()]
	switch {
	case c.issued == nil || strings.HasSuffix(kind, "_output"):
	case !known:
		id.fault("R15", "item %q was not issued", id.text())
	case issued.kind != kind && kind != "item_reference":
		id.fault("R15", "item %q is of type %s", id.text(), issued.kind)
	case issued.reasoning != "" && !c.ids[issued.reasoning] && !c.root.get("previous_response_id").given():
		item.fault("R12", "item %q is sent without its reasoning %q before it", id.text(), issued.reasoning)
	}
}

func (c *responsesCheck) message(item node) {
	role, content := item.get("role"), item.get("content")
	role.required("R3")
	role.oneOf("R3", "user", "assistant", "system", "developer")
	item.get("phase").oneOf("R14", "commentary", "final_answer")
	if content.isString() {
		return
	}
	for _, part := range content.elements("R3") {
		kind := part.get("type")
		if role.text() == "assistant" {
			c.outputPart(part)
			continue
		}
		switch kind.text() {
		case "input_text":
			part.only("R3", "type", "text", "prompt_cache_breakpoint")
			if !part.get("text").isString() {
				part.get("text").fault("R3", "must be a string")
			}
		case "input_image":
			part.only("R3", "type", "image_url", "file_id", "detail", "prompt_cache_breakpoint")
			if part.get("image_url").given() == part.get("file_id").given() {
				part.fault("K17", "an image has either a URL or a file id")
			}
			if part.get("image_url").given() {
				part.get("image_url").match("K17", imageURL)
			}
		case "input_file":
			part.only("R3", "type", "file_id", "file_url", "file_data", "filename", "detail", "prompt_cache_breakpoint")
		default:
			kind.fault("R3", "a part of type %s is refused in a %s message", kind.json(), role.text())
		}
	}
}

// outputPart checks a part of an assistant message.
func (c *responsesCheck) outputPart(part node) {
	switch kind := part.get("type"); kind.text() {
	case "output_text":
		part.only("R3", "type", "text", "annotations", "logprobs")
		if !part.get("text").isString() {
			part.get("text").fault("R3", "must be a string")
		}
	case "refusal":
		part.get("refusal").required("R3")
	default:
		kind.fault("R3", "a part of type %s is refused in an assistant message", kind.json())
	}
}

// reasoning checks that the item can be read and is followed by what it led to.
func (c *responsesCheck) reasoning(item node, after []node) {
	if !item.get("summary").isList() {
		item.get("summary").fault("R11", "must be a list, if only an empty one")
	}
	for _, part := range item.get("summary").list() {
		part.get("type").oneOf("R11", "summary_text")
		part.get("text").required("R11")
	}
	encrypted := item.get("encrypted_content")
	if !encrypted.given() && c.root.get("store").value == false {
		encrypted.fault("R13", "reasoning without its encrypted content, but nothing is stored")
	}
	issued, known := c.issued[item.get("id").text()]
	if known && encrypted.given() && !issued.has(encrypted.text()) {
		encrypted.fault("R11", "this content was not issued with item %s", item.get("id").json())
	}
	if c.issued != nil && encrypted.given() && !c.encryptedIssued(encrypted.text()) {
		encrypted.fault("R11", "this content was not issued")
	}
	if len(after) == 0 {
		item.fault("R12", "reasoning without the item that it led to")
		return
	}
	next := after[0]
	kind := itemKind(next)
	switch id := next.get("id").text(); {
	case strings.HasSuffix(kind, "_output") || kind == "message" && next.get("role").text() != "assistant":
		item.fault("R12", "reasoning is followed by an item that is not of the model: %s", kind)
	case known && issued.next != "" && id != "" && id != issued.next:
		item.fault("R12", "reasoning is followed by item %q, not by %q", id, issued.next)
	case known && issued.next != "" && c.issued[issued.next].kind != kind && kind != "item_reference":
		item.fault("R12", "reasoning is followed by a %s, not by a %s", kind, c.issued[issued.next].kind)
	}
}

// has reports whether the content was handed out with the item, in either of its encryptions.
func (i issuedItem) has(content string) bool {
	return content == i.encrypted || i.streamed != "" && content == i.streamed
}

func (c *responsesCheck) encryptedIssued(content string) bool {
	for _, item := range c.issued {
		if item.has(content) {
			return true
		}
	}
	return false
}

func (c *responsesCheck) call(item node) {
	id := item.get("call_id")
	if id.required("R5"); len(id.text()) > 64 {
		id.fault("R5", "%d characters; at most 64 are allowed", len(id.text()))
	}
	_, earlier := c.open[id.text()]
	switch {
	case c.own[id.text()]:
		id.fault("R15", "call %q is sent twice", id.text())
	case earlier:
		id.fault("R16", "call %q is part of the previous response", id.text())
	default:
		c.open[id.text()] = false
	}
	c.own[id.text()] = true
	item.get("name").match("K11", chatName)
	args := item.get("arguments")
	if itemKind(item) == "custom_tool_call" {
		args = item.get("input")
	}
	if !args.isString() {
		args.fault("K13", "must be a string")
	}
}

func (c *responsesCheck) output(item node) {
	id := item.get("call_id")
	if id.required("R5"); len(id.text()) > 64 {
		id.fault("R5", "%d characters; at most 64 are allowed", len(id.text()))
	}
	done, known := c.open[id.text()]
	stored := c.issued == nil && c.root.get("previous_response_id").given() || c.root.get("conversation").given()
	switch {
	case done:
		id.fault("K16", "a second output of call %q", id.text())
	case !known && !stored:
		id.fault("K16", "%q is no call before", id.text())
	}
	c.open[id.text()] = true
	output := item.get("output")
	if output.isString() {
		return
	}
	for _, part := range output.elements("R5") {
		part.get("type").required("R5")
		part.get("type").oneOf("R5", "input_text", "input_image", "input_file")
	}
}
