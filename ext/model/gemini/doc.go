// Package gemini has models that speak Google's Gemini API: at generativelanguage.googleapis.com with an API key, and on
// Vertex AI.
//
//	m, err := gemini.NewChatModel(ctx, &gemini.Config{APIKey: key, Model: "gemini-2.5-flash"})
//	…
//	answer, err := m.Generate(ctx, []*schema.Message{schema.UserMessage("Why is the sky blue?")})
//
// [NewAgenticModel] makes a model whose answers are blocks: text, thinking, calls of functions, media, and what the tools
// that Google runs did. [NewChatModel] makes one for plain messages, which keep the same in their Extra, so that nothing
// is lost from one request to the next.
//
// Settings for all calls are in the [Config]; settings for one call are options, common ones of package model
// (model.WithTemperature, model.WithTools, …) and the With functions of this package.
//
// Credentials of Google Cloud are the work of package gemini/vertex, and a *genai.Client is used through package
// gemini/genaiclient. Both are modules of their own.
package gemini
