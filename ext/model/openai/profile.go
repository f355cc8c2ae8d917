package openai

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// A Profile is a dialect of the Chat Completions API: what a server wants said differently than OpenAI does, and what
// it does not take. Reading needs no profile: all known forms of answers are understood from every server.
//
// The profile is chosen by the host of Config.BaseURL, see [ProfileFor]. To change one, copy it:
//
//	p := openai.ProfileVLLM
//	p.StreamUsage = openai.StreamUsageNever
//	config.Profile = &p
type Profile struct {
	// Name is for people.
	Name string
	// Provider is the name for traces and prices (model.HasProvider). Default "openai".
	Provider string
	// Hosts are the hosts of the service: names that end the host, or patterns of path.Match. ":8080" stands for a port
	// of this machine.
	Hosts []string
	// MaxTokensField is the field for Config.MaxTokens.
	MaxTokensField MaxTokensField
	// DeveloperRole sends instructions to models that think with the role developer. OpenAI takes either role.
	DeveloperRole bool
	// StreamUsage says how the usage of a streamed answer is asked for.
	StreamUsage StreamUsage
	// Reasoning says whether and how thinking is sent back.
	Reasoning ReasoningRule
	// Knob writes Config.ReasoningEffort and Config.Thinking.
	Knob ThinkingKnob
	// ToolCallID is the rule for IDs of calls.
	ToolCallID ToolCallIDRule
	// OmitStrict leaves strict out of tools and answer schemas.
	OmitStrict bool
	// OmitParallelToolCalls leaves out parallel_tool_calls.
	OmitParallelToolCalls bool
	// RequiredWord is the tool choice that forces a call. Default "required".
	RequiredWord string
	// NoForcedThinking says that a call cannot be forced while the model thinks.
	NoForcedThinking bool
	// EmptyContent is the content of an answer that has only calls.
	EmptyContent EmptyContent
	// SystemFirstOnly refuses system messages behind the first message that is none: they are sent as the user's.
	SystemFirstOnly bool
	// MergeSameRole joins neighbours of one role, which the server refuses.
	MergeSameRole bool
	// NoUserAfterTool has an answer in between, which the server demands where the user continues behind results.
	NoUserAfterTool bool
	// InvalidArguments says that the server takes the arguments of earlier calls as they are. Others get what is no JSON
	// object wrapped in one.
	InvalidArguments bool
	// Unsupported are fields of requests that the server refuses. They are a local error, or left out, see
	// Config.DropUnsupported.
	Unsupported []string
	// FinishOptional accepts answers that end with [DONE] and without a reason.
	FinishOptional bool
	// ThinkTags takes <think>…</think> at the start of the content for thinking.
	ThinkTags bool
	// StreamOnly has Generate stream, too, while the model thinks, for servers that refuse anything else.
	StreamOnly bool
	// Cumulative says that every chunk repeats what came before it.
	Cumulative bool
	// ExtraFields are part of every request; Config.ExtraFields win.
	ExtraFields map[string]any
	// ToolStream asks for the arguments of calls as they come, with the field tool_stream.
	ToolStream bool
}

// StreamUsage says how the usage of a streamed answer is asked for.
type StreamUsage string

const (
	// StreamUsageOption sets stream_options.include_usage.
	StreamUsageOption StreamUsage = ""
	// StreamUsageNever asks for nothing: the server sends it anyway, or refuses the option.
	StreamUsageNever StreamUsage = "never"
)

// ReasoningRule says how thinking is sent back to the server that did it.
type ReasoningRule string

const (
	// ReasoningOwn sends the thinking of the server's own answers in the fields in which it came.
	ReasoningOwn ReasoningRule = ""
	// ReasoningNever sends none.
	ReasoningNever ReasoningRule = "never"
	// ReasoningRequired sends reasoning_content with every answer that calls tools, an empty one if there is none: the
	// server refuses answers without it while it thinks.
	ReasoningRequired ReasoningRule = "required"
)

