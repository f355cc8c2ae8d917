package serialization

import (
	"reflect"
	"sync"
	"time"
)

// A plan copies the values of one type. It is made once for a type, by reflection, and used ever after.
type plan interface {
	// copy fills dst, which is settable and zero.
	copy(c *copier, dst, src reflect.Value) error
}

// assign is the plan of types without references.
var assign plan = assignPlan{}

var (
	plans    = perType[plan]{make: makePlan}
	ownPlans sync.Map // reflect.Type → plan: the plans of RegisterCopy
)

// RegisterCopy sets how values of T are copied. It is to be called while the program is initialized.
func RegisterCopy[T any](copyTo func(dst, src *T) error) {
	ownPlans.Store(reflect.TypeFor[T](), ownPlan(func(dst, src reflect.Value) error {
		return copyTo(methods[*T](dst), methods[*T](src))
	}))
}

func makePlan(b building[plan], t reflect.Type) plan {
	if p := specialPlan(t); p != nil {
		return p
	}
	switch t.Kind() {
	case reflect.Interface:
		return interfacePlan{}
	case reflect.Pointer:
		p := &pointerPlan{}
		b.add(t, p)
		p.elem = b.of(t.Elem())
		return p
	case reflect.Slice:
		p := &slicePlan{}
		b.add(t, p)
		p.elem = b.of(t.Elem())
		return p
	case reflect.Map:
		p := &mapPlan{}
		b.add(t, p)
		p.key, p.elem = b.of(t.Key()), b.of(t.Elem())
		return p
	case reflect.Array:
		p := &arrayPlan{}
		b.add(t, p)
		if p.elem = b.of(t.Elem()); p.elem != assign {
			return p
		}
	case reflect.Struct:
		return makeStructPlan(b, t)
	}
	return assign
}

// specialPlan is the plan of a type that is not copied by its kind, or nil.
func specialPlan(t reflect.Type) plan {
	if p, ok := ownPlans.Load(t); ok {
		return p.(plan)
	}
	if t == reflect.TypeFor[time.Time]() {
		return assign
	}
	if isOpaque(t) && hidesFields(t, map[reflect.Type]bool{}) {
		return encodedPlan{codecs.of(t)}
	}
	return nil
}

// hidesFields reports whether values of t lead to unexported fields that only methods of theirs know how to copy.
func hidesFields(t reflect.Type, asked map[reflect.Type]bool) bool {
	if _, own := ownPlans.Load(t); own || asked[t] || t == reflect.TypeFor[time.Time]() {
		return false
	}
	asked[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hidesFields(t.Elem(), asked)
	case reflect.Map:
		return hidesFields(t.Key(), asked) || hidesFields(t.Elem(), asked)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); !f.IsExported() || hidesFields(f.Type, asked) {
				return true
			}
		}
	}
	return false
}

type assignPlan struct{}

func (assignPlan) copy(_ *copier, dst, src reflect.Value) error {
	dst.Set(src)
	return nil
}

type ownPlan func(dst, src reflect.Value) error

func (p ownPlan) copy(_ *copier, dst, src reflect.Value) error { return p(dst, src) }

// encodedPlan copies an opaque value by writing and reading it.
type encodedPlan struct{ codec codec }

func (p encodedPlan) copy(c *copier, dst, src reflect.Value) error {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := p.codec.encode(e, src); err != nil {
		return err
	}
	return p.codec.decode(&decoder{data: e.buf}, dst)
}

type interfacePlan struct{}

func (interfacePlan) copy(c *copier, dst, src reflect.Value) error {
	if src.IsNil() {
		return nil
	}
	copied, err := c.any(src.Interface())
	if err != nil {
		return err
	}
	dst.Set(reflect.ValueOf(copied))
	return nil
}

type pointerPlan struct{ elem plan }

func (p *pointerPlan) copy(c *copier, dst, src reflect.Value) error {
	if src.IsNil() {
		return nil
	}
	return p.copyInto(c, reflect.New(src.Type().Elem()), dst, src)
}

