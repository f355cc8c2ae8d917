package schemaimport

import (
	"encoding/json"
	"slices"
	"strings"
)

// normalise brings a schema and those in it to draft 2020-12.
func (d *document) normalise(n *node) {
	if n.kind != isObject {
		return
	}
	before := n.members
	for _, rule := range []func(*node){
		d.dropSchemaURI, d.exposeReference, d.renameID, d.plainRecursion,
		renameDefinitions, splitDependencies, tupleItems, exclusiveLimits, nullable,
	} {
		rule(n)
	}
	if !slices.Equal(before, n.members) {
		d.changed = true
	}
	eachSchema(n, d.normalise)
}

// dropSchemaURI removes the name of the draft, which is another one from now on.
func (d *document) dropSchemaURI(n *node) { n.remove("$schema") }

// besideReference are the keywords that count beside a $ref in every draft, or that a reference can lead to.
var besideReference = []string{
	"$ref", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
	"definitions", "$defs",
}

// exposeReference removes what an old draft ignores beside a $ref, and a new one would not.
func (d *document) exposeReference(n *node) {
	if _, isText := n.get("$ref").text(); d.draft == newest || !isText {
		return
	}
	for _, m := range n.members {
		if !slices.Contains(besideReference, m.name) {
			n.remove(m.name)
		}
	}
}

// renameID makes $id of the id of draft 04, and $anchor of an $id that is one.
func (d *document) renameID(n *node) {
	if _, isText := n.get("id").text(); isText && d.draft == draft4 {
		n.rename("id", "$id")
	}
	if id, _ := n.get("$id").text(); len(id) > 1 && strings.HasPrefix(id, "#") && !strings.Contains(id, "/") {
		n.remove("$id")
		n.set("$anchor", &node{scalar: id[1:]})
	}
}

// plainRecursion makes a $ref of the $recursiveRef of draft 2019-09, in a document that is one resource.
func (d *document) plainRecursion(n *node) {
	if n.get("$recursiveRef").is("#") && n.get("$ref") == nil && len(d.ids) <= 1 {
		n.rename("$recursiveRef", "$ref")
	}
}

// renameDefinitions makes $defs of definitions.
func renameDefinitions(n *node) {
	old := n.get("definitions")
	if old == nil || old.kind != isObject {
		return
	}
	defs := n.get("$defs")
	if defs == nil {
		n.rename("definitions", "$defs")
		return
	}
	if defs.kind != isObject {
		return
	}
	n.remove("definitions")
	merged := newObject(defs.members...)
	for _, m := range old.members {
		name := m.name
		for merged.get(name) != nil {
			name += "_"
		}
		merged.set(name, m.value)
	}
	merged.wasMembers, merged.index = defs.wasMembers, defs.index
	n.set("$defs", merged)
}

// splitDependencies makes dependentRequired and dependentSchemas of dependencies.
func splitDependencies(n *node) {
	old := n.get("dependencies")
	if old == nil || old.kind != isObject {
		return
	}
	required, schemas := n.get("dependentRequired"), n.get("dependentSchemas")
	if required == nil {
		required = newObject()
	}
	if schemas == nil {
		schemas = newObject()
	}
	if required.kind != isObject || schemas.kind != isObject {
		return
	}
	required, schemas = newObject(required.members...), newObject(schemas.members...)
	for _, m := range old.members {
		_, names := m.value.strings()
		switch {
		case names && required.get(m.name) == nil:
			required.set(m.name, m.value)
		case names:
			required.set(m.name, newArray(append(slices.Clip(required.get(m.name).elems), m.value.elems...)...))
		case !m.value.isSchema():
			return // this is none of the forms that there are
		case schemas.get(m.name) == nil:
			schemas.set(m.name, m.value)
		default:
			schemas.set(m.name, newObject(member{"allOf", newArray(schemas.get(m.name), m.value)}))
		}
	}
	n.remove("dependencies")
	if len(required.members) > 0 {
		n.set("dependentRequired", required)
	}
	if len(schemas.members) > 0 {
		n.set("dependentSchemas", schemas)
	}
}

// tupleItems makes prefixItems of a list of items, and items of what comes after them.
func tupleItems(n *node) {
	items := n.get("items")
	if items == nil || items.kind != isArray || n.get("prefixItems") != nil {
		return
	}
	rest := n.remove("additionalItems")
	n.rename("items", "prefixItems")
	if len(items.elems) == 0 {
		n.remove("prefixItems")
	}
	if rest != nil {
		n.set("items", rest)
	}
}

// exclusiveLimits makes numbers of the exclusive limits that only say so of the other limit.
func exclusiveLimits(n *node) {
	for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		switch flag := n.get(exclusive); {
		case flag.is(false):
			n.remove(exclusive)
		case flag.is(true):
			n.remove(exclusive)
			if number := n.get(limit); number != nil {
				n.rename(limit, exclusive)
			}
		}
	}
}

// nullable allows null in addition to the type.
func nullable(n *node) {
	flag := n.get("nullable")
	if !flag.is(true) && !flag.is(false) {
		return
	}
	n.remove("nullable")
	types := n.get("type")
	if flag.is(false) || types == nil {
		return
	}
	null := &node{scalar: "null"}
	if name, ok := types.text(); ok && name != "null" {
		n.set("type", newArray(types, null))
	} else if names, ok := types.strings(); ok && !slices.Contains(names, "null") {
		n.set("type", newArray(append(slices.Clip(types.elems), null)...))
	}
	values := n.get("enum")
	if values == nil || values.kind != isArray || slices.ContainsFunc(values.elems,
		func(e *node) bool { return e.is(nil) }) {
		return
	}
	n.set("enum", newArray(append(slices.Clip(values.elems), &node{})...))
}

// number reads a JSON number.
func (n *node) number() (json.Number, bool) {
	if n == nil || n.kind != isScalar {
		return "", false
	}
	v, ok := n.scalar.(json.Number)
	return v, ok
}
