package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

var _ = leaf{}.hidden

type (
	mapKey string
	leaf   struct {
		Text   string
		Number int
		hidden string // paths must not reach it
	}
	branchy struct {
		Leaf    leaf
		Pointer *leaf
		Map     map[string]leaf
		Aliased map[mapKey]string
		ByInt   map[int]string
		Any     any
		Named   named
		PMap    *map[string]string
		Maps    map[string]map[string]any
		embedded
		*Embedded
	}
	embedded struct{ Promoted string }
	Embedded struct{ Deep string }
)

// direct is START → END with the given mappings.
func direct[I, O any](mappings ...*FieldMapping) *Workflow[I, O] {
	wf := NewWorkflow[I, O]()
	wf.End().AddInput(START, mappings...)
	return wf
}

// Rule compose/W-4.
func TestFieldMapping_DescribesItself(t *testing.T) {
	extract := WithCustomExtractor(func(in any) (any, error) { return in, nil })
	cases := []struct {
		m        *FieldMapping
		from, to FieldPath
		text     string
	}{
		{FromField("a"), FieldPath{"a"}, nil, "[from a(field) of n]"},
		{ToField("b"), nil, FieldPath{"b"}, "[from n to b(field)]"},
		{MapFields("a", "b"), FieldPath{"a"}, FieldPath{"b"}, "[from a(field) of n to b(field)]"},
		{FromFieldPath(FieldPath{"a", "b"}), FieldPath{"a", "b"}, nil, "[from a\x1fb(field) of n]"},
		{ToFieldPath(FieldPath{"a", "b"}), nil, FieldPath{"a", "b"}, "[from n to a\x1fb(field)]"},
		{MapFieldPaths(FieldPath{"a"}, FieldPath{"b", "c"}), FieldPath{"a"}, FieldPath{"b", "c"},
			"[from a(field) of n to b\x1fc(field)]"},
		{ToField("", extract), nil, nil, "[from n]"},
	}
	for _, c := range cases {
		require.Equal(t, c.from, c.m.FromPath())
		require.Equal(t, c.to, c.m.ToPath())
		require.Equal(t, "", c.m.FromNodeKey())
		of, err := c.m.of("n")
		require.NoError(t, err)
		require.Equal(t, "n", of.FromNodeKey())
		require.Equal(t, c.text, of.String())
		require.Equal(t, "", c.m.FromNodeKey(), "the caller's mapping stays as it is")
	}
	require.True(t, MapFields("a", "b").Equals(MapFieldPaths(FieldPath{"a"}, FieldPath{"b"})))
	require.False(t, MapFields("a", "b").Equals(MapFields("a", "c")))
	require.False(t, ToField("a").Equals(FromField("a")))
	require.False(t, ToField("a", extract).Equals(ToField("a", extract)))
	require.False(t, ToField("a").Equals(ToField("a", extract)))
	var none *FieldMapping
	require.True(t, none.Equals(nil))
	require.False(t, none.Equals(ToField("a")))
	require.False(t, ToField("a").Equals(nil))
}

// Rule compose/W-3.
func TestFieldMapping_MapsWholesFieldsAndPaths(t *testing.T) {
	source := branchy{
		Leaf:     leaf{Text: "leaf", Number: 1},
		Pointer:  &leaf{Text: "pointer"},
		Map:      map[string]leaf{"k": {Text: "in map"}},
		Aliased:  map[mapKey]string{"k": "aliased"},
		Any:      map[string]any{"k": &leaf{Text: "in any"}},
		Named:    person("Ann"),
		PMap:     &map[string]string{"k": "in pmap"},
		Maps:     map[string]map[string]any{"k": {"l": "two maps"}},
		Embedded: &Embedded{Deep: "deep"},
	}
	source.Promoted = "promoted"
	paths := map[string]FieldPath{
		"leaf":     {"Leaf", "Text"},
		"pointer":  {"Pointer", "Text"},
		"in map":   {"Map", "k", "Text"},
		"aliased":  {"Aliased", "k"},
		"in any":   {"Any", "k", "Text"},
		"in pmap":  {"PMap", "k"},
		"two maps": {"Maps", "k", "l"},
		"promoted": {"Promoted"},
		"deep":     {"Deep"},
	}
	for want, path := range paths {
		t.Run(want, func(t *testing.T) {
			forms4(t, compiled[branchy, string](t, direct[branchy, string](FromFieldPath(path))), source, want)
			forms4(t, compiled[*branchy, string](t, direct[*branchy, string](FromFieldPath(path))), &source, want)
			forms4(t, compiled[any, string](t, direct[any, string](FromFieldPath(path))), any(source), want)
			forms4(t, compiled[branchy, kv](t, direct[branchy, kv](MapFieldPaths(path, FieldPath{"a", "b"}))), source,
				kv{"a": kv{"b": want}})
		})
	}
	forms4(t, compiled[string, kv](t, direct[string, kv](ToField("k"))), "x", kv{"k": "x"})
	forms4(t, compiled[leaf, leaf](t, direct[leaf, leaf](MapFields("Text", "Text"))), leaf{Text: "x", Number: 1},
		leaf{Text: "x"})
	forms4(t, compiled[kv, any](t, direct[kv, any](FromField("k"))), kv{"k": nil}, nil)
}

