// Package anthropic has models that speak the Messages API of Anthropic: Claude at Anthropic itself, on Amazon Bedrock
// (package anthropic/bedrock) and on Google Vertex AI (package anthropic/vertex), and other models at servers that
// speak the same API.
//
//	m, err := anthropic.NewChatModel(ctx, &anthropic.Config{APIKey: key, Model: "claude-sonnet-4-5"})
//	…
//	answer, err := m.Generate(ctx, []*schema.Message{schema.UserMessage("Why is the sky blue?")})
//
// [NewAgenticModel] makes a model whose answers are blocks: text with citations, thinking, calls of functions, and what
// the tools that Anthropic runs did. [NewChatModel] makes one for plain messages, which keep the same in their Extra,
// so that nothing is lost from one request to the next.
//
// Settings for all calls are in the [Config]; settings for one call are options, common ones of package model
// (model.WithTemperature, model.WithTools, …) and the With functions of this package.
package anthropic
