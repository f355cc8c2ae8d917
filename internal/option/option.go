// Package option is the one implementation of call options that mix a component's common settings with settings of
// one implementation.
//
// Every component package declares its own opaque option type on top of it: type Option option.Setter[Options].
// It must never know what is being set, and never keep or change the options it is given.
package option

// Setter is one option: either a setter of the common options O or one of an implementation's own options, whose type
// only that implementation knows. The zero value sets nothing. Setters are immutable.
type Setter[O any] struct {
	common func(*O)
	impl   any // func(*T)
}

// declared is satisfied by the option types that packages declare as Setter[O].
type declared[O any] interface {
	~struct {
		common func(*O)
		impl   any
	}
}

// Common returns a setter of the common options; nil sets nothing.
func Common[O any](set func(*O)) Setter[O] {
	return Setter[O]{common: set}
}

// Impl returns a setter of an implementation's own options T; nil sets nothing.
func Impl[O, T any](set func(*T)) Setter[O] {
	if set == nil {
		return Setter[O]{}
	}
	return Setter[O]{impl: set}
}

// ApplyCommon applies the common setters among opts to base, left to right, and returns base, or a new value if base
// is nil.
func ApplyCommon[O any, P declared[O]](base *O, opts []P) *O {
	if base == nil {
		base = new(O)
	}
	for _, opt := range opts {
		if set := Setter[O](opt).common; set != nil {
			set(base)
		}
	}
	return base
}

// ApplyImpl applies those setters among opts that were made for T to base, left to right, and returns base, or a new
// value if base is nil. Setters made for another type are skipped: options of several implementations may travel in
// one list.
func ApplyImpl[T, O any, P declared[O]](base *T, opts []P) *T {
	if base == nil {
		base = new(T)
	}
	for _, opt := range opts {
		if set, ok := Setter[O](opt).impl.(func(*T)); ok {
			set(base)
		}
	}
	return base
}
