package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/weftgo/weft/schema"
)

// ExtraFieldsKey is a key of the Extra map of messages, their parts and tools. Its value, a map[string]any, is set in
// the JSON object that is sent for the message, the part or the function of the tool: for example
// {"cache_control": {"type": "ephemeral"}} for a part, or {"strict": true} for a tool.
const ExtraFieldsKey = "openai_extra_fields"

// Keys of Message.Extra. All values are strings, which survive every encoding, and are joined by appending: a value is
// in one chunk only, lists of JSON objects are written one behind the other.
const (
	responseIDKey        = "openai_response_id"
	responseModelKey     = "openai_model"
	requestIDKey         = "openai_request_id"
	serviceTierKey       = "openai_service_tier"
	systemFingerprintKey = "openai_system_fingerprint"
	providerKey          = "openai_provider"
	refusalKey           = "openai_refusal"
	annotationsKey       = "openai_annotations"
	reasoningFieldKey    = "openai_reasoning_field"
	reasoningDetailsKey  = "openai_reasoning_details"
)

// extraContentKey is a key of ToolCall.Extra.
const extraContentKey = "openai_extra_content"

// ResponseInfo is what a server says about a response besides the answer. Each field may be empty.
type ResponseInfo struct {
	// ID is the server's name of the response; RequestID that of the request, which its support asks for.
	ID, RequestID string
	// Model answered, by its full name; Provider ran it, behind an aggregator.
	Model, Provider string
	// ServiceTier served the request.
	ServiceTier string
	// SystemFingerprint changes with the server's software.
	SystemFingerprint string
}

// GetResponseInfo returns what the server said about the response that the message came with. It also works for
// messages that were joined from chunks, or read from JSON.
func GetResponseInfo(m *schema.Message) ResponseInfo {
	var info ResponseInfo
	for _, f := range infoFields {
		*f.of(&info) = extraText(m, f.key)
	}
	return info
}

// infoFields are the fields of a ResponseInfo and where messages keep them.
var infoFields = [...]struct {
	key string
	of  func(*ResponseInfo) *string
}{
	{responseIDKey, func(i *ResponseInfo) *string { return &i.ID }},
	{requestIDKey, func(i *ResponseInfo) *string { return &i.RequestID }},
	{responseModelKey, func(i *ResponseInfo) *string { return &i.Model }},
	{providerKey, func(i *ResponseInfo) *string { return &i.Provider }},
	{serviceTierKey, func(i *ResponseInfo) *string { return &i.ServiceTier }},
	{systemFingerprintKey, func(i *ResponseInfo) *string { return &i.SystemFingerprint }},
}

// GetRefusal returns what the model said when it refused to answer; Content is empty then.
func GetRefusal(m *schema.Message) string { return extraText(m, refusalKey) }

// GetAnnotations returns the annotations of the message, such as citations of web pages, as JSON objects.
func GetAnnotations(m *schema.Message) []json.RawMessage {
	return splitObjects(extraText(m, annotationsKey))
}

func extraText(m *schema.Message, key string) string {
	if m == nil {
		return ""
	}
	text, _ := m.Extra[key].(string)
	return text
}

// addExtra sets a value, if there is one.
func addExtra(m *schema.Message, key, value string) {
	if value == "" {
		return
	}
	if m.Extra == nil {
		m.Extra = make(map[string]any)
	}
	m.Extra[key] = value
}

// joinObjects writes JSON objects one behind the other. What is no object is left out.
func joinObjects(objects []json.RawMessage) string {
	var b strings.Builder
	for _, o := range objects {
		if bytes.HasPrefix(o, []byte("{")) {
			b.Write(o)
		}
	}
	return b.String()
}

func splitObjects(text string) (objects []json.RawMessage) {
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var o json.RawMessage
		if err := dec.Decode(&o); err == io.EOF || err != nil {
			return objects
		}
		objects = append(objects, o)
	}
}

// extraFields returns what [ExtraFieldsKey] holds.
func extraFields(extra map[string]any) map[string]any {
	fields, _ := extra[ExtraFieldsKey].(map[string]any)
	return fields
}
