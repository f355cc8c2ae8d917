package concat

import (
	"fmt"
	"slices"
)

// Chunks joins chunks that are not nil, of which join adds one to the new value. A single chunk is returned as it is,
// none is an error that says what was not found.
func Chunks[T any](chunks []*T, what string, join func(joined, chunk *T)) (*T, error) {
	chunks = NonNil(chunks)
	switch len(chunks) {
	case 0:
		return nil, fmt.Errorf("no %s found", what)
	case 1:
		return chunks[0], nil
	}
	joined := new(T)
	for _, c := range chunks {
		join(joined, c)
	}
	return joined, nil
}

// Last sets a field to v unless that is zero: of what chunks repeat, the last that says something counts.
func Last[T comparable](field *T, v T) {
	var zero T
	if v != zero {
		*field = v
	}
}

// NonNil returns the chunks without those that are nil. It copies only if there is one.
func NonNil[T any](chunks []*T) []*T {
	isNil := func(c *T) bool { return c == nil }
	if !slices.ContainsFunc(chunks, isNil) {
		return chunks
	}
	return slices.DeleteFunc(slices.Clone(chunks), isNil)
}