// Rule compose/W-9.
func TestFieldMapping_MakesItsTarget(t *testing.T) {
	cases := map[string]struct {
		path FieldPath
		want branchy
	}{
		"struct":            {FieldPath{"Leaf", "Text"}, branchy{Leaf: leaf{Text: "x"}}},
		"pointer":           {FieldPath{"Pointer", "Text"}, branchy{Pointer: &leaf{Text: "x"}}},
		"struct in a map":   {FieldPath{"Map", "k", "Text"}, branchy{Map: map[string]leaf{"k": {Text: "x"}}}},
		"alias":             {FieldPath{"Aliased", "k"}, branchy{Aliased: map[mapKey]string{"k": "x"}}},
		"any becomes a map": {FieldPath{"Any", "a", "b"}, branchy{Any: kv{"a": kv{"b": "x"}}}},
		"pointer to a map":  {FieldPath{"PMap", "k"}, branchy{PMap: &map[string]string{"k": "x"}}},
		"map in a map": {FieldPath{"Maps", "k", "l", "m"},
			branchy{Maps: map[string]map[string]any{"k": {"l": kv{"m": "x"}}}}},
		"promoted, by a pointer": {FieldPath{"Deep"}, branchy{Embedded: &Embedded{Deep: "x"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			forms4(t, compiled[string, branchy](t, direct[string, branchy](ToFieldPath(c.path))), "x", c.want)
			forms4(t, compiled[string, *branchy](t, direct[string, *branchy](ToFieldPath(c.path))), "x", &c.want)
		})
	}
	// Several fields of one struct in a map.
	two := direct[leaf, branchy](MapFieldPaths(FieldPath{"Text"}, FieldPath{"Map", "k", "Text"}),
		MapFieldPaths(FieldPath{"Number"}, FieldPath{"Map", "k", "Number"}))
	forms4(t, compiled[leaf, branchy](t, two), leaf{Text: "x", Number: 7},
		branchy{Map: map[string]leaf{"k": {Text: "x", Number: 7}}})
	// A nil leaves a field zero and sets a map key.
	forms4(t, compiled[any, branchy](t, direct[any, branchy](ToField("Any"))), nil, branchy{})
	forms4(t, compiled[kv, branchy](t, direct[kv, branchy](MapFields("k", "Pointer"))), kv{"k": nil}, branchy{})
	forms4(t, compiled[kv, kv](t, direct[kv, kv](MapFields("k", "l"))), kv{"k": nil}, kv{"l": nil})
	forms4(t, compiled[kv, map[string]*leaf](t, direct[kv, map[string]*leaf](MapFields("k", "l"))), kv{"k": nil},
		map[string]*leaf{"l": nil})
}

// Fields that are mapped into an input of type any make it a map[string]any.
func TestFieldMapping_AnyBecomesAMap(t *testing.T) {
	ctx := context.Background()
	forms4(t, compiled[string, any](t, direct[string, any](ToField("q"))), "x", any(kv{"q": "x"}))
	forms4(t, compiled[string, any](t, direct[string, any](ToFieldPath(FieldPath{"a", "b", "c"}))), "x",
		any(kv{"a": kv{"b": kv{"c": "x"}}}))
	forms4(t, compiled[any, any](t, direct[any, any](ToField("q"))), nil, any(kv{"q": nil}))

	several := NewWorkflow[string, any]()
	several.AddLambdaNode("up", suffix("!")).AddInput(START)
	several.End().AddInput(START, ToFieldPath(FieldPath{"in", "q"})).AddInput("up", ToFieldPath(FieldPath{"in", "a"})).
		SetStaticValue(FieldPath{"in", "s"}, 1).SetStaticValue(FieldPath{"k"}, "v")
	forms4(t, compiled[string, any](t, several), "x", any(kv{"in": kv{"q": "x", "a": "x!", "s": 1}, "k": "v"}))

	same := InvokableLambda(func(_ context.Context, in any) (any, error) { return in, nil })
	lambda := NewWorkflow[string, any]()
	lambda.AddLambdaNode("n", same).AddInput(START, ToField("q")).SetStaticValue(FieldPath{"k"}, "v")
	lambda.End().AddInput("n")
	forms4(t, compiled[string, any](t, lambda), "x", any(kv{"q": "x", "k": "v"}))

	alone := NewWorkflow[string, any]()
	alone.AddLambdaNode("n", same).AddDependency(START).SetStaticValue(FieldPath{"a", "b"}, 1)
	alone.End().AddInput("n")
	forms4(t, compiled[string, any](t, alone), "x", any(kv{"a": kv{"b": 1}}))

	// What is mapped from a node that was skipped is absent.
	skipped := NewWorkflow[string, any]()
	skipped.AddLambdaNode("a", suffix("a")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	skipped.AddLambdaNode("b", suffix("b")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	skipped.AddBranch(START, NewGraphBranch(choose("b"), map[string]bool{"a": true, "b": true}))
	skipped.End().AddInput("a", ToField("a")).AddInput("b", ToField("b"))
	forms4(t, compiled[string, any](t, skipped), "x", any(kv{"b": "xb"}))

	// In a stream every chunk is a map of its own.
	s, err := compiled[string, any](t, direct[string, any](ToField("q"))).
		Transform(ctx, schema.StreamReaderFromArray([]string{"a", "b"}))
	require.NoError(t, err)
	require.Equal(t, []any{kv{"q": "a"}, kv{"q": "b"}}, readAll(t, s))

	taken := NewWorkflow[string, any]()
	taken.End().AddInput(START, ToField("q")).SetStaticValue(FieldPath{"q", "r"}, 1)
	_, err = taken.Compile(ctx)
	require.EqualError(t, err, "two terminal field paths conflict for node end: [q], [q r]")
}

// Rules compose/W-5, compose/W-14.
func TestFieldMapping_CompileRefusesImpossibleMappings(t *testing.T) {
	mapping := func(m *FieldMapping) string { c, _ := m.of(START); return c.String() }
	compileErr := func(wf AnyGraph) error {
		_, err := wf.compilePlan(newCompileOptions(nil))
		return err
	}
	checks := []struct {
		name string
		err  error
		want string
	}{
		{"successor kind", compileErr(direct[string, string](ToField("a"))),
			"static check fail: successor input type should be struct or map, actual: string"},
		{"successor any", compileErr(direct[string, any](ToField("a"))), ""},
		{"successor interface", compileErr(direct[string, named](ToField("a"))),
			"static check fail: successor input type should be struct or map, actual: compose.named"},
		{"predecessor kind", compileErr(direct[string, string](FromField("a"))),
			"static check fail: predecessor output type should be struct or map, actual: string"},
		{"successor before predecessor", compileErr(direct[string, string](MapFields("a", "b"))),
			"static check fail: successor input type should be struct or map, actual: string"},
		{"no such source", compileErr(direct[*schema.Message, any](FromField("None"))),
			"static check failed for mapping " + mapping(FromField("None")) + ": type[schema.Message] has no field[None]"},
		{"no such target", compileErr(direct[string, *leaf](ToField("None"))),
			"static check failed for mapping [from start to None(field)]: type[compose.leaf] has no field[None]"},
		{"unexported source", compileErr(direct[leaf, any](FromField("hidden"))),
			"static check failed for mapping [from hidden(field) of start]: type[compose.leaf] has an unexported field[hidden]"},
		{"unexported target", compileErr(direct[any, leaf](ToField("hidden"))),
			"static check failed for mapping [from start to hidden(field)]: type[compose.leaf] has an unexported field[hidden]"},
		{"target behind an unexported pointer", compileErr(direct[string, promoted](ToField("Text"))),
			"static check failed for mapping [from start to Text(field)]: type[compose.promoted] has field[Text] behind an embedded pointer to an unexported type, which cannot be set"},
		{"target in an unexported struct", compileErr(direct[string, struct{ leaf }](ToField("Text"))), ""},
		{"source behind an unexported pointer", compileErr(direct[promoted, string](FromField("Text"))), ""},
		{"the unexported from of a mapping", compileErr(direct[FieldMapping, any](FromField("from"))),
			"static check failed for mapping [from from(field) of start]: type[compose.FieldMapping] has an unexported field[from]"},
		{"the unexported to of a mapping", compileErr(direct[any, *FieldMapping](ToField("to"))),
			"static check failed for mapping [from start to to(field)]: type[compose.FieldMapping] has an unexported field[to]"},
		{"map key", compileErr(direct[map[int]string, any](FromField("k"))),
			"static check failed for mapping [from k(field) of start]: type[map[int]string] is not a map with string or string alias key"},
		{"map key on the way", compileErr(direct[string, branchy](ToFieldPath(FieldPath{"ByInt", "k"}))),
			"static check failed for mapping [from start to ByInt\x1fk(field)]: type[map[int]string] is not a map with string or string alias key"},
		{"intermediate", compileErr(direct[leaf, any](FromFieldPath(FieldPath{"Text", "a"}))),
			"static check failed for mapping [from Text\x1fa(field) of start]: intermediate type[string] is not valid"},
		{"intermediate target", compileErr(direct[string, leaf](ToFieldPath(FieldPath{"Text", "a"}))),
			"static check failed for mapping [from start to Text\x1fa(field)]: intermediate type[string] is not valid"},
		{"not assignable", compileErr(direct[leaf, leaf](MapFields("Number", "Text"))),
			"static check failed for mapping [from Number(field) of start to Text(field)], field[int]-[string] is absolutely not assignable"},
		{"not assignable as a whole", compileErr(direct[leaf, int](FromField("Text"))),
			"static check failed for mapping [from Text(field) of start], field[string]-[int] is absolutely not assignable"},
		{"interface on the target", compileErr(direct[string, branchy](ToFieldPath(FieldPath{"Named", "a"}))),
			"static check failed for mapping [from start to Named\x1fa(field)], the successor has intermediate interface type compose.named"},
		{"target path before source path", compileErr(direct[leaf, leaf](MapFields("None", "hidden"))),
			"static check failed for mapping [from None(field) of start to hidden(field)]: type[compose.leaf] has an unexported field[hidden]"},
		{"overlap in one input", compileErr(direct[kv, kv](MapFields("x", "a"), MapFields("y", "a"))),
			"two terminal field paths conflict for node end: [a], [a]"},
		{"overlap: whole first", compileErr(direct[kv, kv](MapFields("x", "a"),
			MapFieldPaths(FieldPath{"y"}, FieldPath{"a", "b"}))), "two terminal field paths conflict for node end: [a], [a b]"},
		{"overlap: part first", compileErr(direct[kv, kv](MapFieldPaths(FieldPath{"y"}, FieldPath{"a", "b"}),
			MapFields("x", "a"))), "two terminal field paths conflict for node end: [a], [a]"},
		{"whole twice", compileErr(direct[kv, any](FromField("x"), FromField("y"))), wholeTaken("end").Error()},
		{"whole and part", compileErr(direct[kv, kv](ToField("a"), FromField("y"))), wholeTaken("end").Error()},
		{"empty ToField is the whole", compileErr(direct[string, int](ToField(""))),
			"static check failed for mapping [from start], field[string]-[int] is absolutely not assignable"},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				require.NoError(t, c.err)
				return
			}
			requireError(t, c.err, c.want)
		})
	}
}