// ThinkingKnob selects the way to ask a server to think.
type ThinkingKnob string

const (
	// KnobEffort is reasoning_effort; thinking is switched off by the effort "none".
	KnobEffort ThinkingKnob = ""
	// KnobThinkingType is thinking: {type: enabled|disabled}, with reasoning_effort beside it.
	KnobThinkingType ThinkingKnob = "thinking.type"
	// KnobThinkingOnly is thinking: {type}, and an effort is an error.
	KnobThinkingOnly ThinkingKnob = "thinking.only"
	// KnobEnableThinking is enable_thinking: true|false.
	KnobEnableThinking ThinkingKnob = "enable_thinking"
	// KnobReasoningObject is reasoning: {effort, enabled}.
	KnobReasoningObject ThinkingKnob = "reasoning"
	// KnobTemplate is chat_template_kwargs: {enable_thinking}, with reasoning_effort beside it.
	KnobTemplate ThinkingKnob = "chat_template_kwargs"
	// KnobNone has no way to ask: both settings are errors.
	KnobNone ThinkingKnob = "none"
)

// ToolCallIDRule is a server's rule for IDs of calls. Other IDs are changed, in the call and its result alike.
type ToolCallIDRule string

const (
	// ToolCallIDAny takes any.
	ToolCallIDAny ToolCallIDRule = ""
	// ToolCallIDMax40 takes at most 40 characters.
	ToolCallIDMax40 ToolCallIDRule = "max40"
	// ToolCallIDMistral9 takes exactly 9 letters and digits.
	ToolCallIDMistral9 ToolCallIDRule = "mistral9"
)

func (r ToolCallIDRule) rule() kit.IDRule {
	switch r {
	case ToolCallIDMax40:
		return kit.IDRule{Max: 40}
	case ToolCallIDMistral9:
		return kit.IDRule{Max: 9, Exact: true, Allowed: kit.Alphanumeric}
	}
	return kit.IDRule{}
}

// EmptyContent selects the form in which an answer without text is sent.
type EmptyContent string

const (
	// EmptyContentOmit leaves the field out.
	EmptyContentOmit EmptyContent = ""
	// EmptyContentNull sends null.
	EmptyContentNull EmptyContent = "null"
	// EmptyContentText sends an empty text.
	EmptyContentText EmptyContent = "empty"
	// EmptyContentSpace sends a space.
	EmptyContentSpace EmptyContent = "space"
)

