package jsonschemacheck

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"
)

func schemaOf(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	s := new(jsonschema.Schema)
	require.NoError(t, json.Unmarshal([]byte(text), s))
	return s
}

func problems(t testing.TB, schema, value string) string {
	t.Helper()
	v, err := Decode(value)
	require.NoError(t, err)
	return strings.Join(New(schemaOf(t, schema)).Check(v), "; ")
}

func TestCheck_EveryKeyword(t *testing.T) {
	for _, tc := range []struct{ schema, fits, fails, want string }{
		{`{"type":"string"}`, `"a"`, `1`, "the value must be of type string, and is number"},
		{`{"type":["string","null"]}`, `null`, `true`, "the value must be of type string or null, and is boolean"},
		{`{"type":"integer"}`, `3.0`, `3.5`, "the value must be of type integer, and is number"},
		{`{"enum":["a",1,null,{"b":[2]}]}`, `{"b":[2.0]}`, `"c"`, `the value must be one of "a", 1, null, {"b":[2]}`},
		{`{"const":{"a":1}}`, `{"a":1.0}`, `{"a":2}`, `the value must be {"a":1}`},
		{`{"minimum":1}`, `1`, `0.5`, "the value must be at least 1"},
		{`{"exclusiveMinimum":1,"exclusiveMaximum":2}`, `1.5`, `2`, "the value must be less than 2"},
		{`{"maximum":9007199254740992}`, `9007199254740992`, `9007199254740993`,
			"the value must be at most 9007199254740992"},
		{`{"multipleOf":0.1}`, `0.3`, `0.35`, "the value must be a multiple of 0.1"},
		{`{"multipleOf":3}`, `9`, `10`, "the value must be a multiple of 3"},
		{`{"minLength":2,"maxLength":3}`, `"äöü"`, `"ä"`, "the value must have at least 2 characters"},
		{`{"pattern":"^a+$"}`, `"aa"`, `"ab"`, "the value must match ^a+$"},
		{`{"pattern":"(?!x)"}`, `"what Go cannot read accepts all"`, ``, ""},
		{`{"items":{"type":"string"},"minItems":1}`, `["a"]`, `["a",1]`, "[1] must be of type string, and is number"},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a","b"]`, "[1] is not allowed"},
		{`{"uniqueItems":true}`, `[1,"1",[1]]`, `[1,2,1.0]`, "[2] must differ from [0]"},
		{`{"contains":{"type":"string"}}`, `[1,"a"]`, `[1]`, "the value must have at least 1 elements of the wanted kind"},
		{`{"contains":{"type":"string"},"minContains":0,"maxContains":1}`, `[]`, `["a","b"]`,
			"the value must have at most 1 elements of the wanted kind"},
		{`{"required":["a"]}`, `{"a":null}`, `{}`, "a is required"},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":null,"b":1}`, `{"a":1}`, "a must be of type string, and is number"},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1}`, `{"a":1,"b":2}`, "b is unknown (known: a)"},
		{`{"additionalProperties":{"type":"number"}}`, `{"a":1}`, `{"a":"x"}`, "a must be of type number, and is string"},
		{`{"patternProperties":{"^n_":{"type":"number"}},"additionalProperties":false}`, `{"n_a":1}`, `{"n_a":"x","b":1}`,
			"b is unknown; n_a must be of type number, and is string"},
		{`{"propertyNames":{"maxLength":2}}`, `{"ab":1}`, `{"abc":1}`, "abc has a name that is not allowed"},
		{`{"minProperties":1,"maxProperties":1}`, `{"a":1}`, `{}`, "the value must have at least 1 properties"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"b":1}`, `{"a":1}`, "b is required"},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1,"b":1}`, `{"a":1}`, "b is required"},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `1`, `3`, "the value must be at most 2"},
		{`{"anyOf":[{"type":"string"},{"type":"number","minimum":5}]}`, `5`, `4`, "the value must be at least 5"},
		{`{"anyOf":[{"type":"string"},{"type":"number"}]}`, `"a"`, `true`,
			"the value fits none of the alternatives (string, number)"},
		{`{"oneOf":[{"minimum":1},{"maximum":5}]}`, `6`, `3`, "the value fits more than one of the alternatives"},
		{`{"not":{"type":"string"}}`, `1`, `"a"`, "the value fits what is ruled out"},
		{`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`, `2`, `"a"`,
			"the value must have at least 2 characters"},
		{`false`, ``, `1`, "the value is not allowed"},
		{`{"$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":1}`, `{"a":"x"}`,
			"a must be of type number, and is string"},
		{`{"$defs":{"n":{"$anchor":"here","type":"number"}},"items":{"$ref":"#here"}}`, `[1]`, `["x"]`,
			"[0] must be of type number, and is string"},
		{`{"properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, `{"next":{"next":{}}}`, `{"next":{"x":1}}`,
			"next.x is unknown (known: next)"},
		{`{"$defs":{"a/b":{"type":"number"}},"$ref":"#/$defs/a~1b"}`, `1`, `"x"`,
			"the value must be of type number, and is string"},
		{`{"$id":"https://x.org/a/s.json","$defs":{"n":{"$id":"n.json","type":"number"}},"$ref":"/a/n.json"}`, `1`, `"x"`,
			"the value must be of type number, and is string"},
		{`{"const":null}`, `null`, ``, ""},
		{`{"not":{"$ref":"https://example.com/other.json"}}`, `"who knows"`, ``, ""},
		{`{"$ref":"https://example.com/other.json"}`, `"what is not here accepts all"`, ``, ""},
		{`{"$ref":"#"}`, `"a reference to itself ends"`, ``, ""},
	} {
		if tc.fits != "" {
			require.Empty(t, problems(t, tc.schema, tc.fits), "%s of %s", tc.fits, tc.schema)
		}
		if tc.fails != "" {
			require.Equal(t, tc.want, problems(t, tc.schema, tc.fails), "%s of %s", tc.fails, tc.schema)
		}
	}
}

// Keywords that the Schema type has no field for are in the Extras.
func TestCheck_Extras(t *testing.T) {
	number := map[string]any{"schemas": map[string]any{"n": map[string]any{"type": "number",
		"not": map[string]any{"const": json.Number("3")}}}}
	s := &jsonschema.Schema{Ref: "#/components/schemas/n", Extras: map[string]any{"components": number}}
	require.Len(t, New(s).Check("x"), 1)
	require.Len(t, New(s).Check(3.0), 1)
	require.Empty(t, New(s).Check(1.0))
	null := New(&jsonschema.Schema{Extras: map[string]any{"const": nil}})
	require.Empty(t, null.Check(nil))
	require.Equal(t, []string{"the value must be null"}, null.Check(0.0))
	require.Empty(t,
		New(&jsonschema.Schema{Not: &jsonschema.Schema{Extras: map[string]any{"unevaluatedItems": false}}}).Check([]any{}))
}

func TestNew_LongChainsOfReferencesCostLittle(t *testing.T) {
	defs := jsonschema.Definitions{"end": {DynamicRef: "#x"}}
	for i := range 20_000 {
		defs[fmt.Sprint(i)] = &jsonschema.Schema{Ref: fmt.Sprintf("#/$defs/%d", i+1)}
	}
	defs["20000"] = &jsonschema.Schema{Ref: "#/$defs/end"}
	New(&jsonschema.Schema{Ref: "#/$defs/0", Definitions: defs}).Check(1.0)
}

func TestCheck_NamesThePlace(t *testing.T) {
	schema := `{"type":"object","properties":{"people":{"items":{"properties":{"name":{"type":"string"}},"required":["name"]}}}}`
	require.Equal(t, "people[0].name is required; people[1].name must be of type string, and is number",
		problems(t, schema, `{"people":[{},{"name":1}]}`))
}

func TestCheck_NumbersOfBothDecoders(t *testing.T) {
	c := New(schemaOf(t, `{"type":"integer","maximum":5,"enum":[1,9]}`))
	require.Empty(t, c.Check(1.0))
	require.Empty(t, c.Check(json.Number("1")))
	require.Len(t, c.Check(9.0), 1)
	require.Empty(t, New(nil).Check("anything"))
}

func TestCheck_WorkIsBounded(t *testing.T) {
	// Each level tries the next one twice.
	s := &jsonschema.Schema{Type: "string"}
	for range 60 {
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, s}}
	}
	New(s).Check(1.0)
	list := make([]any, 20_000)
	for i := range list {
		list[i] = float64(i)
	}
	New(&jsonschema.Schema{UniqueItems: true, Items: &jsonschema.Schema{Type: "string"}}).Check(list)
	require.Len(t, New(&jsonschema.Schema{Items: &jsonschema.Schema{Type: "string"}}).Check(list), maxProblems)
	var deep any = map[string]any{}
	for range 5_000 {
		deep = map[string]any{"next": deep}
	}
	New(schemaOf(t, `{"properties":{"next":{"$ref":"#"}}}`)).Check(deep)
}

func TestApplyDefaults_FillsWhatIsLeftOut(t *testing.T) {
	for _, tc := range []struct{ schema, value, want string }{
		{`{"properties":{"a":{"default":1},"b":{"default":"x"}}}`, `{"b":"y"}`, `{"a":1,"b":"y"}`},
		{`{"properties":{"a":{"type":"integer","default":1}}}`, `{"a":null}`, `{"a":1}`},
		{`{"properties":{"a":{"type":["integer","null"],"default":1}}}`, `{"a":null}`, `{"a":null}`},
		{`{"properties":{"a":{"oneOf":[{"type":"integer","default":1},{"type":"null"}]}}}`, `{}`, `{"a":1}`},
		{`{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{"a":{}}`, `{"a":{"b":1}}`},
		{`{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{}`, `{}`},
		{`{"items":{"properties":{"b":{"default":[1]}}}}`, `[{},{"b":2}]`, `[{"b":[1]},{"b":2}]`},
		{`{"$defs":{"d":{"default":7}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, `{}`, `{"a":7}`},
		{`{"properties":{"a":{"type":"string"}}}`, `{}`, `{}`},
		{`{"properties":{"next":{"$ref":"#"}},"default":1}`, `{"next":{"next":{"next":{}}}}`, ``},
		{`{"$ref":"#","default":1}`, `{}`, `{}`},
	} {
		v, err := Decode(tc.value)
		require.NoError(t, err)
		changed := New(schemaOf(t, tc.schema)).ApplyDefaults(v)
		doc, err := json.Marshal(v)
		require.NoError(t, err)
		if tc.want != "" {
			require.JSONEq(t, tc.want, string(doc), tc.schema)
			require.Equal(t, tc.want != tc.value, changed, tc.schema)
		}
	}
}

func TestDecode_OneValue(t *testing.T) {
	for _, bad := range []string{"", " ", "{", `{} {}`, `{}x`} {
		_, err := Decode(bad)
		require.Error(t, err, bad)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"a":{"a":null}}`)
	f.Add(`{"anyOf":[{"items":{"uniqueItems":true}},{"not":true}],"multipleOf":0}`, `[[1,1e400]]`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s := new(jsonschema.Schema)
		v, err := Decode(value)
		if err != nil || json.Unmarshal([]byte(schema), s) != nil {
			return
		}
		c := New(s)
		c.Check(v)
		c.ApplyDefaults(v)
	})
}

func BenchmarkCheck(b *testing.B) {
	c := New(schemaOf(b,
		`{"type":"object","properties":{"city":{"type":"string","minLength":1},"days":{"type":"integer","minimum":1,"maximum":7}},
		"required":["city"],"additionalProperties":false}`))
	v, err := Decode(`{"city":"Lisbon","days":3}`)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		c.Check(v)
	}
}