// promoted has the fields of an unexported struct behind a pointer.
type promoted struct{ *leaf }

// The error of several inputs that would each fill the whole names the ways out.
// Rule compose/W-5.
func TestFieldMapping_RefusesSeveralWholeInputs(t *testing.T) {
	require.EqualError(t, wholeTaken("end"),
		"entire output has already been mapped for node: end: only a single input can fill "+
			"all of it; give each input a field of its own with ToField (to take one of several alternatives, choose in a lambda "+
			"before it), or use a Graph, where several nodes may lead to one")
}

// Overlaps between the inputs of a node, in the order they were declared.
// Rule compose/W-5.
func TestFieldMapping_RefusesOverlappingTargets(t *testing.T) {
	build := func(end func(n *WorkflowNode)) error {
		wf := NewWorkflow[kv, kv]()
		wf.AddPassthroughNode("a").AddInput(START)
		wf.AddPassthroughNode("b").AddInput(START)
		end(wf.End())
		_, err := wf.Compile(context.Background())
		return err
	}
	require.EqualError(t, build(func(n *WorkflowNode) { n.AddInput("a").AddInput("b") }), wholeTaken("end").Error())
	require.EqualError(t, build(func(n *WorkflowNode) { n.AddInput("a").AddInput("b", ToField("k")) }),
		wholeTaken("end").Error())
	require.EqualError(t, build(func(n *WorkflowNode) { n.AddInput("a", ToField("k")).AddInput("b") }),
		wholeTaken("end").Error())
	require.EqualError(t, build(func(n *WorkflowNode) { n.AddInput("a", ToField("k")).AddInput("b", ToField("k")) }),
		"two terminal field paths conflict for node end: [k], [k]")
	require.EqualError(t, build(func(n *WorkflowNode) {
		n.AddInput("a", ToFieldPath(FieldPath{"k", "l", "m"})).AddInput("b", ToFieldPath(FieldPath{"k", "l"}))
	}), "two terminal field paths conflict for node end: [k l], [k l]")
	require.EqualError(t, build(func(n *WorkflowNode) {
		n.AddInput("a", ToFieldPath(FieldPath{"k", "l"})).AddInput("b", ToFieldPath(FieldPath{"k", "l", "m"}))
	}), "two terminal field paths conflict for node end: [k l], [k l m]")
	require.EqualError(t, build(func(n *WorkflowNode) { n.AddInput("a", ToField("k")).SetStaticValue(FieldPath{"k"}, 1) }),
		"two terminal field paths conflict for node end: [k], [k]")
	require.EqualError(t, build(func(n *WorkflowNode) {
		n.AddInput("a", ToField("k")).SetStaticValue(FieldPath{"s"}, 1).SetStaticValue(FieldPath{"s", "t"}, 1)
	}), "two terminal field paths conflict for node end: [s], [s t]")
	require.EqualError(t, build(func(n *WorkflowNode) { n.AddInput("a").SetStaticValue(FieldPath{"k"}, 1) }),
		wholeTaken("end").Error())
	// An overlap is reported before mistakes in the types.
	require.EqualError(t, build(func(n *WorkflowNode) {
		n.AddInput("a", ToField("k")).AddInput("b", MapFieldPaths(FieldPath{"x"}, FieldPath{"k", "l"}))
	}), "two terminal field paths conflict for node end: [k], [k l]")
}