// The profiles of known services. Where the README says "documented, not observed", a row rests on the service's
// documentation alone.
var (
	// ProfileOpenAI is OpenAI's own.
	ProfileOpenAI = Profile{
		InvalidArguments: true,
		Name:             "OpenAI", Provider: "openai", Hosts: []string{"api.openai.com"},
		MaxTokensField: MaxTokensFieldMaxCompletionTokens,
		Reasoning:      ReasoningNever, ToolCallID: ToolCallIDMax40,
	}
	// ProfileAzure is Azure OpenAI.
	ProfileAzure = Profile{
		InvalidArguments: true,
		Name:             "Azure", Provider: "azure.ai.openai", Hosts: []string{"openai.azure.com", "*.openai.azure.*", "*.azure.com"},
		MaxTokensField: MaxTokensFieldMaxCompletionTokens,
		Reasoning:      ReasoningNever, ToolCallID: ToolCallIDMax40,
	}
	// ProfileDeepSeek is DeepSeek's. Its models from V4 on want their thinking back.
	ProfileDeepSeek = Profile{
		InvalidArguments: true,
		Name:             "DeepSeek", Provider: "deepseek", Hosts: []string{"api.deepseek.com"},
		MaxTokensField: MaxTokensFieldMaxTokens, Reasoning: ReasoningRequired, Knob: KnobThinkingType,
		EmptyContent: EmptyContentText, OmitParallelToolCalls: true,
	}
	// ProfileQwen is Alibaba's DashScope.
	ProfileQwen = Profile{
		Name: "Qwen (DashScope)", Provider: "qwen", Hosts: []string{"dashscope*.aliyuncs.com"},
		MaxTokensField: MaxTokensFieldMaxTokens, Reasoning: ReasoningNever, Knob: KnobEnableThinking, StreamOnly: true,
	}
	// ProfileMoonshot is Moonshot's Kimi.
	ProfileMoonshot = Profile{
		InvalidArguments: true,
		Name:             "Moonshot (Kimi)", Provider: "moonshot", Hosts: []string{"api.moonshot.ai", "api.moonshot.cn"},
		MaxTokensField: MaxTokensFieldMaxTokens, Reasoning: ReasoningRequired, Knob: KnobThinkingOnly,
		OmitParallelToolCalls: true, NoForcedThinking: true,
	}
	// ProfileGLM is Z.ai's and Zhipu's GLM.
	ProfileGLM = Profile{
		InvalidArguments: true,
		Name:             "GLM (Z.ai, Zhipu)", Provider: "zai", Hosts: []string{"api.z.ai", "open.bigmodel.cn"},
		MaxTokensField: MaxTokensFieldMaxTokens, Knob: KnobThinkingType, ToolStream: true, OmitParallelToolCalls: true,
	}
	// ProfileArk is Volcengine's Ark (Doubao).
	ProfileArk = Profile{
		InvalidArguments: true,
		Name:             "Doubao (Ark)", Provider: "ark", Hosts: []string{"ark.*.volces.com"},
		MaxTokensField: MaxTokensFieldMaxTokens, Knob: KnobThinkingType,
	}
	// ProfileMiniMax is MiniMax's.
	ProfileMiniMax = Profile{
		Name: "MiniMax", Provider: "minimax", Hosts: []string{"api.minimax.io", "api.minimaxi.com"},
		MaxTokensField: MaxTokensFieldMaxCompletionTokens, Knob: KnobNone, ThinkTags: true,
		ExtraFields: map[string]any{"reasoning_split": true},
	}
	// ProfileMistral is Mistral's, which refuses what it does not know.
	ProfileMistral = Profile{
		Name: "Mistral", Provider: "mistral", Hosts: []string{"api.mistral.ai"},
		MaxTokensField: MaxTokensFieldMaxTokens, StreamUsage: StreamUsageNever, Reasoning: ReasoningNever,
		ToolCallID: ToolCallIDMistral9, RequiredWord: "any", NoUserAfterTool: true,
		Unsupported: []string{
			"logit_bias", "logprobs", "top_logprobs", "user", "service_tier", "verbosity", "store", "metadata",
			"prompt_cache_key", "safety_identifier", "modalities", "audio", "web_search_options",
			"prompt_cache_options",
		},
	}
	// ProfileGroq is Groq's, which refuses thinking in messages.
	ProfileGroq = Profile{
		Name: "Groq", Provider: "groq", Hosts: []string{"api.groq.com"},
		MaxTokensField: MaxTokensFieldMaxCompletionTokens, Reasoning: ReasoningNever,
		Unsupported: []string{"logprobs", "top_logprobs", "logit_bias"},
	}
	// ProfileXAI is xAI's Grok.
	ProfileXAI = Profile{
		InvalidArguments: true,
		Name:             "xAI", Provider: "xai", Hosts: []string{"api.x.ai"},
		MaxTokensField: MaxTokensFieldMaxCompletionTokens,
	}
	// ProfileOpenRouter is OpenRouter's.
	ProfileOpenRouter = Profile{
		Name: "OpenRouter", Provider: "openrouter", Hosts: []string{"openrouter.ai"},
		MaxTokensField: MaxTokensFieldMaxTokens, Knob: KnobReasoningObject,
		ExtraFields: map[string]any{"usage": map[string]any{"include": true}},
	}
	// ProfileVercel is Vercel's AI gateway.
	ProfileVercel = Profile{
		Name: "Vercel AI gateway", Provider: "vercel", Hosts: []string{"ai-gateway.vercel.sh"},
		MaxTokensField: MaxTokensFieldMaxTokens, Knob: KnobReasoningObject,
	}
	// ProfileOpenModels is Together, Fireworks, DeepInfra and the router of Hugging Face.
	ProfileOpenModels = Profile{
		InvalidArguments: true,
		Name:             "Together, Fireworks, Hugging Face, DeepInfra", Provider: "openmodels",
		Hosts: []string{
			"api.together.xyz", "api.together.ai", "api.fireworks.ai", "router.huggingface.co", "api.deepinfra.com",
		},
		MaxTokensField: MaxTokensFieldMaxTokens,
	}
	// ProfileVLLM is a server with vLLM or SGLang. Set it by hand: such a server can be anywhere.
	ProfileVLLM = Profile{
		Name: "vLLM, SGLang", Provider: "vllm", MaxTokensField: MaxTokensFieldMaxTokens, Knob: KnobTemplate,
	}
	// ProfileLlamaCpp is llama.cpp's server.
	ProfileLlamaCpp = Profile{
		Name: "llama.cpp", Provider: "llamacpp", Hosts: []string{":8080"}, MaxTokensField: MaxTokensFieldMaxTokens,
		Knob: KnobTemplate,
	}
	// ProfileOllama is the compatible API of Ollama. It ignores the size of the context; see ext/model/ollama.
	ProfileOllama = Profile{
		Name: "Ollama", Provider: "ollama", Hosts: []string{":11434"}, MaxTokensField: MaxTokensFieldMaxTokens,
	}
	// ProfileBedrock is Amazon Bedrock's compatible API.
	ProfileBedrock = Profile{
		Name: "Bedrock (OpenAI API)", Provider: "aws.bedrock",
		Hosts:          []string{"bedrock-runtime.*.amazonaws.com", "bedrock-mantle.*.api.aws"},
		MaxTokensField: MaxTokensFieldMaxCompletionTokens, Reasoning: ReasoningNever, ToolCallID: ToolCallIDMax40,
	}
	// ProfileUnknown is for every other server: nothing is sent that an old or small one may not know.
	ProfileUnknown = Profile{
		Name: "unknown", Provider: "openai_compatible", MaxTokensField: MaxTokensFieldMaxTokens,
	}
)

