// Package validhistory proves that a list of messages is one that providers accept, and repairs it if it is not.
//
// Truncation, compaction, handoffs and cancelled runs leave histories behind that a provider answers with an error: a
// result without its call, a call without its result, results in the wrong place, two calls with one ID, messages and
// parts with nothing in them. [Check] finds them all, [Repair] mends them, and the middleware of [New] does so before
// every call of the model. Put it last among the handlers, so that it sees what the others made of the history.
//
// A repair loses nothing that a provider would have taken: results go back behind their calls, what cannot be placed is
// dropped, and calls that have no result get one that says so.
package validhistory
