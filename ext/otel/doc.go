// Package weftotel makes OpenTelemetry traces, metrics and log events of agents, models, tools, retrieval, embeddings and
// graphs, by the semantic conventions for generative AI, version 1.41.
//
//	callbacks.AppendGlobalHandlers(weftotel.New(weftotel.Config{}))
//
// traces everything that the process runs; adk.WithCallbacks(h) one run. The providers are the global ones of package
// otel, unless the configuration has others. A span is in the context of what runs below it: calls of an instrumented
// HTTP client, of a database, and of agents that are called as tools nest in the right place.
//
// Nothing of prompts, answers, arguments and results is recorded unless [Config.Content], or the variable
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, says so.
//
// The conventions are in development: <https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai>.
package weftotel
