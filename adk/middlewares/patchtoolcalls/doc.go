// Package patchtoolcalls answers tool calls that were never answered.
//
// A run that was cancelled, or a user who writes while tools are still running, leaves calls without results in the
// history. Providers refuse such a history. The middleware of [New] puts a result into every such gap before the model
// is called, which says that the call was cancelled.
package patchtoolcalls
