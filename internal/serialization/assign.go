package serialization

import (
	"fmt"
	"math"
	"reflect"
)

// assignTo replaces dst by src, or by what comes nearest to it in the type of dst.
func assignTo(dst, src reflect.Value) error {
	if !src.IsValid() {
		dst.SetZero()
		return nil
	}
	if !assigned(dst, src) {
		return fmt.Errorf("cannot assign %s to %s", src.Type(), dst.Type())
	}
	return nil
}

func assigned(dst, src reflect.Value) bool {
	from, to := src.Type(), dst.Type()
	switch {
	case from.AssignableTo(to):
		dst.Set(src)
		return true
	case from.Kind() == reflect.Pointer && src.IsNil():
		dst.SetZero()
		return true
	case from.Kind() == reflect.Pointer:
		return assigned(dst, src.Elem())
	case to.Kind() == reflect.Pointer:
		target := reflect.New(to.Elem())
		if !assigned(target.Elem(), src) {
			return false
		}
		dst.Set(target)
		return true
	case to.Kind() == reflect.Interface && reflect.PointerTo(from).AssignableTo(to):
		dst.Set(addressable(src).Addr())
		return true
	}
	return converted(dst, src)
}

// converted sets dst to a value of the same kind or, between numbers, to one that means the same.
func converted(dst, src reflect.Value) bool {
	from, to := src.Type(), dst.Type()
	if !from.ConvertibleTo(to) {
		return false
	}
	if isNumber(from.Kind()) && isNumber(to.Kind()) {
		if !fits(dst, src) {
			return false
		}
	} else if from.Kind() != to.Kind() {
		return false
	}
	dst.Set(src.Convert(to))
	return true
}

func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// fits reports whether the number src is a value of the type of dst. Floats may lose precision, but no integer may
// change.
func fits(dst, src reflect.Value) bool {
	switch {
	case dst.CanInt():
		if src.CanInt() {
			return !dst.OverflowInt(src.Int())
		}
		if src.CanUint() {
			return src.Uint() <= math.MaxInt64 && !dst.OverflowInt(int64(src.Uint()))
		}
		f := src.Float()
		return f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 && !dst.OverflowInt(int64(f))
	case dst.CanUint():
		if src.CanInt() {
			return src.Int() >= 0 && !dst.OverflowUint(uint64(src.Int()))
		}
		if src.CanUint() {
			return !dst.OverflowUint(src.Uint())
		}
		f := src.Float()
		return f == math.Trunc(f) && f >= 0 && f < 1<<64 && !dst.OverflowUint(uint64(f))
	case src.CanFloat():
		return !dst.OverflowFloat(src.Float())
	}
	return true
}
