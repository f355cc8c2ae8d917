// Package same reports whether two values behind interfaces are the same one.
//
// Package compose and package adk ask it about tools and models, which are of any type.
// It must never panic, as comparing interfaces does.
package same

import "reflect"

// Value reports whether x and y are of one type and equal. A value that cannot be compared is never the same as
// another.
func Value(x, y any) bool {
	return x == nil && y == nil || reflect.ValueOf(x).Comparable() && x == y
}
