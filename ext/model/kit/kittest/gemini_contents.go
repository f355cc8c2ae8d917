package kittest

import (
	"encoding/base64"
	"slices"
	"strings"
)

// bypassSignature is the documented value for a call that another service made.
const bypassSignature = "skip_thought_signature_validator"

// partKinds are the fields of which a part has exactly one.
var partKinds = []string{
	"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
	"toolCall", "toolResponse",
}

// contents checks the conversation. The caller holds mu.
func (c *geminiCheck) contents() {
	contents := c.root.get("contents").elements("K16")
	var calls []node // of the content before
	before := ""
	current := c.currentTurn(contents)
	for n, content := range contents {
		content.only("G10", "role", "parts")
		role := content.get("role").required("G10")
		content.get("role").oneOf("G10", "user", "model")
		if n == 0 && role != "user" {
			content.get("role").fault("G10", "the first content must be the user's")
		}
		if role == before {
			content.get("role").fault("G10", "two contents of role %s follow each other", role)
		}
		parts := content.get("parts").elements("G10")
		for _, part := range parts {
			c.part(part, role)
		}
		c.responses(content, parts, calls)
		calls, before = nil, role
		for _, part := range parts {
			if part.get("functionCall").given() {
				calls = append(calls, part)
			}
		}
		c.callSignatures(calls, n >= current)
	}
	if len(calls) > 0 {
		c.root.get("contents").fault("K16", "the calls of the last content have no responses")
	}
}

// currentTurn returns the index of the latest content that has anything of the user's own.
func (c *geminiCheck) currentTurn(contents []node) int {
	for n := len(contents) - 1; n >= 0; n-- {
		if contents[n].get("role").text() != "user" {
			continue
		}
		for _, part := range contents[n].get("parts").list() {
			if !part.get("functionResponse").given() {
				return n
			}
		}
	}
	return 0
}

// part checks one part.
func (c *geminiCheck) part(part node, role string) {
	part.only("G10", append([]string{"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"},
		partKinds...)...)
	kinds := slices.DeleteFunc(part.keys(), func(key string) bool { return !slices.Contains(partKinds, key) })
	signature := part.get("thoughtSignature")
	if len(kinds) != 1 {
		part.fault("G10", "a part has one kind of content, not %d: %s", len(kinds), strings.Join(kinds, ", "))
		return
	}
	if signature.exists() {
		c.signature(part, signature, role)
	}
	switch value := part.get(kinds[0]); kinds[0] {
	case "text":
		if value.text() == "" && !signature.given() {
			value.fault("G25", "an empty text without a signature")
		}
	case "inlineData":
		value.get("mimeType").required("K17")
		value.get("data").base64("K17")
	case "fileData":
		value.get("fileUri").required("G22")
	case "functionCall":
		if role != "model" {
			value.fault("G10", "a call in a content of role %s", role)
		}
		value.only("G14", "id", "name", "args")
		value.get("name").match("K11", geminiName)
		if value.get("args").exists() {
			value.get("args").object("K13")
		}
		c.callID(value.get("id"))
	case "functionResponse":
		if role != "user" {
			value.fault("G10", "a response in a content of role %s", role)
		}
		value.only("G14", "id", "name", "response", "parts", "willContinue", "scheduling")
		value.get("name").match("G14", geminiName)
		value.get("response").object("G14")
		c.callID(value.get("id"))
	}
}

// callID checks the id of a call or its response.
func (c *geminiCheck) callID(id node) {
	switch {
	case !id.exists():
	case c.backend == GeminiVertex:
		id.fault("G15", "Vertex refuses ids")
	case c.ids != nil && !c.ids[id.text()] || strings.HasPrefix(id.text(), "call_"):
		id.fault("G15", "id %s was not issued", id.json())
	}
}

// signature checks that a signature is on the part that it came with.
func (c *geminiCheck) signature(part, signature node, role string) {
	if role != "model" {
		signature.fault("G16", "a signature in a content of role %s", role)
	}
	if signature.text() == bypassSignature {
		return
	}
	if _, err := base64.StdEncoding.DecodeString(signature.required("G16")); err != nil {
		signature.fault("G16", "must be base64")
	}
	if c.signed == nil {
		return
	}
	parts, known := c.signed[signature.text()]
	switch {
	case !known:
		signature.fault("G16", "this signature was not issued")
	case !slices.Contains(parts, partContent(part)):
		signature.fault("G16", "the signature belongs to another part")
	}
}

// callSignatures checks the signatures of the calls of one content.
func (c *geminiCheck) callSignatures(calls []node, current bool) {
	signed := 0
	for n, call := range calls {
		signature := call.get("thoughtSignature").text()
		if signature != "" && signature != bypassSignature {
			signed++
		}
		if s := c.seen[partContent(call)]; s.signed > 0 && s.unsigned == 0 && signature == "" {
			call.get("thoughtSignature").fault("G16", "the call came with a signature, which is missing")
		}
		if signature == bypassSignature && n > 0 {
			call.get("thoughtSignature").fault("G17", "the bypass value is for the first call only")
		}
	}
	if len(calls) == 0 {
		return
	}
	first := calls[0].get("thoughtSignature")
	if first.text() == bypassSignature && signed > 0 {
		first.fault("G17", "the bypass value beside real signatures")
	}
	if c.third() && current && first.text() == "" {
		first.fault("G16", "%s requires a signature on the first call of each step of the current turn", c.model)
	}
}

// responses checks the function responses of a content against the calls of the content before.
func (c *geminiCheck) responses(content node, parts, calls []node) {
	var responses []node
	for n, part := range parts {
		if !part.get("functionResponse").given() {
			continue
		}
		if n > 0 && !parts[n-1].get("functionResponse").given() {
			part.fault("G10", "a response after other parts of its content")
		}
		responses = append(responses, part.get("functionResponse"))
	}
	if len(responses) != len(calls) {
		content.fault("G10", "%d responses to the %d calls directly before", len(responses), len(calls))
		return
	}
	for n, response := range responses {
		call := calls[n].get("functionCall")
		if response.get("name").text() != call.get("name").text() {
			response.get("name").fault("G14", "is not the name of call %d, %s", n, call.get("name").json())
		}
		if response.get("id").text() != call.get("id").text() {
			response.get("id").fault("G15", "is not the id of call %d, %s", n, call.get("id").json())
		}
	}
}
