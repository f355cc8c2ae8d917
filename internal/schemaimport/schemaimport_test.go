package schemaimport

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func imported(t testing.TB, text string) (normalised, marshalled string) {
	t.Helper()
	s, doc, err := Import([]byte(text))
	require.NoError(t, err, text)
	again, err := json.Marshal(s)
	require.NoError(t, err, text)
	return string(doc), string(again)
}

// Every rule, with the text that comes of it. What the Schema marshals to is the same in another order.
func TestImport_Rules(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"nothing to do": {`{ "type" : "object", "x-a" : [1.0, {"b":null}] }`, ``},
		"definitions": {`{"definitions":{"X":{"type":"string"}},"$ref":"#/definitions/X"}`,
			`{"$defs":{"X":{"type":"string"}},"$ref":"#/$defs/X"}`},
		"both definitions": {`{"$defs":{"X":true},"definitions":{"X":{"type":"string"}},"anyOf":[{"$ref":"#/definitions/X"},{"$ref":"#/$defs/X"}]}`, `{"$defs":{"X":true,"X_":{"type":"string"}},"anyOf":[{"$ref":"#/$defs/X_"},{"$ref":"#/$defs/X"}]}`},
		"nested definitions": {`{"properties":{"a":{"definitions":{"X":{"items":[{"type":"string"}]}}},"b":{"$ref":"#/properties/a/definitions/X/items/0"}}}`,
			`{"properties":{"a":{"$defs":{"X":{"prefixItems":[{"type":"string"}]}}},"b":{"$ref":"#/properties/a/$defs/X/prefixItems/0"}}}`},
		"escaped names": {`{"definitions":{"a/b~c d":true},"$ref":"#/definitions/a~1b~0c%20d"}`,
			`{"$defs":{"a/b~c d":true},"$ref":"#/$defs/a~1b~0c%20d"}`},
		"a reference to all": {`{"definitions":{},"properties":{"next":{"$ref":"#"}}}`,
			`{"$defs":{},"properties":{"next":{"$ref":"#"}}}`},
		"dangling": {`{"$ref":"#/definitions/gone"}`, ``},
		"external": {`{"$ref":"https://example.com/a.json#/definitions/X"}`, ``},
		"own id": {`{"$id":"https://x.org/s","definitions":{"X":true},"$ref":"https://x.org/s#/definitions/X"}`,
			`{"$id":"https://x.org/s","$defs":{"X":true},"$ref":"https://x.org/s#/$defs/X"}`},
		"nested resource": {`{"definitions":{"r":{"$id":"r.json","definitions":{"X":true},"items":{"$ref":"#/definitions/X"}}}}`, `{"$defs":{"r":{"$id":"r.json","$defs":{"X":true},"items":{"$ref":"#/$defs/X"}}}}`},
		"tuple": {`{"items":[{"type":"string"},true],"additionalItems":false}`,
			`{"prefixItems":[{"type":"string"},true],"items":false}`},
		"empty tuple": {`{"items":[],"additionalItems":{"type":"string"}}`, `{"items":{"type":"string"}}`},
		"reference to rest": {`{"items":[true],"additionalItems":{"title":"r"},"not":{"$ref":"#/additionalItems"}}`,
			`{"prefixItems":[true],"not":{"$ref":"#/items"},"items":{"title":"r"}}`},
		"exclusive": {`{"minimum":1,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":false}`,
			`{"exclusiveMinimum":1,"maximum":2}`},
		"exclusive of nothing": {`{"exclusiveMinimum":true}`, `{}`},
		"nullable": {`{"type":"string","nullable":true,"enum":["a"]}`,
			`{"type":["string","null"],"enum":["a",null]}`},
		"nullable list":       {`{"type":["string","integer"],"nullable":true}`, `{"type":["string","integer","null"]}`},
		"not nullable":        {`{"type":"string","nullable":false}`, `{"type":"string"}`},
		"a property nullable": {`{"properties":{"nullable":{"type":"boolean"}}}`, ``},
		"dependencies": {`{"dependencies":{"a":["b"],"c":{"required":["d"]},"e":false}}`,
			`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]},"e":false}}`},
		"merged dependencies": {`{"dependencies":{"a":["b"],"c":true},"dependentRequired":{"a":["x"]},"dependentSchemas":{"c":false}}`,
			`{"dependentRequired":{"a":["x","b"]},"dependentSchemas":{"c":{"allOf":[false,true]}}}`},
		"draft 07 hides":      {`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/X","minLength":3,"title":"t","definitions":{"X":true}}`, `{"$ref":"#/$defs/X","title":"t","$defs":{"X":true}}`},
		"newer drafts do not": {`{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/X","minLength":3,"$defs":{"X":true}}`, `{"$ref":"#/$defs/X","minLength":3,"$defs":{"X":true}}`},
		"draft 04 id":         {`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.org/s","properties":{"id":{"type":"string"}}}`, `{"$id":"http://x.org/s","properties":{"id":{"type":"string"}}}`},
		"anchor": {`{"definitions":{"X":{"$id":"#x"}},"$ref":"#x"}`,
			`{"$defs":{"X":{"$anchor":"x"}},"$ref":"#x"}`},
		"recursive": {`{"items":{"$recursiveRef":"#"}}`, `{"items":{"$ref":"#"}}`},
		"in unevaluated": {`{"definitions":{"X":true},"unevaluatedProperties":{"$ref":"#/definitions/X"}}`,
			`{"$defs":{"X":true},"unevaluatedProperties":{"$ref":"#/$defs/X"}}`},
		"data are left alone":    {`{"const":{"definitions":{},"nullable":true},"default":{"items":[1]},"enum":[{"$schema":"x"}],"x-y":{"nullable":true}}`, ``},
		"duplicate names":        {`{"type":"string","type":"object","definitions":{}}`, `{"type":"object","$defs":{}}`},
		"a boolean":              {`true`, ``},
		"numbers keep digits":    {`{"default":9007199254740993,"minimum":1e2,"maximum":12345678901234567890.5,"enum":[0.10]}`, ``},
		"what no field can hold": {`{"const":null,"type":"any","required":true,"minLength":"3","items":5,"enum":[],"default":null,"title":"","properties":[],"anyOf":[1],"maxItems":1.5,"$ref":7}`, ``},
		"whole numbers":          {`{"minLength":2.0,"maxLength":1e1}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.in
			}
			normalised, marshalled := imported(t, c.in)
			require.Equal(t, c.want, normalised)
			if name == "exclusive of nothing" { // an empty schema is written as true
				c.want = "true"
			}
			require.JSONEq(t, withoutEmpty(t, c.want), withoutEmpty(t, marshalled))
			again, _ := imported(t, normalised)
			require.Equal(t, normalised, again, "what is normal stays as it is")
		})
	}
}

// withoutEmpty writes numbers in one form, {} as true, and leaves $defs without entries out, as the Schema type does.
func withoutEmpty(t testing.TB, text string) string {
	text = strings.NewReplacer(`"$defs":{},`, ``, `,"$defs":{}`, ``, `"minLength":2.0`, `"minLength":2`, `"maxLength":1e1`,
		`"maxLength":10`).Replace(text)
	return text
}

func TestImport_KeepsDigits(t *testing.T) {
	_, marshalled := imported(t, `{"const":9007199254740993,"minimum":0.10,"examples":[1e400]}`)
	require.Contains(t, marshalled, `"const":9007199254740993`)
	require.Contains(t, marshalled, `"minimum":0.10`)
	require.Contains(t, marshalled, `"examples":[1e400]`)
}

func TestImport_KeepsTheOrderOfProperties(t *testing.T) {
	s, _, err := Import([]byte(`{"properties":{"z":true,"a":true,"m":true}}`))
	require.NoError(t, err)
	var names []string
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		names = append(names, p.Key)
	}
	require.Equal(t, []string{"z", "a", "m"}, names)
}

func TestImport_RefusesWhatIsNoSchema(t *testing.T) {
	for text, want := range map[string]string{
		``:       "unexpected EOF",
		`{`:      "unexpected EOF",
		`{} {}`:  "there is more after the JSON value",
		`null`:   "neither an object nor a boolean",
		`[]`:     "neither an object nor a boolean",
		`"text"`: "neither an object nor a boolean",
		`{"a":}`: "invalid character",
		strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200): "nested more than 128 deep",
		`{"title":"` + strings.Repeat("x", maxSize) + `"}`:               "more than 1048576",
	} {
		_, _, err := Import([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

// A document that refers to itself in many places, and one with many names, take little time.
func TestImport_CostIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"definitions":{`)
	for i := range 12_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.Repeat("n",
			i%7) + json.Number(strings.Repeat("1", 1+i%5)).String() + string(rune('a'+i%26)) + `":{"$ref":"#/definitions/1a"}`)
	}
	b.WriteString(`}}`)
	_, _, err := Import([]byte(b.String()))
	require.NoError(t, err)
}

func FuzzImport(f *testing.F) {
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","id":"a","definitions":{"X":{"items":[true]}},"$ref":"#/definitions/X/items/0"}`)
	f.Add(`{"dependencies":{"a":["b"],"c":{}},"nullable":true,"type":"string","exclusiveMinimum":true,"minimum":1}`)
	f.Add(`{"$ref":"#/","definitions":{"":{"$ref":"#/definitions/"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, normalised, err := Import([]byte(text))
		if err != nil {
			return
		}
		doc, err := json.Marshal(s)
		require.NoError(t, err)
		_, again, err := Import(normalised)
		require.NoError(t, err)
		require.JSONEq(t, string(normalised), string(again))
		_, _, err = Import(doc)
		require.NoError(t, err)
	})
}
