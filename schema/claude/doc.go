// Package claude holds what Anthropic's Messages API adds to agentic messages: citations of texts and response
// metadata.
//
// The fields ClaudeExtension of package schema have these types. The Concat functions join the chunks of a streamed
// message; they never change their input.
package claude
