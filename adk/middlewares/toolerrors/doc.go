// Package toolerrors lets the model read the errors of its tools and continue.
//
// The error of a tool ends the run. Most of them are none of the application's business: a file that is not there,
// arguments that are no JSON, a service that is down for a moment. The middleware of [New] gives the model the text of
// such an error as the result of the call, for it to try something else. Put it last among the handlers, so that it
// sees the errors of the tools alone.
//
// Interrupts, cancels and the end of the context are not taken for errors, and neither are panics, nor a store that
// fails to save what an agent inside the tool does.
package toolerrors
