package compose

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// inputMapper builds a workflow node's input from parts of its predecessors' outputs and static values. Everything that
// follows from the types is decided when the workflow is compiled.
type inputMapper struct {
	input   kind
	byFrom  map[string][]fieldMapper
	statics []staticField
	// whole: the one mapping gives the whole input, not a field of it.
	whole bool
}

// fieldMapper is one compiled mapping.
type fieldMapper struct {
	*FieldMapping
	source []accessor
	target []accessor
	// output is the type that the source is in.
	output reflect.Type
	// want is the type at the target; check says that it must be compared with the value's at run time.
	want  reflect.Type
	check bool
}

type staticField struct {
	target []accessor
	value  reflect.Value
}

// staticValue is a value given with SetStaticValue.
type staticValue struct {
	path  FieldPath
	value any
}

// newInputMapper checks the mappings of a node, inputs in turn and static values last. It returns nil when the node
// has neither.
func (g *graph) newInputMapper(key string, statics []staticValue) (*inputMapper, error) {
	m := &inputMapper{input: g.inputOf(key), byFrom: map[string][]fieldMapper{}}
	taken := pathSet{}
	mapped := false
	for _, e := range g.near[key].in {
		if !e.data {
			continue
		}
		whole := fillsWhole(e.mappings)
		if m.whole || whole && (mapped || len(e.mappings) > 1) {
			return nil, wholeTaken(key)
		}
		m.whole, mapped = whole, true
		for _, fm := range e.mappings {
			if conflict := taken.take(fm.ToPath()); conflict != nil {
				return nil, fmt.Errorf("two terminal field paths conflict for node %s: %v, %v", key, []string(conflict),
					[]string(fm.ToPath()))
			}
		}
		if err := m.addInput(e, g.outputOf(e.from)); err != nil {
			return nil, err
		}
	}
	for _, s := range statics {
		if m.whole {
			return nil, wholeTaken(key)
		}
		if conflict := taken.take(s.path); conflict != nil {
			return nil, fmt.Errorf("two terminal field paths conflict for node %s: %v, %v", key, []string(conflict),
				[]string(s.path))
		}
		if err := m.addStatic(s); err != nil {
			return nil, fmt.Errorf("static value of node '%s': %w", key, err)
		}
	}
	if len(m.byFrom) == 0 && len(m.statics) == 0 {
		return nil, nil
	}
	return m, nil
}

// wholeTaken is the error of a node of which one input fills the whole while there are others.
func wholeTaken(key string) error {
	return fmt.Errorf("entire output has already been mapped for node: %s: only a single input can fill all of it; give each "+
		"input a field of its own with ToField (to take one of several alternatives, choose in a lambda before it), "+
		"or use a Graph, where several nodes may lead to one", key)
}

// fillsWhole reports whether one of the mappings of an edge gives the whole input.
func fillsWhole(mappings []*FieldMapping) bool {
	for _, m := range mappings {
		if m.to == "" {
			return true
		}
	}
	return len(mappings) == 0
}

func (m *inputMapper) addInput(e *edge, output kind) error {
	if len(e.mappings) == 0 {
		return nil
	}
	for _, fm := range e.mappings {
		if fm.to != "" && (m.input == nil || !isFillable(m.input.Type())) {
			return fmt.Errorf("static check fail: successor input type should be struct or map, actual: %v: node '%s' has "+
				"no field for %s; let it take a struct or a map, or take the whole (without ToField)",
				typeOf(m.input), e.to, strings.Join(fm.ToPath(), "."))
		}
	}
	for _, fm := range e.mappings {
		if fm.from != "" && fm.extractor == nil && (output == nil || !isReadable(output.Type())) {
			return fmt.Errorf("static check fail: predecessor output type should be struct or map, actual: %v: node '%s' "+
				"has no field %s that node '%s' could take; take the whole, or WithCustomExtractor",
				typeOf(output), e.from, strings.Join(fm.FromPath(), "."), e.to)
		}
	}
	for _, fm := range e.mappings {
		compiled, err := m.compile(fm, output)
		if err != nil {
			return err
		}
		m.byFrom[e.from] = append(m.byFrom[e.from], compiled)
	}
	return nil
}

func isStructOrMap(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Map
}

// isFillable also takes any, in which fields make a map[string]any.
func isFillable(t reflect.Type) bool { return isStructOrMap(t) || t == reflect.TypeFor[any]() }

// isReadable also takes interfaces: what is in them is known at run time.
func isReadable(t reflect.Type) bool { return isStructOrMap(t) || t.Kind() == reflect.Interface }

func (m *inputMapper) compile(fm *FieldMapping, output kind) (fieldMapper, error) {
	c := fieldMapper{FieldMapping: fm}
	var err error
	if c.target, c.want, err = resolve(m.input.Type(), fm.ToPath(), true); err != nil {
		var onInterface errInterfaceOnTarget
		if errors.As(err, &onInterface) {
			return c, fmt.Errorf("static check failed for mapping %s, %w", fm, err)
		}
		return c, fmt.Errorf("static check failed for mapping %s: %w", fm, err)
	}
	if fm.extractor != nil {
		c.check = true
		return c, nil
	}
	source, have, err := resolve(output.Type(), fm.FromPath(), false)
	if err != nil {
		return c, fmt.Errorf("static check failed for mapping %s: %w", fm, err)
	}
	c.source, c.output = source, output.Type()
	if have == nil { // behind an interface
		c.check = true
		return c, nil
	}
	switch assignable(have, c.want) {
	case never:
		return c, fmt.Errorf("static check failed for mapping %s, field[%v]-[%v] is absolutely not assignable", fm, have,
			c.want)
	case checkedAtRun:
		c.check = true
	}
	return c, nil
}

