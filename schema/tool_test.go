package schema

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	internaljson "github.com/weftgo/weft/internal/json"
)

func schemaText(t *testing.T, p *ParamsOneOf) string {
	t.Helper()
	s, err := p.ToJSONSchema()
	require.NoError(t, err)
	data, err := json.Marshal(s)
	require.NoError(t, err)
	return string(data)
}

func nestedParams() map[string]*ParameterInfo {
	return map[string]*ParameterInfo{
		"c": {Type: Object},
		"b": {Type: Object, Desc: "d",
			SubParams: map[string]*ParameterInfo{"z": {Type: String, Required: true}, "y": {Type: Number}}},
		"a": {Type: Array, Required: true, ElemInfo: &ParameterInfo{Type: String, Enum: []string{"1"}, Required: true}},
	}
}

// Rule schema/T1.
func TestParamsOneOf_NilMeansNoParameters(t *testing.T) {
	s, err := (*ParamsOneOf)(nil).ToJSONSchema()
	require.NoError(t, err)
	require.Nil(t, s)
	s, err = (&ToolInfo{}).ToJSONSchema()
	require.NoError(t, err)
	require.Nil(t, s)
}

// Rules schema/T2, schema/T4.
func TestParamsOneOf_MakesAFreshSortedSchema(t *testing.T) {
	require.Equal(t, `{"properties":{},"type":"object"}`,
		schemaText(t, NewParamsOneOfByParams(map[string]*ParameterInfo{})))
	const want = `{"properties":{"a":{"items":{"enum":["1"],"type":"string"},"type":"array"},"b":{"properties":{"y":{"type":"number"},` +
		`"z":{"type":"string"}},"required":["z"],"description":"d","type":"object"},"c":{"type":"object"}},"required":["a"],"type":"object"}`
	p := NewParamsOneOfByParams(nestedParams())
	for range 20 {
		require.Equal(t, want, schemaText(t, p))
	}
	first, err := p.ToJSONSchema()
	require.NoError(t, err)
	first.Properties.Delete("a")
	first.Required[0] = "changed"
	require.Equal(t, want, schemaText(t, p))
	s, err := NewParamsOneOfByParams(map[string]*ParameterInfo{"a": {Type: Integer}}).ToJSONSchema()
	require.NoError(t, err)
	require.Equal(t, []string{}, s.Required)
	a, _ := s.Properties.Get("a")
	require.Nil(t, a.Properties)
}

// Rule schema/T3.
func TestParamsOneOf_ReturnsTheGivenSchema(t *testing.T) {
	given := &jsonschema.Schema{Type: "object", Title: "x"}
	s, err := NewParamsOneOfByJSONSchema(given).ToJSONSchema()
	require.NoError(t, err)
	require.Same(t, given, s)
	both := &ParamsOneOf{params: map[string]*ParameterInfo{}, schema: given}
	require.Equal(t, `{"properties":{},"type":"object"}`, schemaText(t, both))
	s, err = NewParamsOneOfByParams(nil).ToJSONSchema()
	require.NoError(t, err)
	require.Nil(t, s)
}

// Rule schema/B15.4.2.
func TestParamsOneOf_RefusesANilParameter(t *testing.T) {
	for want, params := range map[string]map[string]*ParameterInfo{
		"tool parameter a: parameter info is nil":   {"a": nil},
		"tool parameter a.b: parameter info is nil": {"a": {Type: Object, SubParams: map[string]*ParameterInfo{"b": nil}}},
		"tool parameter a[].c: parameter info is nil": {"a": {Type: Array,
			ElemInfo: &ParameterInfo{Type: Object, SubParams: map[string]*ParameterInfo{"c": nil}}}},
	} {
		s, err := NewParamsOneOfByParams(params).ToJSONSchema()
		require.EqualError(t, err, want)
		require.Nil(t, s)
	}
}

// tools is a tool of every form.
func tools(t *testing.T) map[string]*ToolInfo {
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(`{
		"type": "object", "properties": {"z": {"type": ["string", "null"]}, "a": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/n"}]}},
		"$defs": {"n": {"type": "number", "minimum": 1}}, "required": ["z"]}`), &schema))
	return map[string]*ToolInfo{
		"none":         {Name: "n", Desc: "d"},
		"empty params": {Name: "n", ParamsOneOf: NewParamsOneOfByParams(map[string]*ParameterInfo{})},
		"params":       {Name: "n", Extra: map[string]any{"k": "v"}, ParamsOneOf: NewParamsOneOfByParams(nestedParams())},
		"schema":       {Name: "n", ParamsOneOf: NewParamsOneOfByJSONSchema(&schema)},
		"raw schema": {Name: "n",
			ParamsOneOf: NewParamsOneOfByRawJSON(json.RawMessage(`{ "type":"object",\n"definitions":{"<&>":{"const":null}}, "n":9007199254740993 }`))},
		"no raw text":  {Name: "n", ParamsOneOf: NewParamsOneOfByRawJSON(nil)},
		"raw nonsense": {Name: "n", ParamsOneOf: NewParamsOneOfByRawJSON(json.RawMessage("{no"))},
		"zero":         {},
	}
}

