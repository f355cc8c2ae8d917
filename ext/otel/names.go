package weftotel

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// Names that the conventions do not have: ours.
const (
	keyRunID     = attribute.Key("weft.run.id")
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

// The states of a run, as keyRunStatus has them. It is not set for a run that is done.
const (
	statusInterrupted = "interrupted"
	statusCancelled   = "cancelled"
	statusFailed      = "failed"
	statusDone        = "done"
)

// providers has the names of the conventions by those that models and implementations have, in lower case and without
// what is not a letter or a digit.
var providers = map[string]string{
	"openai": "openai", "azureopenai": "azure.ai.openai", "azureaiopenai": "azure.ai.openai", "azure": "azure.ai.openai",
	"azureaiinference": "azure.ai.inference", "claude": "anthropic", "anthropic": "anthropic", "gemini": "gcp.gemini",
	"gcpgemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "vertexai": "gcp.vertex_ai", "gcpvertexai": "gcp.vertex_ai",
	"google": "gcp.gen_ai", "genai": "gcp.gen_ai", "gcpgenai": "gcp.gen_ai", "bedrock": "aws.bedrock",
	"awsbedrock": "aws.bedrock", "deepseek": "deepseek", "groq": "groq", "mistral": "mistral_ai", "mistralai": "mistral_ai",
	"moonshot": "moonshot_ai", "moonshotai": "moonshot_ai", "kimi": "moonshot_ai", "cohere": "cohere", "xai": "x_ai",
	"grok": "x_ai", "perplexity": "perplexity", "watsonx": "ibm.watsonx.ai", "ibmwatsonxai": "ibm.watsonx.ai",
}

const unknownProvider = "unknown"

// providerOf is the name of who serves a model: as the model says it, or by the name of its implementation. What the
// conventions do not list has its own name in lower case, if that is a name at all.
func providerOf(said, typ string) string {
	if said == "" {
		said = typ
	}
	// The arguments of a type are no part of its name. The name of a generic type says nothing by itself.
	name, _, generic := strings.Cut(strings.ToLower(said), "[")
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
	if known, ok := providers[plain]; ok {
		return known
	}
	if generic || !isName(name) {
		return unknownProvider
	}
	return name
}

// isName reports whether a text is a name as the conventions have them: letters, digits, and _ . - between them.
func isName(s string) bool {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || i > 0 && (r == '_' || r == '.' || r == '-')) {
			return false
		}
	}
	return s != ""
}
