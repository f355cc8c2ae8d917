package runs

// Usage counts tokens. What is not known is absent, never 0.
type Usage struct {
	// Input counts the tokens of requests. InputCached of them were read from a cache, InputCacheWrite were written to one.
	Input           int `json:"input,omitempty"`
	InputCached     int `json:"input_cached,omitempty"`
	InputCacheWrite int `json:"input_cache_write,omitempty"`
	// Output counts the tokens of answers, OutputReasoning of them were thoughts.
	Output          int `json:"output,omitempty"`
	OutputReasoning int `json:"output_reasoning,omitempty"`
	// Total counts all of them, as the provider does.
	Total int `json:"total,omitempty"`
}

// Add adds the usage of something else, nil for none.
func (u *Usage) Add(other *Usage) {
	if other == nil {
		return
	}
	u.Input += other.Input
	u.InputCached += other.InputCached
	u.InputCacheWrite += other.InputCacheWrite
	u.Output += other.Output
	u.OutputReasoning += other.OutputReasoning
	u.Total += other.Total
}

// Raise raises each count to the one of another account of the same calls, which may know of more of them.
func (u *Usage) Raise(other Usage) {
	u.Input = max(u.Input, other.Input)
	u.InputCached = max(u.InputCached, other.InputCached)
	u.InputCacheWrite = max(u.InputCacheWrite, other.InputCacheWrite)
	u.Output = max(u.Output, other.Output)
	u.OutputReasoning = max(u.OutputReasoning, other.OutputReasoning)
	u.Total = max(u.Total, other.Total)
}
