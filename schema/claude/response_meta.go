package claude

// ResponseMetaExtension holds Anthropic's report about one response.
type ResponseMetaExtension struct {
	ID string `json:"id,omitempty"`
	// StopReason says why the model stopped: "end_turn", "tool_use", …
	StopReason string `json:"stop_reason,omitempty"`
	// StopSequence is the sequence that stopped the model, if one did.
	StopSequence string `json:"stop_sequence,omitempty"`
	// StopDetails says more about a refusal.
	StopDetails *StopDetails `json:"stop_details,omitempty"`
}

// StopDetails says why a model refused to continue.
type StopDetails struct {
	Category    string `json:"category,omitempty"`
	Explanation string `json:"explanation,omitempty"`
}
