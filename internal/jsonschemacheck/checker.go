// Package jsonschemacheck holds a decoded JSON value against a JSON Schema and says in plain words what does not fit.
//
// The tools made of Go functions check the arguments that a model wrote with it, and the structured-output middleware
// checks final answers.
// It must never fetch anything: a reference that leads out of the schema accepts every value.
package jsonschemacheck

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"

	"github.com/eino-contrib/jsonschema"
)

const (
	// maxSteps bounds the work on one value, since alternatives in alternatives multiply. What is not reached fits.
	maxSteps = 200_000
	// maxDepth bounds references that lead to themselves, and values that are nested very deeply.
	maxDepth = 500
	// maxProblems is the number of problems that are listed: a model mends them in turns.
	maxProblems = 8
)

// Checker is a schema made ready. It is immutable and safe for concurrent use; the schema must not be changed while it
// is in use.
type Checker struct {
	root *jsonschema.Schema
	// patterns has the regular expressions of the schema that Go can read; the others accept every text.
	patterns map[string]*regexp.Regexp
	// targets has what references inside the schema lead to, by the schema that they are in.
	targets map[*jsonschema.Schema]*jsonschema.Schema
	// nothing has the subschemas that accept no value: those that are written as false.
	nothing map[*jsonschema.Schema]bool
	// uncertain has the subschemas that accept too much, because they have, somewhere inside, what the checker knows
	// nothing of. No value is refused because it fits one of them.
	uncertain map[*jsonschema.Schema]bool
	// defaults: there are default values somewhere.
	defaults bool
}

// New makes a schema ready. A nil schema accepts everything.
func New(s *jsonschema.Schema) *Checker {
	c := &Checker{
		root:      s,
		patterns:  map[string]*regexp.Regexp{},
		targets:   map[*jsonschema.Schema]*jsonschema.Schema{},
		nothing:   map[*jsonschema.Schema]bool{},
		uncertain: map[*jsonschema.Schema]bool{},
	}
	links := newLinks()
	links.visit(s, &url.URL{})
	for i := 0; i < len(links.references); i++ { // a target outside the keywords brings more of them
		r := links.references[i]
		if target := links.resolve(r.from.Ref, r.base); target != nil {
			c.targets[r.from] = target
		}
	}
	for _, sub := range links.all {
		c.collect(sub)
	}
	c.spreadUncertainty(links.all)
	return c
}

func (c *Checker) collect(s *jsonschema.Schema) {
	if reflect.DeepEqual(s, jsonschema.FalseSchema) {
		c.nothing[s] = true
	}
	c.addPattern(s.Pattern)
	for pattern := range s.PatternProperties {
		c.addPattern(pattern)
	}
	c.defaults = c.defaults || s.Default != nil
}

// spreadUncertainty makes every schema uncertain that has an uncertain one in it, or refers to one.
func (c *Checker) spreadUncertainty(all []*jsonschema.Schema) {
	around := map[*jsonschema.Schema][]*jsonschema.Schema{}
	var open []*jsonschema.Schema
	for _, s := range all {
		if c.isUncertain(s) {
			open = append(open, s)
		}
		eachSubschema(s, func(sub *jsonschema.Schema) { around[sub] = append(around[sub], s) })
		if target := c.targets[s]; target != nil {
			around[target] = append(around[target], s)
		}
	}
	for len(open) > 0 {
		s := open[len(open)-1]
		if open = open[:len(open)-1]; !c.uncertain[s] {
			c.uncertain[s] = true
			open = append(open, around[s]...)
		}
	}
}

// isUncertain reports whether a schema itself has what the checker knows nothing of.
func (c *Checker) isUncertain(s *jsonschema.Schema) bool {
	for _, keyword := range []string{"unevaluatedProperties", "unevaluatedItems", "$recursiveRef"} {
		if _, ok := s.Extras[keyword]; ok {
			return true
		}
	}
	return s.DynamicRef != "" || s.Ref != "" && c.targets[s] == nil || s.Pattern != "" && c.patterns[s.Pattern] == nil
}

func (c *Checker) addPattern(text string) {
	if text == "" || c.patterns[text] != nil {
		return
	}
	if p, err := regexp.Compile(text); err == nil {
		c.patterns[text] = p
	}
}

