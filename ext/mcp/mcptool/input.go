package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"

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
		in = Input{ID: id, Message: cutText(p.Message, longestMessage)}
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
	var form struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(data, &form); err != nil || form.Type != "object" {
		return nil, errors.New("the schema is not that of an object")
	}
	for name, property := range form.Properties {
		var inner struct {
			Type       any             `json:"type"`
			Properties json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(property, &inner); err != nil {
			return nil, fmt.Errorf("the schema of %q is no object", name)
		}
		if inner.Properties != nil || inner.Type == "object" {
			return nil, fmt.Errorf("the schema of %q is nested", name)
		}
	}
	_, err = schema.NewParamsOneOfByRawJSON(data).ToJSONSchema()
	return data, err
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
