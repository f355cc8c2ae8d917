package kittest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A report collects the faults of one request.
type report struct{ faults []Fault }

func (r *report) add(path, rule, format string, args ...any) {
	r.faults = append(r.faults, Fault{Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// absent is the value of a node that the request does not have.
type absent struct{}

// A node is a value of the request's JSON with its path. Its methods may be called on values of any kind.
type node struct {
	value  any
	path   string
	report *report
}

// parse returns the root of a request whose method and form are right; false if the rest cannot be checked.
func parse(r *report, req *http.Request, body []byte) (node, bool) {
	if req.Method != http.MethodPost {
		r.add("method", "HTTP", "%s, not POST", req.Method)
	}
	if kind := req.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		r.add("header Content-Type", "HTTP", "%q is not application/json", kind)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value map[string]any
	if err := dec.Decode(&value); err != nil || value == nil {
		r.add("", "JSON", "the body is no JSON object: %v", err)
		return node{}, false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		r.add("", "JSON", "more than one value in the body")
	}
	return node{value: value, report: r}, true
}

func (n node) fault(rule, format string, args ...any) { n.report.add(n.path, rule, format, args...) }

// get returns the field of an object; an absent node if there is none.
func (n node) get(key string) node {
	child := node{value: absent{}, path: strings.TrimPrefix(n.path+"."+key, "."), report: n.report}
	if object, ok := n.value.(map[string]any); ok {
		if v, ok := object[key]; ok {
			child.value = v
		}
	}
	return child
}

// exists reports whether the request has the value; null counts as a value.
func (n node) exists() bool { return n.value != absent{} }

// given reports whether the request has the value and it is not null.
func (n node) given() bool { return n.exists() && n.value != nil }

func (n node) isObject() bool { _, ok := n.value.(map[string]any); return ok }
func (n node) isList() bool   { _, ok := n.value.([]any); return ok }
func (n node) isString() bool { _, ok := n.value.(string); return ok }
func (n node) isBool() bool   { _, ok := n.value.(bool); return ok }

func (n node) text() string { s, _ := n.value.(string); return s }
func (n node) isTrue() bool { return n.value == true }

// blank reports whether the node is a string of white space only, or no string.
func (n node) blank() bool { return strings.TrimSpace(n.text()) == "" }

func (n node) number() (float64, bool) {
	number, ok := n.value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}

// list returns the elements of a list.
func (n node) list() []node {
	values, _ := n.value.([]any)
	nodes := make([]node, len(values))
	for i, v := range values {
		nodes[i] = node{value: v, path: fmt.Sprintf("%s[%d]", n.path, i), report: n.report}
	}
	return nodes
}

// keys returns the names of an object's fields, sorted.
func (n node) keys() []string {
	object, _ := n.value.(map[string]any)
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// json returns the value as JSON with sorted keys.
func (n node) json() string {
	data, _ := json.Marshal(n.value)
	return string(data)
}

// only faults the fields that are not among those known.
func (n node) only(rule string, known ...string) {
	for _, key := range n.keys() {
		if !slices.Contains(known, key) {
			n.get(key).fault(rule, "unknown field %q", key)
		}
	}
}

// object faults what is no object and reports whether it is one.
func (n node) object(rule string) bool {
	if !n.isObject() {
		n.fault(rule, "must be an object")
	}
	return n.isObject()
}

// elements faults what is no list or an empty one, and returns the elements.
func (n node) elements(rule string) []node {
	if !n.isList() || len(n.list()) == 0 {
		n.fault(rule, "must be a list that is not empty")
	}
	return n.list()
}

// required faults what is no string or an empty one, and returns the string.
func (n node) required(rule string) string {
	if n.text() == "" {
		n.fault(rule, "must be a string that is not empty")
	}
	return n.text()
}

// oneOf faults a value that is there and not among the words.
func (n node) oneOf(rule string, words ...string) {
	if n.given() && (!n.isString() || !slices.Contains(words, n.text())) {
		n.fault(rule, "%s is none of %s", n.json(), strings.Join(words, ", "))
	}
}

// between faults a value that is there and no number of the range.
func (n node) between(rule string, low, high float64) {
	if f, ok := n.number(); n.given() && (!ok || f < low || f > high) {
		n.fault(rule, "%s is no number from %v to %v", n.json(), low, high)
	}
}

// positive faults a value that is there and no integer of at least low.
func (n node) integer(rule string, low float64) {
	if f, ok := n.number(); n.given() && (!ok || f < low || f != float64(int64(f))) {
		n.fault(rule, "%s is no integer of at least %v", n.json(), low)
	}
}

// boolean faults a value that is there and no bool.
func (n node) boolean(rule string) {
	if n.given() && !n.isBool() {
		n.fault(rule, "must be a bool")
	}
}

// match faults a string that the pattern does not match.
func (n node) match(rule string, pattern *regexp.Regexp) {
	if !pattern.MatchString(n.text()) {
		n.fault(rule, "%s does not match %s", n.json(), pattern)
	}
}

// base64 faults what is no base64 of at least one byte.
func (n node) base64(rule string) {
	if data, err := base64.StdEncoding.DecodeString(n.text()); err != nil || len(data) == 0 {
		n.fault(rule, "must be base64 with padding, without a data: prefix")
	}
}

// toolSchema faults what is no schema of a tool's arguments: an object of type object.
func (n node) toolSchema() {
	if !n.object("K10") {
		return
	}
	if kind := n.get("type").text(); !strings.EqualFold(kind, "object") {
		n.get("type").fault("K10", "the schema of a tool must have type object")
	}
	if !n.get("properties").isObject() {
		n.get("properties").fault("K10", "the schema of a tool must have properties, if only {}")
	}
}

// strictSchema faults a schema that OpenAI refuses when strict is true.
func (n node) strictSchema() {
	if !n.isObject() {
		return
	}
	if properties := n.get("properties"); properties.isObject() {
		if n.get("additionalProperties").value != false {
			n.get("additionalProperties").fault("R4", "must be false at each object of a strict schema")
		}
		var required []string
		for _, r := range n.get("required").list() {
			required = append(required, r.text())
		}
		for _, key := range properties.keys() {
			if !slices.Contains(required, key) {
				n.get("required").fault("R4", "a strict schema must require every property; %q is missing", key)
			}
			properties.get(key).strictSchema()
		}
	}
	n.get("items").strictSchema()
	for _, list := range []string{"anyOf"} {
		for _, part := range n.get(list).list() {
			part.strictSchema()
		}
	}
	for _, key := range n.get("$defs").keys() {
		n.get("$defs").get(key).strictSchema()
	}
	for _, key := range []string{"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "default"} {
		if n.get(key).exists() {
			n.get(key).fault("R4", "keyword %q is not for strict schemas", key)
		}
	}
}
