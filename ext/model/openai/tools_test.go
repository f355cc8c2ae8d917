package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

func decoded(t *testing.T, data []byte) (o map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(data, &o), string(data))
	return o
}

func TestToolParameters(t *testing.T) {
	parse := func(text string) *schema.ParamsOneOf {
		s := new(jsonschema.Schema)
		require.NoError(t, json.Unmarshal([]byte(text), s))
		return schema.NewParamsOneOfByJSONSchema(s)
	}
	empty := `{"type":"object","properties":{}}`
	for name, c := range map[string]struct {
		params *schema.ParamsOneOf
		want   string
	}{
		"none":         {nil, empty},
		"nil map":      {schema.NewParamsOneOfByParams(nil), empty},
		"empty map":    {schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{}), empty},
		"empty schema": {parse(`{}`), empty},
		"no properties": {parse(`{"type":"object","additionalProperties":false}`),
			`{"type":"object","properties":{},"additionalProperties":false}`},
		"no type": {parse(`{"properties":{"a":{"type":"string"}}}`),
			`{"type":"object","properties":{"a":{"type":"string"}}}`},
		"anything": {parse(`true`), empty},
		"order is kept": {parse(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`),
			`{"properties":{"b":{"type":"string"},"a":{"type":"string"}},"type":"object"}`},
		"sorted by name": {schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"b": {Type: schema.String},
			"a": {Type: schema.Integer}}), `{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kit.ToolParameters(&schema.ToolInfo{Name: "t", ParamsOneOf: c.params})
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(got))
			for range 5 {
				again, err := kit.ToolParameters(&schema.ToolInfo{Name: "t", ParamsOneOf: c.params})
				require.NoError(t, err)
				require.Equal(t, string(got), string(again))
			}
			if name == "order is kept" || name == "sorted by name" {
				require.Equal(t, c.want, string(got))
			}
		})
	}
}

func tools(names ...string) (infos []*schema.ToolInfo) {
	for _, name := range names {
		infos = append(infos, &schema.ToolInfo{Name: name})
	}
	return infos
}

func TestTools_ChoiceAndNames(t *testing.T) {
	named := map[string]any{"type": "function", "function": map[string]any{"name": "b"}}
	for name, c := range map[string]struct {
		opts   []model.Option
		tools  []string
		choice any
	}{
		"no choice": {nil, []string{"a", "b", "c"}, nil},
		"forbidden": {[]model.Option{model.WithToolChoice(schema.ToolChoiceForbidden)}, []string{"a", "b", "c"},
			"none"},
		"forbidden, named": {[]model.Option{model.WithToolChoice(schema.ToolChoiceForbidden, "a")}, []string{"a", "b", "c"},
			"none"},
		"allowed": {[]model.Option{model.WithToolChoice(schema.ToolChoiceAllowed)}, []string{"a", "b", "c"},
			"auto"},
		"allowed, named": {[]model.Option{model.WithToolChoice(schema.ToolChoiceAllowed, "c", "a")}, []string{"a", "c"},
			"auto"},
		"forced": {[]model.Option{model.WithToolChoice(schema.ToolChoiceForced)}, []string{"a", "b", "c"},
			"required"},
		"forced, one named": {[]model.Option{model.WithToolChoice(schema.ToolChoiceForced, "b")}, []string{"a", "b", "c"},
			named},
		"forced, two named": {[]model.Option{model.WithToolChoice(schema.ToolChoiceForced, "b", "c")}, []string{"b", "c"},
			"required"},
		"deferred tools": {[]model.Option{model.WithDeferredTools(tools("d"))}, []string{"a", "b", "c", "d"}, nil},
		"no tools":       {[]model.Option{model.WithTools(nil), model.WithToolChoice(schema.ToolChoiceAllowed)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := capture(t, unchanged, question,
				append([]model.Option{model.WithTools(tools("a", "b", "c"))}, c.opts...)...)
			var names []string
			sent, _ := body["tools"].([]any)
			for _, tool := range sent {
				names = append(names, tool.(map[string]any)["function"].(map[string]any)["name"].(string))
			}
			require.Equal(t, c.tools, names)
			require.Equal(t, c.choice, body["tool_choice"])
		})
	}
}

func TestTools_Errors(t *testing.T) {
	m := newModel(t, whole(`{"choices":[{"message":{}}]}`))
	bad := schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"p": nil})
	for want, opts := range map[string][]model.Option{
		"tool 1 is nil":             {model.WithTools([]*schema.ToolInfo{{Name: "a"}, nil})},
		"tool 0 has no name":        {model.WithTools(tools(""))},
		`two tools are named "a"`:   {model.WithTools(tools("a")), model.WithDeferredTools(tools("a"))},
		`parameters of tool "a"`:    {model.WithTools([]*schema.ToolInfo{{Name: "a", ParamsOneOf: bad}})},
		`allows "b", which is none`: {model.WithTools(tools("a")), model.WithToolChoice(schema.ToolChoiceForced, "b")},
		"forces a tool call, but":   {model.WithToolChoice(schema.ToolChoiceForced)},
		`tool choice "maybe"`:       {model.WithTools(tools("a")), model.WithToolChoice("maybe")},
		"has no tool search":        {model.WithTools(tools("a")), model.WithToolSearchTool(&schema.ToolInfo{Name: "s"})},
	} {
		_, err := m.Generate(t.Context(), question, opts...)
		require.ErrorContains(t, err, want)
	}
	_, err := m.WithTools(tools(""))
	require.ErrorContains(t, err, "tool 0 has no name")
}

func TestTools_OfTheModel(t *testing.T) {
	var sent map[string]any
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		sent = decoded(t, body)
		if err != nil {
			return nil, err
		}
		return whole(`{"choices":[{"message":{"content":"a"}}]}`)(req)
	}))
	infos := tools("a")
	bound, err := m.WithTools(infos)
	require.NoError(t, err)
	infos[0] = nil // the slice was copied
	toolsOf := func(m model.BaseChatModel, opts ...model.Option) any {
		_, err := m.Generate(t.Context(), question, opts...)
		require.NoError(t, err)
		list, _ := sent["tools"].([]any)
		return len(list)
	}
	require.Equal(t, 0, toolsOf(m))
	require.Equal(t, 1, toolsOf(bound))
	require.Equal(t, 2, toolsOf(bound, model.WithTools(tools("b", "c"))))
	require.Equal(t, 0, toolsOf(bound, model.WithTools(nil)))
	none, err := bound.WithTools(nil)
	require.NoError(t, err)
	require.Equal(t, 0, toolsOf(none))
}

func TestTools_ExtraFields(t *testing.T) {
	_, body := capture(t, unchanged, question, model.WithTools([]*schema.ToolInfo{{
		Name: "a", Desc: "d", Extra: map[string]any{ExtraFieldsKey: map[string]any{"strict": true}, "other": 1},
	}}))
	require.Equal(t, []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "a", "description": "d", "strict": true,
		"parameters": map[string]any{
			"type": "object", "properties": map[string]any{}, "required": []any{}, "additionalProperties": false,
		},
	}}}, body["tools"])
}
