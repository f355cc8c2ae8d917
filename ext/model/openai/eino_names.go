package openai

// Names that users of Eino's OpenAI extension know. Fields of the same name mean the same; docs/moving-from-eino.md
// lists the others.
type (
	// ChatModelConfig is [Config].
	ChatModelConfig = Config
	// ChatCompletionResponseFormat is [ResponseFormat].
	ChatCompletionResponseFormat = ResponseFormat
	// ChatCompletionResponseFormatJSONSchema is [ResponseSchema].
	ChatCompletionResponseFormatJSONSchema = ResponseSchema
	// ChatCompletionResponseFormatType is the type of [ResponseFormat].Type.
	ChatCompletionResponseFormatType = string
	// ReasoningEffortLevel is the type of [Config].ReasoningEffort.
	ReasoningEffortLevel = string
	// Modality is the type of the items of [Config].Modalities.
	Modality = string
	// Audio is [AudioOptions].
	Audio = AudioOptions
)

// The values of [ResponseFormat].Type.
const (
	ChatCompletionResponseFormatTypeText       = "text"
	ChatCompletionResponseFormatTypeJSONObject = "json_object"
	ChatCompletionResponseFormatTypeJSONSchema = "json_schema"
)

// Values of [Config].ReasoningEffort.
const (
	ReasoningEffortLevelLow    = "low"
	ReasoningEffortLevelMedium = "medium"
	ReasoningEffortLevelHigh   = "high"
)

// Values of [Config].Modalities.
const (
	TextModality  = "text"
	AudioModality = "audio"
)
