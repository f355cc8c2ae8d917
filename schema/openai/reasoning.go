package openai

// ReasoningExtension is the model's thinking as OpenAI gives it: a list of texts.
type ReasoningExtension struct {
	Content []*ReasoningContent `json:"content,omitempty"`
}

// ReasoningContent is one text of the model's thinking.
type ReasoningContent struct {
	// Index is equal for all chunks of one text while streaming, and nil in finished messages.
	Index *int   `json:"index,omitempty"`
	Text  string `json:"text,omitempty"`
}