// Rule schema/T10.
func TestToolInfo_KeepsItsJSONKeys(t *testing.T) {
	data, err := json.Marshal(&ToolInfo{Name: "n", Desc: "d", Extra: map[string]any{"k": 1},
		ParamsOneOf: NewParamsOneOfByParams(map[string]*ParameterInfo{"a": {Type: Integer}})})
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"n","desc":"d","extra":{"k":1},"has_params_one_of":true,
		"params":{"a":{"Type":"integer","ElemInfo":null,"SubParams":null,"Desc":"","Enum":null,"Required":false}}}`,
		string(data))
	data, err = json.Marshal(&ToolInfo{ParamsOneOf: NewParamsOneOfByJSONSchema(&jsonschema.Schema{Type: "object"})})
	require.NoError(t, err)
	require.JSONEq(t, `{"has_params_one_of":true,"json_schema":{"type":"object"}}`, string(data))
	data, err = json.Marshal(ToolInfo{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(data))
}

// Rule schema/T11.
func TestToolInfo_SurvivesJSON(t *testing.T) {
	for name, tool := range tools(t) {
		pointer, err := json.Marshal(tool)
		require.NoError(t, err)
		// A value, wherever it is held, is written like a pointer.
		value, err := json.Marshal(*tool)
		require.NoError(t, err)
		require.Equal(t, string(pointer), string(value), name)
		fast, err := internaljson.Marshal(struct{ T ToolInfo }{*tool})
		require.NoError(t, err)
		require.JSONEq(t, `{"T":`+string(pointer)+`}`, string(fast), name)

		for _, unmarshal := range []func([]byte, any) error{json.Unmarshal, internaljson.Unmarshal} {
			back := &ToolInfo{Name: "old", Extra: map[string]any{"old": 1}}
			require.NoError(t, unmarshal(pointer, back))
			require.Equal(t, tool, back, name)
		}
	}
	var back ToolInfo
	require.NoError(t,
		json.Unmarshal([]byte(`{"name":"n","params":{"a":{"Type":"string"}},"json_schema":{"type":"object"}}`), &back))
	require.Equal(t, ToolInfo{Name: "n"}, back)
	require.Error(t, json.Unmarshal([]byte(`{"name":1}`), &back))
	var nothing *ToolInfo
	data, err := internaljson.Marshal(nothing)
	require.NoError(t, err)
	require.Equal(t, "null", string(data))
}

// Rule schema/T12.
func TestToolInfo_SurvivesGob(t *testing.T) {
	for name, tool := range tools(t) {
		for _, v := range []any{tool, *tool} {
			var buf bytes.Buffer
			require.NoError(t, gob.NewEncoder(&buf).Encode(v), name)
			var back ToolInfo
			require.NoError(t, gob.NewDecoder(&buf).Decode(&back), name)
			require.Equal(t, *tool, back, name)
		}
	}
	_, err := ToolInfo{Extra: map[string]any{"k": unknownExtra{}}}.GobEncode()
	require.ErrorContains(t, err, "unknownExtra")
	require.Error(t, new(ToolInfo).GobDecode([]byte("junk")))
}

// A ToolInfo held by value, in a field or an interface, keeps its parameters, too.
// Rule schema/B15.4.1.
func TestToolInfo_ByValueKeepsItsParameters(t *testing.T) {
	info := ToolInfo{Name: "n", ParamsOneOf: NewParamsOneOfByParams(map[string]*ParameterInfo{"p": {Type: String}})}
	byPointer, err := json.Marshal(&info)
	require.NoError(t, err)
	for _, v := range []any{info, any(info)} {
		byValue, err := json.Marshal(v)
		require.NoError(t, err)
		require.JSONEq(t, string(byPointer), string(byValue))
	}
	type holder struct{ Tools []ToolInfo }
	data, err := json.Marshal(holder{[]ToolInfo{info}})
	require.NoError(t, err)
	var back holder
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, info, back.Tools[0])
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(holder{[]ToolInfo{info}}))
	back = holder{}
	require.NoError(t, gob.NewDecoder(&buf).Decode(&back))
	require.Equal(t, info, back.Tools[0])
}

func TestMCPListToolsItem_Gob(t *testing.T) {
	for _, item := range []*MCPListToolsItem{{},
		{Name: "n", Description: "d", InputSchema: &jsonschema.Schema{Type: "object"}}} {
		data, err := item.GobEncode()
		require.NoError(t, err)
		back := MCPListToolsItem{Name: "old", InputSchema: &jsonschema.Schema{}}
		require.NoError(t, back.GobDecode(data))
		require.Equal(t, *item, back)
	}
	_, err := (&MCPListToolsItem{InputSchema: &jsonschema.Schema{Default: func() {}}}).GobEncode()
	require.ErrorContains(t, err, "failed to marshal MCPListToolsItem.InputSchema: ")
	require.Error(t, new(MCPListToolsItem).GobDecode(nil))
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(mcpListToolsItemGob{InputSchema: []byte("{")}))
	require.ErrorContains(t, new(MCPListToolsItem).GobDecode(buf.Bytes()),
		"failed to unmarshal MCPListToolsItem.InputSchema: ")
}

// Rule schema/T13.
func TestToolSearchResult_ListsToolNames(t *testing.T) {
	result := &ToolSearchResult{Tools: []*ToolInfo{{Name: "a"}, {Name: "b"}}}
	require.Equal(t, "ToolSearchResult[a,b,]", result.String())
	require.Equal(t, "ToolSearchResult[]", (&ToolSearchResult{}).String())
	data, err := json.Marshal(result)
	require.NoError(t, err)
	require.JSONEq(t, `{"Tools":[{"name":"a"},{"name":"b"}]}`, string(data))
}

// Rule schema/T20.
func TestToMessageInputParts_ConvertsEveryKind(t *testing.T) {
	for _, empty := range []*ToolResult{nil, {}, {Parts: []ToolOutputPart{}}} {
		got, err := empty.ToMessageInputParts()
		require.NoError(t, err)
		require.Nil(t, got)
	}
	extra := map[string]any{"k": 1}
	media := MessagePartCommon{URL: pointer("u"), MIMEType: "m"}
	search := &ToolSearchResult{}
	got, err := (&ToolResult{Parts: []ToolOutputPart{
		{Type: ToolPartTypeText, Text: "t", Extra: extra},
		{Type: ToolPartTypeImage, Image: &ToolOutputImage{media}, Extra: extra},
		{Type: ToolPartTypeAudio, Audio: &ToolOutputAudio{media}},
		{Type: ToolPartTypeVideo, Video: &ToolOutputVideo{media}},
		{Type: ToolPartTypeFile, File: &ToolOutputFile{media}},
		{Type: ToolPartTypeToolSearchResult, ToolSearchResult: search, Extra: extra},
	}}).ToMessageInputParts()
	require.NoError(t, err)
	require.Equal(t, []MessageInputPart{
		{Type: ChatMessagePartTypeText, Text: "t", Extra: extra},
		{Type: ChatMessagePartTypeImageURL, Image: &MessageInputImage{MessagePartCommon: media}, Extra: extra},
		{Type: ChatMessagePartTypeAudioURL, Audio: &MessageInputAudio{media}},
		{Type: ChatMessagePartTypeVideoURL, Video: &MessageInputVideo{media}},
		{Type: ChatMessagePartTypeFileURL, File: &MessageInputFile{MessagePartCommon: media}},
		{Type: ChatMessagePartTypeToolSearchResult, ToolSearchResult: search},
	}, got)
	require.Same(t, search, got[5].ToolSearchResult)
}

// Rule schema/T21.
func TestToMessageInputParts_RefusesNilContentAndUnknownTypes(t *testing.T) {
	for typ, want := range map[ToolPartType]string{
		ToolPartTypeImage:            "image content is nil for tool part type image",
		ToolPartTypeAudio:            "audio content is nil for tool part type audio",
		ToolPartTypeVideo:            "video content is nil for tool part type video",
		ToolPartTypeFile:             "file content is nil for tool part type file",
		ToolPartTypeToolSearchResult: "tool search result is nil for tool part type tool_search_result",
		"new":                        "unknown tool part type: new",
	} {
		got, err := (&ToolResult{Parts: []ToolOutputPart{{Type: ToolPartTypeText}, {Type: typ}}}).ToMessageInputParts()
		require.EqualError(t, err, want)
		require.Nil(t, got)
	}
}

// Any JSON schema that decodes makes a tool that survives a round trip.
func FuzzToolInfo(f *testing.F) {
	f.Add([]byte(`{"name":"n","has_params_one_of":true,"json_schema":{"type":"object"}}`))
	f.Add([]byte(`{"has_params_one_of":true,"params":{"a":{"Type":"array","ElemInfo":{"Type":"object","SubParams":{}}}}}`))
	f.Add([]byte(`{"json_schema":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var tool ToolInfo
		if json.Unmarshal(data, &tool) != nil {
			return
		}
		_, _ = tool.ToJSONSchema()
		first, err := json.Marshal(tool)
		if err != nil {
			return
		}
		var back ToolInfo
		require.NoError(t, json.Unmarshal(first, &back))
		second, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, string(first), string(second))
	})
}