// Rule compose/W-6.
func TestFieldMapping_ChecksInterfacesAtRun(t *testing.T) {
	r := compiled[any, leaf](t, direct[any, leaf](MapFields("k", "Text")))
	forms4(t, r, any(kv{"k": "x"}), leaf{Text: "x"})
	for in, have := range map[any]string{7: "int", nil: "<nil>"} {
		for _, err := range fails(t, r, any(kv{"k": in})) {
			require.ErrorContains(t, err, "runtime check failed for mapping [from k(field) of start to Text(field)], field["+
				have+"]-[string] is absolutely not assignable")
		}
	}
	// The whole input.
	whole := compiled[kv, string](t, direct[kv, string](FromField("k")))
	forms4(t, whole, kv{"k": "x"}, "x")
	for _, err := range fails(t, whole, kv{"k": 7}) {
		require.ErrorContains(t, err,
			"runtime check failed for mapping [from k(field) of start], field[int]-[string] is absolutely not assignable")
	}
	// In a stream only the chunk that fails is an error.
	s, err := whole.Transform(context.Background(), schema.StreamReaderFromArray([]kv{{"k": "a"}, {"k": 7}, {"k": "b"}}))
	require.NoError(t, err)
	defer s.Close()
	chunk, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, "a", chunk)
	_, err = s.Recv()
	require.ErrorContains(t, err, "runtime check failed")
}

