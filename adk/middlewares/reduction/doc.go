// Package reduction keeps the results of tools from filling the model's window.
//
// It works in two ways. A result that is too long when it comes is cut: the model gets its beginning and end, the whole
// is written to a [Backend], and a tool that reads files can bring it back (see [TypedConfig.MaxLengthForTrunc]). And
// when the history as a whole has grown too long, results of old rounds are taken out of it, again with the way to the
// file in their place ([TypedConfig.MaxTokensForClear]). The rounds of late stay.
//
// Both have a default that fits texts, and both can be replaced or switched off, for all tools or for one
// ([TypedConfig.ToolConfig]). Messages and results that others hold are never changed: what the middleware changes are
// copies.
package reduction
