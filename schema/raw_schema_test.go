package schema

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/serialization"
)

func TestRawJSON_KeepsTheTextAndIsNormalisedOnDemand(t *testing.T) {
	text := json.RawMessage(`{ "$schema": "http://json-schema.org/draft-07/schema#", "type":"object",
		"properties": {"z": {"$ref":"#/definitions/Z"}, "a": {"type":"integer","default":9007199254740993,"x-order":[1]}},
		"definitions": {"Z": {"type":"string","nullable":true}} }`)
	want := string(text)
	p := NewParamsOneOfByRawJSON(text)
	text[0] = 'X' // the text was copied
	require.Equal(t, want, string(p.RawJSON()))
	p.RawJSON()[0] = 'X'
	require.Equal(t, want, string(p.RawJSON()))

	s, err := p.ToJSONSchema()
	require.NoError(t, err)
	again, err := p.ToJSONSchema()
	require.NoError(t, err)
	require.Same(t, s, again)
	const normal = `{"type":"object","properties":{"z":{"$ref":"#/$defs/Z"},"a":{"type":"integer","default":9007199254740993,"x-order":[1]}},` +
		`"$defs":{"Z":{"type":["string","null"]}}}`
	sent, err := p.SchemaJSON()
	require.NoError(t, err)
	require.Equal(t, normal, string(sent))
	doc, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, normal, string(doc))
	require.Contains(t, string(doc), "9007199254740993")
}

func TestRawJSON_OtherForms(t *testing.T) {
	for want, p := range map[string]*ParamsOneOf{
		``:                                  nil,
		`{"properties":{},"type":"object"}`: NewParamsOneOfByParams(map[string]*ParameterInfo{}),
		`true`:                              NewParamsOneOfByRawJSON(json.RawMessage(`true`)),
		`{ "x" : 1 }`:                       NewParamsOneOfByRawJSON(json.RawMessage(`{ "x" : 1 }`)),
	} {
		doc, err := p.SchemaJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(doc))
	}
	require.Nil(t, (*ParamsOneOf)(nil).RawJSON())
	require.Nil(t, NewParamsOneOfByJSONSchema(nil).RawJSON())
	for _, empty := range []string{"", " \n"} {
		s, err := NewParamsOneOfByRawJSON(json.RawMessage(empty)).ToJSONSchema()
		require.NoError(t, err)
		require.Nil(t, s)
	}
	for _, bad := range []string{"null", "[]", "{", "{} {}"} {
		p := NewParamsOneOfByRawJSON(json.RawMessage(bad))
		_, err := p.ToJSONSchema()
		require.ErrorContains(t, err, "the JSON schema of a tool cannot be read: ")
		_, err = p.SchemaJSON()
		require.Error(t, err)
		require.Equal(t, bad, string(p.RawJSON()))
	}
}

func TestRawJSON_ConcurrentUseAndCopies(t *testing.T) {
	p := NewParamsOneOfByRawJSON(json.RawMessage(`{"items":[true]}`))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := p.ToJSONSchema()
			if err != nil || len(s.PrefixItems) != 1 {
				t.Error(s, err)
			}
		})
	}
	wg.Wait()
	copied, err := serialization.DeepCopy(&ToolInfo{Name: "n", ParamsOneOf: p})
	require.NoError(t, err)
	require.Equal(t, p.RawJSON(), copied.(*ToolInfo).RawJSON())
	require.NotSame(t, p.raw, copied.(*ToolInfo).raw)
}
