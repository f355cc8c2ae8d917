// Package tooltimeout gives calls of tools a time, so that a tool that hangs does not hold the run up for ever.
//
// A call that takes longer is given up with an [Error], also where the tool ignores its context. The error ends the
// run, unless a handler before this one makes a result of it that the model can read: package toolerrors does.
package tooltimeout
