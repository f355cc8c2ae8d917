package gemini

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

var update = flag.Bool("update", false, "write the golden files")

type namedSchema struct {
	Name   string
	Schema json.RawMessage
}

// corpus returns schemas as tools out there have them, and those again in places where schemas stand.
func corpus(t testing.TB) []namedSchema {
	data, err := os.ReadFile("testdata/schemas.json")
	require.NoError(t, err)
	var all []namedSchema
	require.NoError(t, json.Unmarshal(data, &all))
	for _, s := range all {
		if strings.Contains(string(s.Schema), `"$ref":"#`) || strings.Contains(string(s.Schema), "example.com/root") {
			continue // its references begin at the root
		}
		for name, place := range map[string]string{
			"in_items":      `{"type":"object","properties":{"list":{"type":"array","items":S}}}`,
			"in_definition": `{"type":"object","properties":{"p":{"$ref":"#/$defs/D","description":"One"}},"$defs":{"D":S}}`,
			"in_anyof":      `{"type":"object","properties":{"p":{"anyOf":[S,{"type":"null"}]}}}`,
		} {
			all = append(all, namedSchema{s.Name + "_" + name, json.RawMessage(strings.Replace(place, "S", string(s.Schema), 1))})
		}
	}
	return all
}

// requireAccepted holds a schema against what the service takes.
func requireAccepted(t testing.TB, lowered kit.Object, mode SchemaMode) {
	t.Helper()
	f := kit.Object{{Key: "name", Value: "f"}}
	if len(lowered) > 0 {
		f.Set(mode.toolField(), lowered)
	}
	body, err := kit.Object{
		{Key: "contents", Value: json.RawMessage(`[{"role":"user","parts":[{"text":"a"}]}]`)},
		{Key: "tools", Value: []any{kit.Object{{Key: "functionDeclarations", Value: []kit.Object{f}}}}},
	}.Encode()
	require.NoError(t, err)
	req := httptest.NewRequest(http.MethodPost, "/v1beta/models/gemini-2.5-pro:generateContent", nil)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Goog-Api-Key", "key")
	require.Empty(t, kittest.Gemini(kittest.GeminiAPI).Validate(req, body), "%s", body)
}

// TestSchemas_AreLoweredToWhatTheServiceTakes is providers/G20 on some hundred schemas. The golden file says what each is
// lowered to.
func TestSchemas_AreLoweredToWhatTheServiceTakes(t *testing.T) {
	all := corpus(t)
	require.Greater(t, len(all), 200)
	lines := map[string]string{}
	for _, s := range all {
		for _, mode := range []SchemaMode{SchemaModeJSON, SchemaModeOpenAPI} {
			lowered, err := lowerSchema(s.Schema, mode, true)
			require.NoError(t, err, s.Name)
			requireAccepted(t, lowered, mode)
			text, err := lowered.Encode()
			require.NoError(t, err)
			again, err := lowerSchema(s.Schema, mode, true)
			require.NoError(t, err)
			require.Equal(t, lowered, again, "the same schema must give the same bytes")
			lines[string(mode)+" "+s.Name] = string(text)
		}
	}
	const golden = "testdata/schemas.golden.json"
	if *update {
		data, err := json.MarshalIndent(lines, "", "")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(golden, append(data, '\n'), 0o644))
	}
	data, err := os.ReadFile(golden)
	require.NoError(t, err)
	want := map[string]string{}
	require.NoError(t, json.Unmarshal(data, &want))
	for name, text := range lines {
		require.Equal(t, want[name], text, name)
	}
	require.Len(t, want, len(lines))
}

// lowered returns what is sent for a property p of a tool.
func loweredProperty(t *testing.T, property string) string {
	t.Helper()
	o, err := lowerSchema(json.RawMessage(`{"type":"object","properties":{"p":`+property+`},"$defs":{
		"T":{"type":"object","properties":{"t":{"$ref":"#/$defs/T"}}}}}`), SchemaModeJSON, true)
	require.NoError(t, err)
	text, err := o.Get("properties").(kit.Object).Get("p").(kit.Object).Encode()
	require.NoError(t, err)
	return string(text)
}

// TestSchemas_Rules is providers/G20, rule by rule.
func TestSchemas_Rules(t *testing.T) {
	for in, want := range map[string]string{
		`{"const":"a"}`:                `{"type":"string","enum":["a"]}`,
		`{"type":["string","null"]}`:   `{"anyOf":[{"type":"string"},{"type":"null"}]}`,
		`{"type":"array"}`:             `{"type":"array","items":{"type":"string"}}`,
		`{"type":"array","items":{}}`:  `{"type":"array","items":{"type":"string"}}`,
		`{"type":"string","enum":[1]}`: `{"type":"string","enum":["1"]}`,
		`{"type":"string","pattern":"^a$","default":"a","description":"D"}`: `{"type":"string",` +
			`"description":"D (pattern: ^a$; default: \"a\")"}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`: `{"type":"object",` +
			`"properties":{"a":{"type":"string"}},"required":["a"]}`,
		`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}}}]}`: `{"type":` +
			`"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`,
		`{"$ref":"#/$defs/T"}`: `{"type":"object","properties":{"t":{"type":"object","properties":{"t":{"type":"object",` +
			`"properties":{"t":{"type":"object"}}}}}}}`,
		`{"anyOf":[{"const":"a"},{"const":"b"}]}`: `{"type":"string","enum":["a","b"]}`,
		`{"type":"string","$id":"x","$comment":"c","examples":["e"],"not":{"const":"z"},"if":{},"then":{},"else":{},` +
			`"unevaluatedProperties":false}`: `{"type":"string"}`,
	} {
		require.Equal(t, want, loweredProperty(t, in), in)
	}
}

// TestSchemas_BoundedInSize holds providers/G20 for schemas that refer to themselves in many places.
func TestSchemas_BoundedInSize(t *testing.T) {
	var defs, properties []string
	for _, a := range "abcdefgh" {
		var to []string
		for _, b := range "abcdefgh" {
			to = append(to, `"`+string(b)+`":{"$ref":"#/$defs/`+string(b)+`"}`)
		}
		defs = append(defs, `"`+string(a)+`":{"type":"object","properties":{`+strings.Join(to, ",")+`}}`)
		properties = append(properties, `"`+string(a)+`":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`)
	}
	raw := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"$defs":{` + strings.Join(defs, ",") + `}}`
	for _, mode := range []SchemaMode{SchemaModeJSON, SchemaModeOpenAPI} {
		lowered, err := lowerSchema(json.RawMessage(raw), mode, true)
		require.NoError(t, err)
		text, err := lowered.Encode()
		require.NoError(t, err)
		require.Less(t, len(text), 1<<20)
		requireAccepted(t, lowered, mode)
	}
}

func FuzzSchemas(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add([]byte(s.Schema))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, mode := range []SchemaMode{SchemaModeJSON, SchemaModeOpenAPI} {
			lowered, err := lowerSchema(raw, mode, true)
			if err == nil {
				requireAccepted(t, lowered, mode)
			}
		}
	})
}
