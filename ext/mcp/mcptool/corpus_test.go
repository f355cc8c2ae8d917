package mcptool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// corpus makes schemas by chance, the same ones each time.
type corpus struct {
	*rand.Rand
	old bool // of draft 07, with what later drafts write in another way
}

// object is the JSON text of an object whose members are texts, in their order.
func object(members ...string) string {
	var text []string
	for i := 0; i < len(members); i += 2 {
		text = append(text, fmt.Sprintf("%q:%s", members[i], members[i+1]))
	}
	return "{" + strings.Join(text, ",") + "}"
}

func (c *corpus) one(of ...string) string { return of[c.IntN(len(of))] }

// some are some members of those given.
func (c *corpus) some(members ...string) (chosen []string) {
	for i := 0; i < len(members); i += 2 {
		if c.IntN(3) == 0 {
			chosen = append(chosen, members[i], members[i+1])
		}
	}
	return chosen
}

// list is a JSON text of a list.
func list(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

// many are several schemas.
func (c *corpus) many(depth int) (all []string) {
	for range 1 + c.IntN(2) {
		all = append(all, c.schema(depth-1))
	}
	return all
}

// definitions is the name of the member that has the definitions.
func (c *corpus) definitions() string {
	if c.old {
		return "definitions"
	}
	return "$defs"
}

// schema makes one. All of them can refer to the definition "d" of their root.
func (c *corpus) schema(depth int) string {
	if depth <= 0 {
		return c.one("true", "false", `{}`, `{"type":"string"}`, `{"type":["integer","null"]}`, `{"const":null}`,
			`{"enum":[null,1,"a",false,{"b":[]}]}`, `{"type":"boolean","default":false}`)
	}
	note := c.some("title", `"T"`, "description", `"a \"text\" ü"`, "x-order", `7`, "deprecated", `true`, "examples", `[null,1.5]`)
	switch c.IntN(9) {
	case 0:
		return object(append(note, append([]string{"type", `"string"`}, c.some("minLength", "1", "maxLength", "3", "pattern", `"^a"`,
			"format", `"date"`, "contentEncoding", `"base64"`, "default", `""`)...)...)...)
	case 1:
		return object(append(note, append([]string{"type", `"integer"`}, c.some("minimum", "-9223372036854775808",
			"maximum", "9223372036854775807", "exclusiveMinimum", "0", "multipleOf", "2", "x-big", "9007199254740993")...)...)...)
	case 2:
		return object(append(note, append([]string{"type", `"number"`}, c.some("minimum", "0.1", "exclusiveMaximum", "2",
			"default", "1e3", "const", "9007199254740993")...)...)...)
	case 3:
		items := []string{"items", c.schema(depth - 1)}
		if c.IntN(2) == 0 {
			items = []string{"prefixItems", list(c.many(depth)...), "items", c.schema(depth - 1)}
			if c.old {
				items = []string{"items", list(c.many(depth)...), "additionalItems", c.schema(depth - 1)}
			}
		}
		return object(append(note, append(append([]string{"type", `"array"`}, items...), c.some("minItems", "1", "maxItems", "2",
			"uniqueItems", "true", "contains", c.schema(depth-1))...)...)...)
	case 4, 5:
		return c.objectSchema(depth, note)
	case 6:
		return object(append(note, c.one("anyOf", "allOf", "oneOf"), list(c.many(depth)...))...)
	case 7:
		return object("if", c.schema(depth-1), "then", c.schema(depth-1), "else", c.schema(depth-1), "not", c.schema(0))
	}
	return object("$ref", `"#/`+c.definitions()+`/d"`)
}

func (c *corpus) objectSchema(depth int, more []string) string {
	names := []string{"b", "a", "d", "c"}
	c.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var properties []string
	for _, name := range names[:1+c.IntN(4)] {
		properties = append(properties, name, c.schema(depth-1))
	}
	members := append(more, "type", `"object"`, "properties", object(properties...))
	members = append(members, c.some("required", `["a"]`, "additionalProperties", c.schema(depth-1), "minProperties", "1",
		"patternProperties", object("^[ab]$", c.schema(depth-1)), "propertyNames", `{"maxLength":1}`)...)
	if c.old {
		members = append(members, c.some("dependencies", object("a", `["b"]`, "b", c.schema(depth-1)))...)
	} else {
		members = append(members, c.some("dependentRequired", `{"a":["b"]}`, "dependentSchemas", object("b", c.schema(depth-1)))...)
	}
	return object(members...)
}

// root is the input schema of a tool.
func (c *corpus) root() string {
	text := c.objectSchema(3, nil)
	definition := c.one(c.schema(0), object("type", `"object"`, "properties", object("a", `{"$ref":"#/`+c.definitions()+`/d"}`)))
	head := fmt.Sprintf("{%q:%s,", c.definitions(), object("d", definition, "unused", c.schema(1)))
	if c.old {
		head = `{"$schema":"http://json-schema.org/draft-07/schema#",` + head[1:]
	}
	return head + text[1:]
}

// deepest is the depth of values. At the top they are objects.
const deepest = 3

// instance makes a value that may fit.
func (c *corpus) instance(depth int) any {
	kind := c.IntN(8)
	if depth == deepest {
		kind = 7
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return c.IntN(2) == 0
	case 2:
		return float64(c.IntN(5) - 1)
	case 3:
		return 0.5
	case 4:
		return c.one("", "a", "abc", "b", "2026-01-01")
	case 5:
		all := []any{}
		for range c.IntN(3) {
			if depth > 0 {
				all = append(all, c.instance(depth-1))
			}
		}
		return all
	}
	members := map[string]any{}
	for _, name := range []string{"a", "b", "c", "d", "long"} {
		if depth > 0 && c.IntN(4) == 0 {
			members[name] = c.instance(depth - 1)
		}
	}
	return members
}

// exact is the value of a JSON text with the digits of its numbers, and without the name of its dialect.
func exact(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	require.NoError(t, d.Decode(&v))
	delete(v, "$schema")
	return v
}

// orderOf has the names of the properties in their order.
func orderOf(t *testing.T, text []byte) (names []string) {
	t.Helper()
	var root struct {
		Properties json.RawMessage `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(text, &root))
	d := json.NewDecoder(bytes.NewReader(root.Properties))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		name, err := d.Token()
		require.NoError(t, err)
		names = append(names, name.(string))
		var skipped json.RawMessage
		require.NoError(t, d.Decode(&skipped))
	}
	return names
}

func resolved(t *testing.T, text []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &s), "%s", text)
	r, err := s.Resolve(nil)
	require.NoError(t, err, "%s", text)
	return r
}

// schemaTexts are the schemas of the tools of a server as a model gets them, by the names of the tools.
func schemaTexts(t *testing.T, srv *mcptool.Server) (texts map[string][]byte, tools []tool.BaseTool) {
	t.Helper()
	tools, err := srv.Tools(t.Context())
	require.NoError(t, err)
	texts = map[string][]byte{}
	for _, one := range tools {
		info, err := one.Info(t.Context())
		require.NoError(t, err)
		text, err := info.SchemaJSON()
		require.NoError(t, err)
		texts[info.Name] = text
	}
	return texts, tools
}

// Schemas come in, go out to other clients, and come in again there, without a loss: schemas of this draft are the same
// to the digit and in the same order, schemas of draft 07 admit the same values.
// Rule mcp/MC12.
func TestSchemas_ComeInAndGoOutWithoutLoss(t *testing.T) {
	c := &corpus{Rand: rand.New(rand.NewPCG(3, 7))}
	origin := mcp.NewServer(&mcp.Implementation{Name: "origin", Version: "1"}, &mcp.ServerOptions{PageSize: 90})
	sources := map[string]string{}
	for i := range 250 {
		c.old = i%2 == 1
		name := fmt.Sprintf("t%03d", i)
		sources[name] = c.root()
		origin.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(sources[name])}, answers(""))
	}
	in, tools := schemaTexts(t, open(t, mcptool.Config{URL: httpServer(t, origin), Strict: true}))
	require.Len(t, in, len(sources))

	relay, err := mcpserve.New(mcpserve.Config{Name: "relay"})
	require.NoError(t, err)
	for _, one := range tools {
		require.NoError(t, relay.AddTool(t.Context(), one, mcpserve.ToolOptions{}))
	}
	again, _ := schemaTexts(t, open(t, mcptool.Config{Transport: inProcess(relay.MCP()), Strict: true}))

	valid, values := 0, 0
	for name, source := range sources {
		require.Equal(t, exact(t, in[name]), exact(t, again[name]), name)
		require.Equal(t, orderOf(t, []byte(source)), orderOf(t, again[name]), name)
		if !strings.Contains(source, "draft-07") {
			require.Equal(t, exact(t, []byte(source)), exact(t, in[name]), name)
			continue
		}
		before, after := resolved(t, []byte(source)), resolved(t, in[name])
		for range 50 {
			value := c.instance(deepest)
			fits := before.Validate(value) == nil
			require.Equal(t, fits, after.Validate(value) == nil, "%s: %v\n%s\n%s", name, value, source, in[name])
			values++
			if fits {
				valid++
			}
		}
	}
	require.Greater(t, valid, values/10, "hardly a value fits, so that little is held against each other")
}
