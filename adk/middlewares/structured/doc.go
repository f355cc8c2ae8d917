// Package structured has an agent end with a value of a Go type, or of a schema ([Of]).
//
// An [Output] describes the type as a JSON schema, gives that to the model in one of three ways (see [Mode]), and
// judges each final answer: one that does not fit is sent back with what is wrong with it, a few times at most. The
// answer of a run that succeeded always fits. [Read] takes the value out of the events, [Output.Parse] out of a text.
package structured
