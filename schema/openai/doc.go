// Package openai holds what OpenAI's Responses API adds to agentic messages: annotations and refusals of texts,
// structured reasoning, response metadata.
//
// The fields OpenAIExtension of package schema have these types. The Concat functions join the chunks of a streamed
// message; they never change their input.
package openai
