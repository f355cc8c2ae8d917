// Package toolsearch hides tools until the model looks for them.
//
// An agent with hundreds of tools spends its context on descriptions that it hardly ever needs. This middleware gives
// the model the names of such dynamic tools only, and one tool more, tool_search, which finds tools by name or by
// words. Tools that were found are offered from the next turn on, with their full descriptions.
//
// Some models search for deferred tools by themselves. For those set [Config.UseModelToolSearch]: the dynamic tools are
// then passed as deferred tools, and tool_search as the tool to search them with.
package toolsearch
