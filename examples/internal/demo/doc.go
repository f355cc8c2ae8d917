// Package demo has what the examples share: a model that answers by rules instead of thinking, so that the examples
// run without a key of a provider and always do the same, and a printer for events.
//
// The rules are functions of the history alone. A model that remembers nothing can be thrown away and made again in the
// middle of a run, as it happens when a run is resumed.
package demo