// copyInto copies what src, which is not nil, points to into the zero value that target points to, and lets dst point there.
func (p *pointerPlan) copyInto(c *copier, target, dst, src reflect.Value) error {
	if err := c.enter(src); err != nil {
		return err
	}
	defer c.leave(src)
	if err := p.elem.copy(c, target.Elem(), src.Elem()); err != nil {
		return err
	}
	dst.Set(target.Convert(dst.Type()))
	return nil
}

// allocatedAtOnce is the number of elements of a slice of pointers that share an allocation. A copy that is kept keeps so
// many.
const allocatedAtOnce = 16

// copyAll copies the elements of a slice of pointers.
func (p *pointerPlan) copyAll(c *copier, dst, src reflect.Value) error {
	var targets reflect.Value
	free := 0
	for i := range src.Len() {
		from := src.Index(i)
		if from.IsNil() {
			continue
		}
		if free == 0 {
			free = min(src.Len()-i, allocatedAtOnce)
			targets = reflect.MakeSlice(reflect.SliceOf(from.Type().Elem()), free, free)
		}
		free--
		if err := p.copyInto(c, targets.Index(free).Addr(), dst.Index(i), from); err != nil {
			return atIndex(err, i)
		}
	}
	return nil
}

type slicePlan struct{ elem plan }

func (p *slicePlan) copy(c *copier, dst, src reflect.Value) error {
	if src.IsNil() {
		return nil
	}
	dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
	if p.elem == assign {
		reflect.Copy(dst, src)
		return nil
	}
	if err := c.enter(src); err != nil {
		return err
	}
	defer c.leave(src)
	if pointers, ok := p.elem.(*pointerPlan); ok {
		return pointers.copyAll(c, dst, src)
	}
	return c.elems(p.elem, dst, src)
}

type arrayPlan struct{ elem plan }

func (p *arrayPlan) copy(c *copier, dst, src reflect.Value) error { return c.elems(p.elem, dst, src) }

func (c *copier) elems(p plan, dst, src reflect.Value) error {
	for i := range src.Len() {
		if err := p.copy(c, dst.Index(i), src.Index(i)); err != nil {
			return atIndex(err, i)
		}
	}
	return nil
}

type mapPlan struct{ key, elem plan }

func (p *mapPlan) copy(c *copier, dst, src reflect.Value) error {
	if src.IsNil() {
		return nil
	}
	if err := c.enter(src); err != nil {
		return err
	}
	defer c.leave(src)
	t := src.Type()
	dst.Set(reflect.MakeMapWithSize(t, src.Len()))
	for iter := src.MapRange(); iter.Next(); {
		k, elem := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if err := p.key.copy(c, k, iter.Key()); err != nil {
			return atMapKey(err, iter.Key())
		}
		if err := p.elem.copy(c, elem, iter.Value()); err != nil {
			return atMapKey(err, iter.Key())
		}
		dst.SetMapIndex(k, elem)
	}
	return nil
}

// structPlan copies exported fields; the others are zero in the copy.
type structPlan struct {
	whole  bool // nothing is unexported: assign all and then copy what refers to something
	fields []fieldPlan
}

type fieldPlan struct {
	name  string
	index int
	plan  plan
}

func makeStructPlan(b building[plan], t reflect.Type) plan {
	p := &structPlan{whole: true}
	b.add(t, p)
	for i := range t.NumField() {
		p.whole = p.whole && t.Field(i).IsExported()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if fp := b.of(f.Type); fp != assign || !p.whole {
			p.fields = append(p.fields, fieldPlan{f.Name, i, fp})
		}
	}
	if p.whole && len(p.fields) == 0 {
		return assign
	}
	return p
}

func (p *structPlan) copy(c *copier, dst, src reflect.Value) error {
	if p.whole {
		dst.Set(src)
	}
	for i := range p.fields {
		f := &p.fields[i]
		from, to := src.Field(f.index), dst.Field(f.index)
		if from.IsZero() {
			continue
		}
		if p.whole && f.plan != assign {
			to.SetZero()
		}
		if err := f.plan.copy(c, to, from); err != nil {
			return within(err, "."+f.name)
		}
	}
	return nil
}
