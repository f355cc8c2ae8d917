// Package schemafidelity holds what package schema makes of the JSON schemas of others against an implementation of JSON
// Schema that is not Weft's. It is a module of its own, so that this implementation is in no user's module graph.
package schemafidelity

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weftgo/weft/internal/jsonschemacheck"
	"github.com/weftgo/weft/schema"
)

// group is one schema of the suite with its instances.
type group struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// suite reads the official tests of a draft, which the module of the other implementation carries.
func suite(t *testing.T, draft string) map[string][]group {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "jsonschema", "testdata", draft, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("the module has no tests of %s: %v", draft, err)
	}
	all := map[string][]group{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []group
		if err := json.Unmarshal(data, &groups); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = groups
	}
	return all
}

// named is the text of a schema that says which draft it is written in.
func named(t *testing.T, text json.RawMessage, draft string) json.RawMessage {
	t.Helper()
	if text = json.RawMessage(strings.TrimSpace(string(text))); text[0] != '{' || strings.Contains(string(text),
		`"$schema"`) {
		return text
	}
	if string(text) == "{}" {
		return json.RawMessage(`{"$schema":"` + draft + `"}`)
	}
	return json.RawMessage(`{"$schema":"` + draft + `",` + string(text[1:]))
}

func decoded(t *testing.T, text json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// needsOthers reports whether a schema refers to another document, which is not fetched.
func needsOthers(file string, g *group) bool {
	text := string(g.Schema)
	return file == "refRemote" || strings.Contains(text, `json-schema.org/draft-07/schema#"}`) ||
		strings.Contains(text, `"$ref": "http://json-schema.org/`) || strings.Contains(text,
		`"$ref": "https://json-schema.org/`) ||
		file == "dynamicRef" && strings.Contains(text, "localhost:1234")
}

// lenient reports whether the checker is allowed to accept too much: of these keywords it knows nothing.
func lenient(doc []byte) bool {
	return strings.Contains(string(doc), `"unevaluated`) || strings.Contains(string(doc), `"$dynamicRef"`)
}

var drafts = map[string]string{
	"draft7":       "http://json-schema.org/draft-07/schema#",
	"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}

// An imported schema accepts the instances that the schema accepts: by the verdicts of the official suite, with the other
// implementation, and with the checker that the tools of Weft use.
func TestImport_SameInstances(t *testing.T) {
	schemas, instances := 0, 0
	for draft, uri := range drafts {
		for file, groups := range suite(t, draft) {
			for i := range groups {
				g := &groups[i]
				if needsOthers(file, g) {
					continue
				}
				t.Run(draft+"/"+file+"/"+g.Description, func(t *testing.T) { compare(t, g, uri) })
				schemas++
				instances += len(g.Tests)
			}
		}
	}
	t.Logf("%d schemas, %d instances", schemas, instances)
	if schemas < 200 {
		t.Errorf("only %d schemas were compared", schemas)
	}
}

func compare(t *testing.T, g *group, uri string) {
	params := schema.NewParamsOneOfByRawJSON(named(t, g.Schema, uri))
	s, err := params.ToJSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := params.SchemaJSON()
	if err != nil {
		t.Fatal(err)
	}
	others := map[string]*jsonschema.Resolved{"Schema": resolved(t, doc), "text": resolved(t, text)}
	own := jsonschemacheck.New(s)
	for _, tt := range g.Tests {
		value := decoded(t, tt.Data)
		for name, r := range others {
			if got := r.Validate(value); (got == nil) != tt.Valid {
				t.Errorf("%s: %s is valid: %v, and of the %s %s: %v", tt.Description, tt.Data, tt.Valid, name, doc, got)
			}
		}
		problems := own.Check(value)
		if (len(problems) == 0) != tt.Valid && (tt.Valid || !lenient(doc)) {
			t.Errorf("%s: %s is valid: %v, and the checker says of %s: %v", tt.Description, tt.Data, tt.Valid, doc, problems)
		}
	}
}

func resolved(t *testing.T, doc []byte) *jsonschema.Resolved {
	t.Helper()
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(doc, s); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return r
}