// Rules compose/W-7, compose/W-8.
func TestFieldMapping_ReportsUnreadableSources(t *testing.T) {
	type outer struct {
		In    *branchy
		Any   any
		Named named
		Map   map[string]leaf
		PMap  *map[string]string
	}
	cases := []struct {
		name string
		path FieldPath
		in   outer
		want string
	}{
		{"nil pointer", FieldPath{"In", "Leaf"}, outer{},
			"intermediate source value on path=[In Leaf] is nil for type [*compose.branchy]"},
		{"nil any", FieldPath{"Any", "a", "b"}, outer{},
			"intermediate source value on path=[Any a] is nil for type [interface {}]"},
		{"nil interface", FieldPath{"Named", "a"}, outer{},
			"intermediate source value on path=[Named a] is nil for type [compose.named]"},
		{"nil map", FieldPath{"Map", "k"}, outer{},
			"intermediate source value on path=[Map k] is nil for map type [map[string]compose.leaf]"},
		{"nil pointer to a map", FieldPath{"PMap", "k"}, outer{},
			"intermediate source value on path=[PMap k] is nil for type [*map[string]string]"},
		{"nil deeper", FieldPath{"In", "Pointer", "Text"}, outer{In: &branchy{}},
			"intermediate source value on path=[In Pointer Text] is nil for type [*compose.leaf]"},
		{"nil in any", FieldPath{"Any", "a", "b"}, outer{Any: kv{"a": nil}},
			"intermediate source value on path=[Any a b] is nil for type [interface {}]"},
		{"nil map in any", FieldPath{"Any", "a"}, outer{Any: kv(nil)},
			"intermediate source value on path=[Any a] is nil for map type [map[string]interface {}]"},
		{"actual type", FieldPath{"Any", "a"}, outer{Any: 7},
			"field mapping from an interface type, but actual type is not struct, struct ptr or map. InterfaceType= interface {}, ActualType= int"},
		{"actual type of an interface", FieldPath{"Named", "a"}, outer{Named: person("x")},
			"field mapping from an interface type, but actual type is not struct, struct ptr or map. InterfaceType= compose.named, ActualType= compose.person"},
		{"no such field", FieldPath{"Any", "None"}, outer{Any: leaf{}},
			"field mapping from a struct field, but field not found. field=None, inputType=compose.leaf"},
		{"unexported field", FieldPath{"Any", "hidden"}, outer{Any: &leaf{}},
			"field mapping from a struct field, but field not exported. field= hidden, inputType=compose.leaf"},
		{"map key", FieldPath{"Any", "a"}, outer{Any: map[int]string{}},
			"type[map[int]string] is not a map with string or string alias key"},
		{"nil embedded pointer", FieldPath{"In", "Deep"}, outer{In: &branchy{}}, "nil embedded pointer"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := compiled[outer, any](t, direct[outer, any](FromFieldPath(c.path)))
			for _, err := range fails(t, r, c.in) {
				require.ErrorContains(t, err, c.want)
			}
			// The run of streams succeeds, the error is in the stream (rule compose/W-8).
			s, err := r.Stream(context.Background(), c.in)
			require.NoError(t, err)
			defer s.Close()
			_, err = s.Recv()
			require.ErrorContains(t, err, c.want)
		})
	}
	// The whole output is nil.
	for _, err := range fails(t, compiled[*leaf, string](t, direct[*leaf, string](FromField("Text"))), nil) {
		require.ErrorContains(t, err, "intermediate source value on path=[Text] is nil for type [*compose.leaf]")
	}
	for _, err := range fails(t, compiled[any, string](t, direct[any, string](FromField("Text"))), nil) {
		require.ErrorContains(t, err, "intermediate source value on path=[Text] is nil for type [interface {}]")
	}
	for _, err := range fails(t, compiled[named, string](t, direct[named, string](FromField("Text"))), nil) {
		require.ErrorContains(t, err, "intermediate source value on path=[Text] is nil for type [compose.named]")
	}
	for _, err := range fails(t, compiled[kv, string](t, direct[kv, string](FromField("k"))), nil) {
		require.ErrorContains(t, err, "intermediate source value on path=[k] is nil for map type [map[string]interface {}]")
	}
}

// Rules compose/W-7, compose/W-8.
func TestFieldMapping_AMissingKeyFailsOnlyValues(t *testing.T) {
	r := compiled[kv, kv](t, direct[kv, kv](MapFields("a", "x"), MapFields("b", "y")))
	_, err := r.Invoke(context.Background(), kv{"a": 1})
	require.ErrorContains(t, err, "field mapping from a map key, but key not found in input. key=b")
	s, err := r.Transform(context.Background(),
		schema.StreamReaderFromArray([]kv{{"a": "1"}, {"c": "no"}, {"b": "2"}, {"a": "3", "b": "4"}}))
	require.NoError(t, err)
	require.Equal(t, []kv{{"x": "1"}, {"y": "2"}, {"x": "3", "y": "4"}}, readAll(t, s))
	s, err = r.Transform(context.Background(), schema.StreamReaderFromArray([]kv{{"c": "no"}}))
	require.NoError(t, err)
	_, err = s.Recv()
	require.ErrorIs(t, err, io.EOF)
	s.Close()
}

