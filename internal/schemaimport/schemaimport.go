// Package schemaimport reads JSON Schemas of other authors, of any draft from 4 on, and makes the form of draft 2020-12
// of them that the Schema type of the API can hold.
//
// Package schema uses it for tools that are described by a JSON text, as the tools of MCP servers are. It must never
// fetch anything, nor lose a keyword: what the Schema type has no field for is kept in its Extras.
//
// A schema keeps its meaning, with one exception: nullable, which is a keyword of OpenAPI and not of JSON Schema, is
// taken at its word.
package schemaimport

import (
	"bytes"
	"errors"
	"strings"

	"github.com/eino-contrib/jsonschema"
)

// Import reads a schema. normalised is its text in draft 2020-12, without $schema: the given text itself if there was
// nothing to do. It fails if the text is no JSON, no object and no boolean, too large or too deep.
func Import(text []byte) (s *jsonschema.Schema, normalised []byte, err error) {
	root, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	if !root.isSchema() {
		return nil, nil, errors.New("it is neither an object nor a boolean")
	}
	d := &document{root: root, draft: draftOf(root), ids: map[string]*node{}}
	d.link(root, root)
	d.normalise(root)
	d.place(root)
	d.rewriteReferences()
	normalised = text
	if d.changed {
		var b bytes.Buffer
		root.write(&b)
		normalised = b.Bytes()
	}
	return build(root), normalised, nil
}

// draft is which edition of JSON Schema a document says it is written in, as far as that matters.
type draft uint8

const (
	// newest is 2019-09, 2020-12, and whatever does not say.
	newest draft = iota
	// draft7 is 06 and 07, where a $ref hides what stands beside it.
	draft7
	// draft4 is 04 and before, where in addition $id is id.
	draft4
)

func draftOf(root *node) draft {
	uri, _ := root.get("$schema").text()
	for _, old := range []struct {
		part string
		is   draft
	}{{"draft-07", draft7}, {"draft-06", draft7}, {"draft-05", draft4}, {"draft-04", draft4}, {"draft-03", draft4}} {
		if strings.Contains(uri, old.part) {
			return old.is
		}
	}
	return newest
}

// document is a schema that is being normalised.
type document struct {
	root  *node
	draft draft
	// ids has the schemas with an $id.
	ids map[string]*node
	// references are the nodes with the texts of references, and the schemas they are in.
	references []reference
	changed    bool
}

type reference struct{ schema, text *node }

// The keywords that have schemas in them.
var (
	withSchema = map[string]bool{
		"additionalItems": true, "additionalProperties": true, "contains": true, "contentSchema": true, "else": true,
		"if": true, "items": true, "not": true, "propertyNames": true, "then": true, "unevaluatedItems": true,
		"unevaluatedProperties": true,
	}
	withSchemaList = map[string]bool{"allOf": true, "anyOf": true, "items": true, "oneOf": true, "prefixItems": true}
	withSchemaMap  = map[string]bool{
		"$defs": true, "definitions": true, "dependencies": true, "dependentSchemas": true, "patternProperties": true,
		"properties": true,
	}
)

// eachSchema calls visit for the schemas directly in a schema.
func eachSchema(n *node, visit func(*node)) {
	for _, m := range n.members {
		switch {
		case withSchema[m.name] && m.value.isSchema():
			visit(m.value)
		case withSchemaList[m.name] && m.value.kind == isArray:
			for _, e := range m.value.elems {
				if e.isSchema() {
					visit(e)
				}
			}
		case withSchemaMap[m.name] && m.value.kind == isObject:
			for _, sub := range m.value.members {
				if sub.value.isSchema() {
					visit(sub.value)
				}
			}
		}
	}
}

// link finds the resource of every schema, and the references.
func (d *document) link(n, resource *node) {
	if id, ok := n.get(d.idKeyword()).text(); ok && !strings.HasPrefix(id, "#") {
		resource = n
		d.ids[strings.TrimSuffix(id, "#")] = n
	}
	n.resource = resource
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref := n.get(keyword); ref != nil {
			d.references = append(d.references, reference{n, ref})
		}
	}
	eachSchema(n, func(sub *node) { d.link(sub, resource) })
}

func (d *document) idKeyword() string {
	if d.draft == draft4 {
		return "id"
	}
	return "$id"
}
