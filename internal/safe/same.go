package safe

import "reflect"

// Same reports whether x and y are of one type and equal. It never panics, as comparing interfaces does: a value that cannot
// be compared is never the same as another.
func Same(x, y any) bool {
	return x == nil && y == nil || reflect.ValueOf(x).Comparable() && x == y
}