// eachSubschema calls visit for the schemas directly in s, nil ones included.
func eachSubschema(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		for _, sub := range list {
			visit(sub)
		}
	}
	for _, named := range []map[string]*jsonschema.Schema{s.Definitions, s.DependentSchemas, s.PatternProperties} {
		for _, sub := range named {
			visit(sub)
		}
	}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			visit(p.Value)
		}
	}
	for _, sub := range []*jsonschema.Schema{
		s.Not, s.If, s.Then, s.Else, s.Items, s.Contains, s.AdditionalProperties, s.PropertyNames, s.ContentSchema,
	} {
		visit(sub)
	}
}

// Check returns what is wrong with a value decoded from JSON, nil if it fits. Numbers may be float64 or json.Number. A
// null instead of a property that is not required counts as left out.
func (c *Checker) Check(value any) []string {
	w := walk{checker: c, steps: new(int)}
	w.value(c.root, value, "")
	return w.problems
}

// walk is one check of a value, or of a part of it against an alternative.
type walk struct {
	checker  *Checker
	problems []string
	depth    int
	steps    *int // shared by the walks into alternatives
}

func (w *walk) wrong(path, what string) {
	problem := at(path) + what
	if len(w.problems) < maxProblems && !slices.Contains(w.problems, problem) {
		w.problems = append(w.problems, problem)
	}
}

// at names a place in the value at the begin of a sentence.
func at(path string) string {
	if path == "" {
		return "the value "
	}
	return path + " "
}

func property(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// problemsOf returns the problems of a value against another schema than the one it is held against.
func (w *walk) problemsOf(s *jsonschema.Schema, v any, path string) []string {
	inner := walk{checker: w.checker, steps: w.steps, depth: w.depth}
	inner.value(s, v, path)
	return inner.problems
}

func (w *walk) fits(s *jsonschema.Schema, v any) bool { return len(w.problemsOf(s, v, "")) == 0 }

func (w *walk) uncertain(s *jsonschema.Schema) bool { return w.checker.uncertain[s] }

// value holds a value against a schema.
func (w *walk) value(s *jsonschema.Schema, v any, path string) {
	if *w.steps++; s == nil || *w.steps > maxSteps || w.depth > maxDepth {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.checker.nothing[s] {
		w.wrong(path, "is not allowed")
		return
	}
	if target := w.checker.targets[s]; target != nil {
		w.value(target, v, path)
	}
	if !w.ofType(s, v, path) {
		return
	}
	w.listed(s, v, path)
	w.combined(s, v, path)
	switch v := v.(type) {
	case map[string]any:
		w.object(s, v, path)
	case []any:
		w.array(s, v, path)
	case string:
		w.text(s, v, path)
	default:
		if n, ok := numberOf(v); ok {
			w.number(s, n, path)
		}
	}
}

// combined holds a value against the schemas that a schema is made of.
func (w *walk) combined(s *jsonschema.Schema, v any, path string) {
	for _, sub := range s.AllOf {
		w.value(sub, v, path)
	}
	w.oneOrMore(s.AnyOf, false, v, path)
	w.oneOrMore(s.OneOf, true, v, path)
	if s.Not != nil && !w.checker.uncertain[s.Not] && w.fits(s.Not, v) {
		w.wrong(path, "fits what is ruled out")
	}
	if s.If != nil && !w.checker.uncertain[s.If] {
		if w.fits(s.If, v) {
			w.value(s.Then, v, path)
		} else {
			w.value(s.Else, v, path)
		}
	}
}

// oneOrMore holds a value against alternatives. If only one of them is for values of its type, that one says what is
// wrong.
func (w *walk) oneOrMore(alternatives []*jsonschema.Schema, onlyOne bool, v any, path string) {
	if len(alternatives) == 0 {
		return
	}
	fitting, ofType := 0, []*jsonschema.Schema(nil)
	for _, sub := range alternatives {
		if w.fits(sub, v) {
			fitting++
		}
		if sub != nil && (&walk{checker: w.checker, steps: w.steps}).ofType(sub, v, "") {
			ofType = append(ofType, sub)
		}
	}
	switch {
	case fitting == 0 && len(ofType) == 1:
		w.problems = append(w.problems, w.problemsOf(ofType[0], v, path)...)
	case fitting == 0:
		w.wrong(path, "fits none of the alternatives"+typesOfAll(alternatives))
	case fitting > 1 && onlyOne && !slices.ContainsFunc(alternatives, w.uncertain):
		w.wrong(path, "fits more than one of the alternatives")
	}
}
