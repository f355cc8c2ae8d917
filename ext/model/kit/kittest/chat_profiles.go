package kittest

import (
	"net/http"
	"regexp"
	"slices"
)

// Fields that several servers know beyond the common ones.
var (
	newTokens    = []string{"max_completion_tokens"}
	effort       = []string{"reasoning_effort"}
	openAIFields = []string{
		"max_completion_tokens", "reasoning_effort", "parallel_tool_calls", "logit_bias", "logprobs", "top_logprobs",
		"metadata", "modalities", "audio", "prediction", "service_tier", "store", "verbosity", "web_search_options",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
	}
	sampling = []string{"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs",
		"logit_bias", "max_tokens"}
	aggregated = []string{"reasoning", "reasoning_content", "reasoning_details"}
	bothNames  = []string{"reasoning", "reasoning_content"}

	max40   = regexp.MustCompile(`^.{1,40}$`)
	exactly = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	tokens  = [][2]string{{"max_tokens", "max_completion_tokens"}}

	developer = []string{"system", "developer"}
	system    = []string{"system"}
)

// Ready rules of the servers that the protocol has. A strictness that is neither recorded nor publicly reported is not
// in them.
var (
	ChatOpenAI = ChatRules{
		Name: "OpenAI", Fields: openAIFields, Exclusive: tokens, Roles: developer, CallID: max40,
		ReasoningModels: []string{"o1", "o3", "o4", "gpt-5"}, ReasoningRefuses: sampling,
	}
	ChatAzure = ChatRules{
		Name: "Azure", Fields: append([]string{"data_sources"}, openAIFields...), Exclusive: tokens, Roles: developer,
		CallID: max40, ReasoningModels: []string{"o1", "o3", "o4", "gpt-5"}, ReasoningRefuses: sampling,
	}
	ChatDeepSeek = ChatRules{
		Name: "DeepSeek", Fields: []string{"thinking", "reasoning_effort", "logprobs", "top_logprobs"}, Roles: system,
		AssistantFields: []string{"reasoning_content", "prefix"}, ReasoningRequired: "reasoning_content",
		TextOnly: true, NoPrefill: true,
	}
	ChatQwen = ChatRules{
		Name: "Qwen", Roles: system, AssistantFields: []string{"reasoning_content", "partial"}, StreamToThink: true,
		Fields: []string{"enable_thinking", "thinking_budget", "parallel_tool_calls", "top_k", "enable_search",
			"search_options", "logprobs", "top_logprobs", "modalities", "audio", "max_completion_tokens"},
		NoStrict: true, ObjectArgs: true,
	}
	ChatMoonshot = ChatRules{
		Name: "Moonshot", Fields: []string{"thinking", "reasoning_effort", "max_completion_tokens", "prompt_cache_key"},
		Exclusive: append([][2]string{{"thinking", "reasoning_effort"}}, tokens...), Roles: system,
		AssistantFields: []string{"reasoning_content", "partial"}, ReasoningRequired: "reasoning_content",
		NoForcedThinking: true,
	}
	ChatGLM = ChatRules{
		Name: "GLM", Fields: []string{"thinking", "clear_thinking", "tool_stream", "request_id", "do_sample", "user_id"},
		Roles: system, AssistantFields: []string{"reasoning_content"}, NoStrict: true,
	}
	ChatArk = ChatRules{
		Name: "Ark", Fields: []string{"thinking", "reasoning_effort", "max_completion_tokens", "parallel_tool_calls",
			"logprobs", "top_logprobs", "logit_bias", "service_tier"},
		Exclusive: tokens, Roles: system, AssistantFields: []string{"reasoning_content"}, NoStrict: true,
	}
	ChatMiniMax = ChatRules{
		Name: "MiniMax", Fields: []string{"max_completion_tokens", "reasoning_split"}, Exclusive: tokens, Roles: system,
		AssistantFields: []string{"reasoning_content", "reasoning_details"}, NoStrict: true, ObjectArgs: true,
	}
	ChatMistral = ChatRules{
		Name: "Mistral", Status: http.StatusUnprocessableEntity, Roles: system,
		Fields: []string{"parallel_tool_calls", "prompt_mode", "random_seed", "safe_prompt", "prediction",
			"reasoning_effort"},
		Refused: []string{"stream_options", "seed", "user"}, AssistantFields: []string{"prefix"}, ThinkingParts: true,
		CallID: exactly, ForcedWords: []string{"any", "required"}, NoUserAfterTool: true, NoPrefill: true, ObjectArgs: true,
	}
	ChatGroq = ChatRules{
		Name: "Groq", Fields: slices.Concat(newTokens, effort, []string{"reasoning_format", "include_reasoning",
			"parallel_tool_calls", "service_tier", "logprobs", "top_logprobs", "logit_bias", "metadata", "store",
			"search_settings"}),
		Exclusive: append([][2]string{{"reasoning_format", "include_reasoning"}}, tokens...), Roles: developer,
		ObjectArgs: true,
	}
	ChatXAI = ChatRules{
		Name: "xAI", Fields: slices.Concat(newTokens, effort, []string{"parallel_tool_calls", "search_parameters", "logprobs",
			"top_logprobs", "logit_bias", "deferred", "web_search_options"}),
		Exclusive: tokens, Roles: developer, AssistantFields: []string{"reasoning_content"},
		ReasoningModels:  []string{"grok-3-mini", "grok-4"},
		ReasoningRefuses: []string{"stop", "presence_penalty", "frequency_penalty"},
	}
	ChatOpenRouter = ChatRules{
		Name: "OpenRouter", AnyField: true, Roles: developer, AssistantFields: aggregated, ObjectArgs: true, ToolMedia: true,
		Fields:    []string{"reasoning", "usage", "provider", "models", "plugins", "transforms", "route"},
		Exclusive: tokens,
	}
	ChatVercel = ChatRules{
		Name: "Vercel", AnyField: true, Roles: developer, AssistantFields: aggregated, ObjectArgs: true, ToolMedia: true,
		Fields: []string{"reasoning", "providerOptions"}, Exclusive: tokens,
	}
	ChatTogether = ChatRules{
		Name: "Together, Fireworks, HuggingFace, DeepInfra", AnyField: true, Roles: system, AssistantFields: bothNames,
	}
	ChatVLLM = ChatRules{
		Name: "vLLM", AnyField: true, Roles: developer, AssistantFields: bothNames, SystemFirst: true, ObjectArgs: true,
	}
	ChatLlamaCpp = ChatRules{
		Name: "llama.cpp", AnyField: true, Roles: developer, AssistantFields: bothNames, SystemFirst: true,
		ObjectArgs: true, NoNamedChoice: true,
	}
	ChatOllama = ChatRules{
		Name: "Ollama", AnyField: true, Roles: developer, AssistantFields: []string{"reasoning"}, ObjectArgs: true,
	}
	ChatBedrock = ChatRules{
		Name: "Bedrock", Fields: slices.Concat(newTokens, effort, []string{"parallel_tool_calls", "logit_bias"}),
		Exclusive: tokens, Roles: developer, CallID: max40, ObjectArgs: true,
	}
	// ChatUnknown is as strict as a server may be that is not known: it takes only what all take.
	ChatUnknown = ChatRules{
		Name: "unknown", Fields: []string{"max_completion_tokens", "reasoning_effort"}, Exclusive: tokens, Roles: system,
		AssistantFields: bothNames, SystemFirst: true, NoStrict: true, ObjectArgs: true,
	}
)

// ChatProfiles returns all ready rules.
func ChatProfiles() []ChatRules {
	return []ChatRules{
		ChatOpenAI, ChatAzure, ChatDeepSeek, ChatQwen, ChatMoonshot, ChatGLM, ChatArk, ChatMiniMax, ChatMistral, ChatGroq,
		ChatXAI, ChatOpenRouter, ChatVercel, ChatTogether, ChatVLLM, ChatLlamaCpp, ChatOllama, ChatBedrock, ChatUnknown,
	}
}
