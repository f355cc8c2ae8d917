// Package gemini holds what Google's Gemini API adds to agentic messages: response metadata with the sources that
// ground an answer.
//
// The field GeminiExtension of package schema has these types. The Concat function joins the chunks of a streamed
// message; it never changes its input.
package gemini