func (m *inputMapper) addStatic(s staticValue) error {
	if m.input == nil || !isFillable(m.input.Type()) {
		return fmt.Errorf("static check fail: successor input type should be struct or map, actual: %v", typeOf(m.input))
	}
	target, want, err := resolve(m.input.Type(), s.path, true)
	if err != nil {
		return fmt.Errorf("path %v: %w", []string(s.path), err)
	}
	v := reflect.ValueOf(s.value)
	if v.IsValid() && !v.Type().AssignableTo(want) || !v.IsValid() && !nilable(want) {
		return fmt.Errorf("path %v: a value of type %T cannot be assigned to %v", []string(s.path), s.value, want)
	}
	m.statics = append(m.statics, staticField{target: target, value: v})
	return nil
}

// extract returns the value that a mapping takes from a predecessor's output; invalid for an untyped nil.
func (f *fieldMapper) extract(output any) (reflect.Value, error) {
	v := reflect.ValueOf(output)
	if f.extractor != nil {
		extracted, err := f.extractor(output)
		if err != nil {
			return v, err
		}
		v = reflect.ValueOf(extracted)
	} else if len(f.source) > 0 {
		if !v.IsValid() {
			return v, fmt.Errorf("intermediate source value on path=%v is nil for type [%v]", names(f.source[:1]), f.output)
		}
		var err error
		if v, err = read(v, f.source); err != nil {
			return v, err
		}
	}
	if v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !f.check {
		return v, nil
	}
	if v.IsValid() && !v.Type().AssignableTo(f.want) || !v.IsValid() && !nilable(f.want) {
		var have any
		if v.IsValid() {
			have = v.Type()
		}
		return v, fmt.Errorf("runtime check failed for mapping %s, field[%v]-[%v] is absolutely not assignable",
			f.FieldMapping, have, f.want)
	}
	return v, nil
}

// newInput is an empty input that the mappings write to.
func (m *inputMapper) newInput() reflect.Value {
	dst := reflect.New(m.input.Type()).Elem()
	if m.whole {
		return dst
	}
	switch dst.Kind() {
	case reflect.Map:
		dst.Set(reflect.MakeMap(dst.Type()))
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
	case reflect.Interface:
		dst.Set(reflect.ValueOf(map[string]any{}))
	}
	return dst
}

// mapped is the output of one predecessor.
type mapped struct {
	from   string
	value  any
	stream stream
	output kind
	link   *link
}

// values builds the input of a run of values.
func (m *inputMapper) values(outputs []mapped) (in any, err error) {
	defer safe.Recover(&err)
	dst := m.newInput()
	for _, out := range outputs {
		for i := range m.byFrom[out.from] {
			f := &m.byFrom[out.from][i]
			v, err := f.extract(out.value)
			if err != nil {
				return nil, err
			}
			write(dst, f.target, v)
		}
	}
	m.writeStatics(dst)
	return dst.Interface(), nil
}

func (m *inputMapper) writeStatics(dst reflect.Value) {
	for i := range m.statics {
		write(dst, m.statics[i].target, m.statics[i].value)
	}
}

// streams builds the input of a run of streams: each chunk of a predecessor becomes a value that has only the fields
// mapped from it, the static values are a chunk of their own. named as for [kind.Merge].
func (m *inputMapper) streams(outputs []mapped, named bool) (in stream, err error) {
	defer safe.Recover(&err)
	parts := make([]stream, 0, len(outputs)+1)
	var names []string
	for _, out := range outputs {
		fields := m.byFrom[out.from]
		parts = append(parts, m.input.Typed(out.output.Untyped(out.stream), func(chunk any) (any, error) {
			return m.mapChunk(fields, chunk)
		}))
		if named {
			names = append(names, out.from)
		}
	}
	if len(parts) > 1 {
		parts = append(parts[:0], m.input.Merge(parts, names))
	}
	if len(m.statics) > 0 || len(parts) == 0 {
		s, err := m.staticChunk()
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return m.input.Merge(parts, nil), nil
}

// staticChunk is the static values alone.
func (m *inputMapper) staticChunk() (stream, error) {
	dst := m.newInput()
	m.writeStatics(dst)
	return m.input.Single(dst.Interface())
}

func (m *inputMapper) mapChunk(fields []fieldMapper, chunk any) (out any, err error) {
	defer safe.Recover(&err)
	dst := m.newInput()
	found := false
	for i := range fields {
		f := &fields[i]
		v, err := f.extract(chunk)
		if errors.Is(err, errNoKey) {
			continue // another chunk may have it
		}
		if err != nil {
			return nil, err
		}
		found = true
		write(dst, f.target, v)
	}
	if !found {
		return nil, schema.ErrNoValue
	}
	return dst.Interface(), nil
}
