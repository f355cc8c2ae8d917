package ollama

// ChatModelConfig is [Config], by the name that users of Eino's Ollama extension know. docs/moving-from-eino.md lists what
// differs.
type ChatModelConfig = Config
