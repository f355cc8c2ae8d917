package core

// RunUsage counts tokens. What is not known is absent, never 0.
type RunUsage struct {
	Input           int `json:"input,omitempty"`
	InputCached     int `json:"input_cached,omitempty"`
	InputCacheWrite int `json:"input_cache_write,omitempty"`
	Output          int `json:"output,omitempty"`
	OutputReasoning int `json:"output_reasoning,omitempty"`
	Total           int `json:"total,omitempty"`
}

// Add adds what something else has used, nil for nothing.
func (u *RunUsage) Add(other *RunUsage) {
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

// Raise raises each count to the count of another account of the same calls, which may know of more of them.
func (u *RunUsage) Raise(other RunUsage) {
	u.Input = max(u.Input, other.Input)
	u.InputCached = max(u.InputCached, other.InputCached)
	u.InputCacheWrite = max(u.InputCacheWrite, other.InputCacheWrite)
	u.Output = max(u.Output, other.Output)
	u.OutputReasoning = max(u.OutputReasoning, other.OutputReasoning)
	u.Total = max(u.Total, other.Total)
}
