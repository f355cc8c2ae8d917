package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// Bounds of what a server may ask.
const (
	largestState  = 64 << 10
	mostInputs    = 32
	largestSchema = 64 << 10
	longestID     = 256
)

// inputOf checks what a server asks.
func inputOf(id string, request mcp.InputRequest) (in Input, err error) {
	if len(id) > longestID {
		return in, errors.New("its ID is too long")
	}
	switch p := request.(type) {
	case *mcp.ElicitParams:
		if p == nil {
			break
		}
		in = Input{ID: id, Message: clean(cutText(p.Message, longestMessage))}
		if p.Mode == "url" || p.Mode == "" && p.URL != "" {
			in.Kind, in.URL, in.ElicitationID = InputURL, p.URL, p.ElicitationID
			return in, checkURL(p.URL)
		}
		in.Kind = InputForm
		in.Schema, err = formSchema(p.RequestedSchema)
		return in, err
	case *mcp.CreateMessageWithToolsParams:
		if p == nil {
			break
		}
		data, err := json.Marshal(p)
		if err == nil && len(data) > defaultMaxText {
			err = errors.New("the request is too large")
		}
		return Input{ID: id, Kind: InputSampling, Message: "asks for the answer of a model", Sampling: data}, err
	}
	return in, fmt.Errorf("a request of an unknown kind")
}

// formSchema is the schema of a form: an object whose properties have none themselves.
func formSchema(v any) (json.RawMessage, error) {
	if v == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) > largestSchema {
		return nil, errors.New("the schema is too large")
	}
	var form map[string]any
	if err := json.Unmarshal(data, &form); err != nil || form["type"] != "object" {
		return nil, errors.New("the schema is not that of an object")
	}
	properties, _ := form["properties"].(map[string]any)
	for name, property := range properties {
		if _, isObject := property.(map[string]any); !isObject {
			return nil, fmt.Errorf("the schema of %q is no object", name)
		}
		if isNested(property) {
			return nil, fmt.Errorf("the schema of %q is nested", name)
		}
	}
	delete(form, "type")
	delete(form, "properties")
	if isNested(form) {
		return nil, errors.New("the schema has properties where a form has none")
	}
	_, err = schema.NewParamsOneOfByRawJSON(data).ToJSONSchema()
	return data, err
}

// isNested reports whether values of a schema may have parts with names, or lists of lists: a form has fields of plain
// values, and of lists of them.
func isNested(v any) bool {
	s, isObject := v.(map[string]any)
	if !isObject {
		return false
	}
	for _, key := range []string{"properties", "patternProperties", "propertyNames", "dependentSchemas", "prefixItems",
		"unevaluatedProperties", "unevaluatedItems", "$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions"} {
		if _, has := s[key]; has {
			return true
		}
	}
	if _, open := s["additionalProperties"].(map[string]any); open || hasType(s, "object") {
		return true
	}
	if items, ok := s["items"].(map[string]any); ok && hasType(items, "array") {
		return true
	}
	for _, key := range []string{"items", "contains", "not", "if", "then", "else", "allOf", "anyOf", "oneOf"} {
		if all, isList := s[key].([]any); isList && slices.ContainsFunc(all, isNested) || isNested(s[key]) {
			return true
		}
	}
	return false
}

// hasType reports whether a schema names a type, alone or among others.
func hasType(s map[string]any, name string) bool {
	types, _ := s["type"].([]any)
	return s["type"] == name || slices.Contains(types, any(name))
}

// checkURL lets addresses pass that a user may be asked to open.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > longestMessage:
		return errors.New("the address cannot be read")
	case u.User != nil:
		return errors.New("the address has a user in it")
	case u.Scheme == "https" && u.Hostname() != "":
		return nil
	case u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return errors.New("the address is not of https")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Host
}

// response is the answer as the protocol has it, if it fits.
func (in *Input) response(ctx context.Context, a Answer) (mcp.InputResponse, error) {
	switch a.Action {
	case Decline, Cancel:
		if in.Kind == InputSampling {
			return nil, errors.New("the protocol has no way to decline it: cancel the run")
		}
		return &mcp.ElicitResult{Action: a.Action}, nil
	case Accept:
	default:
		return nil, fmt.Errorf("the action %q is not accept, decline or cancel", a.Action)
	}
	switch in.Kind {
	case InputURL:
		return &mcp.ElicitResult{Action: Accept}, nil
	case InputSampling:
		text, ok := a.Content["text"].(string)
		if !ok {
			return nil, errors.New("the content lacks a text")
		}
		return &mcp.CreateMessageResult{Role: "assistant", Model: "a person", StopReason: "endTurn",
			Content: &mcp.TextContent{Text: text}}, nil
	}
	content := a.Content
	if content == nil {
		content = map[string]any{}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	form := &schema.ToolInfo{Name: in.ID, ParamsOneOf: schema.NewParamsOneOfByRawJSON(in.Schema)}
	complete, err := utils.DecodeArguments[json.RawMessage](ctx, form, string(text), true)
	if err != nil {
		return nil, err
	}
	result := &mcp.ElicitResult{Action: Accept}
	return result, json.Unmarshal(complete, &result.Content)
}
