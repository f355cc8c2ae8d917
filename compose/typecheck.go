package compose

import "reflect"

// assignability says whether values of one static type may go where another is expected.
type assignability uint8

const (
	never        assignability = iota
	checkedAtRun               // it depends on the value: check at run time
	always
)

// assignable is stricter than Go: two named types that are not identical do not mix, so that the type of a value
// that arrives is always the type that was declared.
func assignable(out, in reflect.Type) assignability {
	switch {
	case out == in:
		return always
	case in.Kind() == reflect.Interface && out.Implements(in):
		return always
	case out.Kind() == reflect.Interface && in.Implements(out):
		return checkedAtRun
	}
	return never
}

// typeFits reports whether v may be stored where t is expected.
func typeFits(v any, t reflect.Type) bool {
	if v == nil {
		return nilable(t)
	}
	return reflect.TypeOf(v).AssignableTo(t)
}