// A map target joins by itself, a struct target needs a concat function.
// Rule compose/W-8.
func TestFieldMapping_JoinsTargetsFromSeveralNodes(t *testing.T) {
	type plain struct{ A, B string }
	use := func(wf *Workflow[string, string], n *WorkflowNode) Runnable[string, string] {
		for _, k := range []string{"A", "B"} {
			wf.AddLambdaNode(k, suffix(k)).AddInput(START)
			n.AddInput(k, ToField(k))
		}
		wf.End().AddInput("n")
		return compiled[string, string](t, wf)
	}
	intoMap := NewWorkflow[string, string]()
	r := use(intoMap, intoMap.AddLambdaNode("n", joinKeys("A", "B")))
	forms4(t, r, "x", "[xA][xB]")
	intoStruct := NewWorkflow[string, string]()
	r = use(intoStruct, intoStruct.AddLambdaNode("n",
		InvokableLambda(func(_ context.Context, in plain) (string, error) { return in.A + in.B, nil })))
	out, err := r.Invoke(context.Background(), "x")
	require.NoError(t, err)
	require.Equal(t, "xAxB", out)
	_, err = r.Stream(context.Background(), "x")
	require.ErrorContains(t, err, "cannot concat multiple non-zero value of type compose.plain")
}

// Rules compose/W-10, compose/B22.8.
func TestFieldMapping_ExtractorsGetTheWholeOutput(t *testing.T) {
	upper := WithCustomExtractor(func(in any) (any, error) { return strings.ToUpper(in.(string)), nil })
	forms4(t, compiled[string, string](t, direct[string, string](ToField("", upper))), "x", "X")
	forms4(t, compiled[string, kv](t, direct[string, kv](ToField("up", upper), ToField("as is"))), "x",
		kv{"up": "X", "as is": "x"})
	// The source is not checked when compiling, the target is when running.
	length := WithCustomExtractor(func(in any) (any, error) { return len(in.(string)), nil })
	forms4(t, compiled[string, leaf](t, direct[string, leaf](ToField("Number", length))), "abc", leaf{Number: 3})
	for _, err := range fails(t, compiled[string, leaf](t, direct[string, leaf](ToField("Text", length))), "abc") {
		require.ErrorContains(t, err,
			"runtime check failed for mapping [from start to Text(field)], field[int]-[string] is absolutely not assignable")
	}
	nothing := WithCustomExtractor(func(any) (any, error) { return nil, nil })
	forms4(t, compiled[string, any](t, direct[string, any](ToField("", nothing))), "x", nil)
	forms4(t, compiled[string, *leaf](t, direct[string, *leaf](ToField("", nothing))), "x", nil)
	for _, err := range fails(t, compiled[string, int](t, direct[string, int](ToField("", nothing))), "x") {
		require.ErrorContains(t, err, "field[<nil>]-[int] is absolutely not assignable")
	}
	failing := WithCustomExtractor(func(any) (any, error) { return nil, errBoom })
	panicking := WithCustomExtractor(func(any) (any, error) { panic(errBoom) })
	for _, opt := range []FieldMappingOption{failing, panicking} {
		for _, err := range fails(t, compiled[string, kv](t, direct[string, kv](ToField("k", opt))), "x") {
			require.ErrorIs(t, err, errBoom)
		}
	}
	// In a stream the extractor gets each chunk.
	s, err := compiled[string, string](t, direct[string, string](ToField("", upper))).
		Transform(context.Background(), schema.StreamReaderFromArray([]string{"a", "b"}))
	require.NoError(t, err)
	require.Equal(t, []string{"A", "B"}, readAll(t, s))
	// Not an extractor at all.
	forms4(t, compiled[string, string](t, direct[string, string](ToField("", nil, WithCustomExtractor(nil)))), "x", "x")
}

