package openai

import (
	"encoding/json"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// ExtraFieldsKey is a key of the Extra map of messages, their parts and tools. Its value, a map[string]any, is set in
// the JSON object that is sent for the message, the part or the function of the tool: for example
// {"cache_control": {"type": "ephemeral"}} for a part, or {"strict": true} for a tool.
const ExtraFieldsKey = "openai_extra_fields"

// Keys of Message.Extra, in addition to package kit's.
const (
	responseIDKey        = "openai_response_id"
	responseModelKey     = "openai_model"
	requestIDKey         = "openai_request_id"
	serviceTierKey       = kit.ServiceTierKey
	systemFingerprintKey = "openai_system_fingerprint"
	providerKey          = "openai_provider"
	refusalKey           = "openai_refusal"
	annotationsKey       = "openai_annotations"
	reasoningFieldKey    = "openai_reasoning_field"
	reasoningDetailsKey  = "openai_reasoning_details"
	filterResultsKey     = "openai_content_filter_results"
)

// extraContentKey is a key of ToolCall.Extra.
const extraContentKey = "openai_extra_content"

// ResponseInfo holds the server's report about a response, without the answer. Each field may be empty.
type ResponseInfo struct {
	// ID is the server's name of the response; RequestID its name of the request, which its support asks for.
	ID, RequestID string
	// Model answered, by its full name; Provider ran it, behind an aggregator.
	Model, Provider string
	// ServiceTier served the request.
	ServiceTier string
	// SystemFingerprint changes with the server's software.
	SystemFingerprint string
	// FilterResults holds the verdicts of Azure's content filter on the prompt and the answer, as JSON objects one behind
	// the other.
	FilterResults string
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
	{filterResultsKey, func(i *ResponseInfo) *string { return &i.FilterResults }},
	{systemFingerprintKey, func(i *ResponseInfo) *string { return &i.SystemFingerprint }},
}

// GetRefusal returns what the model said when it refused to answer; Content is empty then.
func GetRefusal(m *schema.Message) string { return extraText(m, refusalKey) }

// GetAnnotations returns the annotations of the message, such as citations of web pages, as JSON objects.
func GetAnnotations(m *schema.Message) []json.RawMessage {
	return kit.SplitObjects(extraText(m, annotationsKey))
}

// extraText returns a string of the Extra of a message.
func extraText(m *schema.Message, key string) string {
	if m == nil {
		return ""
	}
	return kit.ExtraText(m.Extra, key)
}

// opaqueKeys are the keys of Extra that hold what only the server that sent it understands.
var opaqueKeys = []string{
	reasoningFieldKey, reasoningDetailsKey, extraContentKey, annotationsKey, refusalKey, responseIDKey,
}

// extraFields returns what [ExtraFieldsKey] holds.
func extraFields(extra map[string]any) map[string]any {
	fields, _ := extra[ExtraFieldsKey].(map[string]any)
	return fields
}