// Profiles returns the profiles of all known services.
func Profiles() []Profile {
	return []Profile{
		ProfileOpenAI, ProfileAzure, ProfileDeepSeek, ProfileQwen, ProfileMoonshot, ProfileGLM, ProfileArk, ProfileMiniMax,
		ProfileMistral, ProfileGroq, ProfileXAI, ProfileOpenRouter, ProfileVercel, ProfileOpenModels, ProfileVLLM,
		ProfileLlamaCpp, ProfileOllama, ProfileBedrock,
	}
}

// ProfileFor returns the profile for the server at an address: the profile of the service with this host, and
// [ProfileUnknown] for others.
func ProfileFor(baseURL string) Profile {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ProfileUnknown
	}
	host := strings.ToLower(u.Hostname())
	for _, p := range Profiles() {
		if slices.ContainsFunc(p.Hosts, func(pattern string) bool { return isHost(host, u.Port(), pattern) }) {
			return p
		}
	}
	return ProfileUnknown
}

func isHost(host, port, pattern string) bool {
	if wanted, ok := strings.CutPrefix(pattern, ":"); ok {
		return port == wanted && isLocal(host)
	}
	if strings.Contains(pattern, "*") {
		matches, _ := path.Match(pattern, host)
		return matches
	}
	return host == pattern || strings.HasSuffix(host, "."+pattern)
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsPrivate())
}

// isOfficial reports whether the server is OpenAI's own or Azure's, which need a key.
func (p *Profile) isOfficial() bool { return p.Provider == "openai" || p.Provider == "azure.ai.openai" }