// Rules compose/W-11, compose/B22.11.
func TestFieldMapping_MergesStaticValues(t *testing.T) {
	wf := NewWorkflow[string, kv]()
	wf.End().AddInput(START, ToFieldPath(FieldPath{"a", "in"})).
		SetStaticValue(FieldPath{"a", "fixed"}, 1).
		SetStaticValue(FieldPath{"b"}, "two").
		SetStaticValue(FieldPath{"nil"}, nil)
	r := compiled[string, kv](t, wf)
	out, err := r.Invoke(context.Background(), "x")
	require.NoError(t, err)
	require.Equal(t, kv{"a": kv{"in": "x", "fixed": 1}, "b": "two", "nil": nil}, out)
	s, err := r.Stream(context.Background(), "x")
	require.NoError(t, err)
	require.ElementsMatch(t, []kv{{"a": kv{"in": "x"}}, {"a": kv{"fixed": 1}, "b": "two", "nil": nil}}, readAll(t, s),
		"one extra chunk")

	// Only static values, and a dependency.
	alone := NewWorkflow[string, kv]()
	alone.AddLambdaNode("n", InvokableLambda(func(_ context.Context, in kv) (kv, error) { return in, nil })).
		AddDependency(START).SetStaticValue(FieldPath{"k"}, "v")
	alone.End().AddInput("n")
	forms4(t, compiled[string, kv](t, alone), "x", kv{"k": "v"})
	onStruct := NewWorkflow[string, branchy]()
	onStruct.AddLambdaNode("n",
		InvokableLambda(func(_ context.Context, in *branchy) (branchy, error) { return *in, nil })).
		AddDependency(START).SetStaticValue(FieldPath{"Pointer", "Text"}, "v").SetStaticValue(FieldPath{"Maps", "k", "l"}, 1)
	onStruct.End().AddInput("n")
	forms4(t, compiled[string, branchy](t, onStruct), "x",
		branchy{Pointer: &leaf{Text: "v"}, Maps: map[string]map[string]any{"k": {"l": 1}}})

	static := func(path FieldPath, v any) error {
		wf := NewWorkflow[string, *leaf]()
		wf.End().AddDependency(START).SetStaticValue(path, v)
		_, err := wf.Compile(context.Background())
		return err
	}
	require.ErrorContains(t, static(FieldPath{"Text"}, 1),
		"static value of node 'end': path [Text]: a value of type int cannot be assigned to string")
	require.ErrorContains(t, static(FieldPath{"Text"}, nil), "a value of type <nil> cannot be assigned to string")
	require.ErrorContains(t, static(FieldPath{"None"}, nil), "type[compose.leaf] has no field[None]")
	notMap := NewWorkflow[string, string]()
	notMap.End().AddDependency(START).SetStaticValue(FieldPath{"k"}, 1)
	_, err = notMap.Compile(context.Background())
	require.ErrorContains(t, err, "successor input type should be struct or map, actual: string")
}

// Mappings of one predecessor are applied in the order they were declared, mappings of several in the order of nodes.
// Rule compose/B22.11.
func TestFieldMapping_AppliesMappingsInOrder(t *testing.T) {
	var order []string
	extract := func(name string) FieldMappingOption {
		return WithCustomExtractor(func(any) (any, error) { order = append(order, name); return name, nil })
	}
	wf := NewWorkflow[string, kv]()
	wf.AddLambdaNode("a", suffix("")).AddInput(START)
	wf.AddLambdaNode("b", suffix("")).AddInput(START)
	wf.End().
		AddInput("b", ToField("b2", extract("b2")), ToField("b1", extract("b1"))).
		AddInput("a", ToField("a2", extract("a2")), ToField("a1", extract("a1")))
	r := compiled[string, kv](t, wf)
	for range 20 {
		order = nil
		_, err := r.Invoke(context.Background(), "x")
		require.NoError(t, err)
		require.Equal(t, []string{"a2", "a1", "b2", "b1"}, order)
	}
}

