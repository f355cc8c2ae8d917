// Package budget limits what a run may spend: calls of models and tools, tokens, money and time.
//
// The middleware of [New] opens an [Account] for each run and puts it into the context. Agents that the run calls as
// tools, or hands over to, and that have the middleware, too, spend from their own account and from all above it.
// Before each call of a model or a tool the accounts are asked; when a limit is reached the run ends with an
// [*ExceededError], or, with [Config.FinalAnswer], with one last answer of the model that is given without tools.
//
// An account that is to last longer than a run is made by [NewAccount] and put into the context by [NewContext]. One
// that is to last longer than the process is made by [OpenAccount].
package budget
