package weftotel

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// Names that the conventions do not have: ours.
const (
	keyRunStatus = attribute.Key("weft.run.status")
	keyRunPath   = attribute.Key("weft.run.path")
	keyCost      = attribute.Key("weft.usage.cost")
	keyCurrency  = attribute.Key("weft.usage.currency")
	keyAttempt   = attribute.Key("weft.retry.attempt")
	keyEager     = attribute.Key("weft.tool.eager")
	keyPointKind = attribute.Key("weft.interrupt.kind")
	keyAddress   = attribute.Key("weft.interrupt.address")

	eventInterrupt = "weft.interrupt"
)

// The states of a run that keyRunStatus has, besides none for one that is done.
const (
	statusInterrupted = "interrupted"
	statusCancelled   = "cancelled"
	statusFailed      = "failed"
	statusDone        = "done"
)

// providers has the names of the conventions by those that implementations have.
var providers = map[string]string{
	"openai": "openai", "azureopenai": "azure.ai.openai", "claude": "anthropic", "anthropic": "anthropic",
	"gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "bedrock": "aws.bedrock", "deepseek": "deepseek", "groq": "groq",
	"mistral": "mistral_ai", "moonshot": "moonshot_ai", "kimi": "moonshot_ai", "cohere": "cohere", "xai": "x_ai",
	"grok": "x_ai", "perplexity": "perplexity", "watsonx": "ibm.watsonx.ai", "ollama": "ollama", "qwen": "qwen", "ark": "ark",
	"openrouter": "openrouter", "qianfan": "qianfan",
}

const unknownProvider = "unknown"

// providerOf is the name of who serves a model: as the model says it, or by the name of its implementation.
func providerOf(said, typ string) string {
	if said != "" {
		return said
	}
	typ, _, _ = strings.Cut(strings.ToLower(typ), "[") // without type parameters
	if name, ok := providers[typ]; ok {
		return name
	}
	return unknownProvider
}