// Nothing is extracted for a node that is skipped.
// Rule compose/X-19.
func TestFieldMapping_ExtractsNothingForSkippedNodes(t *testing.T) {
	wf := NewWorkflow[string, string]()
	wf.AddLambdaNode("skipped", suffix("")).AddInputWithOptions(START, []*FieldMapping{
		ToField("", WithCustomExtractor(func(any) (any, error) { return nil, errBoom })),
	}, WithNoDirectDependency())
	wf.AddLambdaNode("taken", suffix("t")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	wf.AddBranch(START, NewGraphBranch(choose("taken"), map[string]bool{"skipped": true, "taken": true}))
	wf.End().AddInput("taken", ToField("", WithCustomExtractor(func(in any) (any, error) { return in, nil })))
	forms4(t, compiled[string, string](t, wf), "x", "xt")
}

// modelValue returns the value at a path in nested maps, found the simple way.
func modelValue(in any, path FieldPath) (v any, fail string) {
	for _, name := range path {
		m, ok := in.(map[string]any)
		switch {
		case in == nil:
			return nil, "is nil for type"
		case !ok:
			return nil, "actual type is not struct, struct ptr or map"
		case m == nil:
			return nil, "is nil for map type"
		}
		v, ok := m[name]
		if !ok {
			return nil, "key not found"
		}
		in = v
	}
	return in, ""
}

// modelTree makes nested maps of a text: each byte adds something.
func modelTree(shape string) map[string]any {
	root := map[string]any{}
	at := root
	for i, c := range shape {
		name := string(rune('a' + i%3))
		switch c % 5 {
		case 0:
			at[name] = i
		case 1:
			at[name] = nil
		case 2:
			at[name] = map[string]any(nil)
		default:
			next := map[string]any{}
			at[name] = next
			at = next
		}
	}
	return root
}

func FuzzFieldPath(f *testing.F) {
	for _, seed := range [][3]string{{"abc", "a/b/c", "a/b"}, {"344", "a", "a"}, {"123", "b/c", "b"},
		{"3333", "a/b/c/a/b", "a/b/c"}, {"", "", ""}, {"d", "\x1f", "a//b"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	types := []reflect.Type{reflect.TypeFor[map[string]any](), reflect.TypeFor[any](), reflect.TypeFor[branchy](),
		reflect.TypeFor[*branchy](),
		reflect.TypeFor[map[mapKey]*branchy](), reflect.TypeFor[map[int]string](), reflect.TypeFor[string](),
		reflect.TypeFor[**leaf](), reflect.TypeFor[named]()}
	f.Fuzz(func(t *testing.T, shape, joined, other string) {
		path, second := FieldPath(strings.Split(joined, "/")), FieldPath(strings.Split(other, "/"))

		// Reading agrees with the model.
		tree := modelTree(shape)
		steps, _, err := resolve(reflect.TypeFor[map[string]any](), path, false)
		require.NoError(t, err)
		want, fail := modelValue(tree, path)
		v, err := read(reflect.ValueOf(tree), steps)
		if fail != "" {
			require.ErrorContains(t, err, fail)
		} else {
			require.NoError(t, err)
			var got any
			if v.IsValid() {
				got = v.Interface()
			}
			require.Equal(t, want, got)
		}

		// What was written can be read, for two paths that do not overlap.
		taken := pathSet{}
		require.Empty(t, taken.take(path))
		conflict := taken.take(second)
		n := min(len(path), len(second))
		overlap := reflect.DeepEqual(path[:n], second[:n])
		require.Equal(t, overlap, conflict != nil)
		if !overlap {
			dst := reflect.New(reflect.TypeFor[map[string]any]()).Elem()
			for i, p := range []FieldPath{path, second} {
				steps, want, err := resolve(dst.Type(), p, true)
				require.NoError(t, err)
				require.Equal(t, reflect.TypeFor[any](), want)
				write(dst, steps, reflect.ValueOf(i))
			}
			for i, p := range []FieldPath{path, second} {
				got, fail := modelValue(dst.Interface(), p)
				require.Empty(t, fail)
				require.Equal(t, i, got)
			}
		}

		// Other types: no panic, and where both sides resolve, a value written is the value read.
		for _, typ := range types {
			source, have, sourceErr := resolve(typ, path, false)
			target, want, targetErr := resolve(typ, path, true)
			if sourceErr != nil || targetErr != nil {
				continue
			}
			dst := reflect.New(typ).Elem()
			v := reflect.New(want).Elem()
			write(dst, target, v)
			got, err := read(dst, source)
			require.NoError(t, err, "%v %q", typ, path)
			if have != nil {
				require.Equal(t, have, got.Type())
			}
			require.True(t, got.Kind() == reflect.Interface && got.IsNil() || reflect.DeepEqual(v.Interface(), got.Interface()))
			if have != nil {
				_, _ = read(reflect.New(typ).Elem(), source) // may fail, must not panic
			}
		}
		require.Equal(t, strings.Join(path, pathSeparator), path.join())
		if !strings.Contains(joined, pathSeparator) && joined != "" {
			require.Equal(t, path, splitPath(path.join()), fmt.Sprintf("%q", joined))
		}
	})
}

// Errors of mappings are failures of the graph, not of a node.
func TestFieldMapping_FailuresAreGraphErrors(t *testing.T) {
	_, err := compiled[kv, any](t, direct[kv, any](FromField("k"))).Invoke(context.Background(), kv{})
	var at *RunError
	require.True(t, errors.As(err, &at))
	require.Equal(t, GraphRunError, at.Kind())
}

// What a mapping reads and writes is looked up once, at compile: a chunk costs its new value and little
// else, however deep the paths are.
// Rule compose/B22.30.
func TestFieldMapping_ChunksAreCheap(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("allocations are counted without the race detector")
	}
	type deep struct {
		A struct {
			B struct{ C struct{ Text string } }
		}
	}
	wf := direct[deep, deep](MapFieldPaths(FieldPath{"A", "B", "C", "Text"}, FieldPath{"A", "B", "C", "Text"}))
	p, err := wf.compilePlan(newCompileOptions(nil))
	require.NoError(t, err)
	m := p.nodes[endIndex].mapper
	var chunk deep
	chunk.A.B.C.Text = "x"
	var boxed any = chunk
	got := testing.AllocsPerRun(100, func() {
		if out, err := m.mapChunk(m.byFrom[START], boxed); err != nil || out != boxed {
			t.Error(out, err)
		}
	})
	require.LessOrEqual(t, got, 2.0)
}

// Functions may be registered while runs join and merge.
// Rule compose/B22.30.
func TestFieldMapping_FunctionsMayBeRegisteredBesideRuns(t *testing.T) {
	type own map[string]int
	g := NewGraph[string, own]()
	for _, k := range []string{"a", "b"} {
		require.NoError(t, g.AddLambdaNode(k,
			InvokableLambda(func(context.Context, string) (own, error) { return own{k: 1}, nil })))
		require.NoError(t, g.AddEdge(START, k))
		require.NoError(t, g.AddEdge(k, END))
	}
	r := compiled[string, own](t, g)
	sum := func(all []own) (own, error) {
		out := own{}
		for _, m := range all {
			maps.Copy(out, m)
		}
		return out, nil
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				out, err := r.Collect(context.Background(), singleOf("x"))
				if err != nil || len(out) != 2 {
					t.Error(out, err)
				}
				if out, err = r.Invoke(context.Background(), "x"); err != nil || len(out) != 2 {
					t.Error(out, err)
				}
			}
		})
		wg.Go(func() {
			for range 50 {
				RegisterValuesMergeFunc(sum)
				RegisterStreamChunkConcatFunc(sum)
			}
		})
	}
	wg.Wait()
}
