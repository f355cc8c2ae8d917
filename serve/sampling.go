package serve

import (
	"encoding/json"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
)

// Sampling sets options of the models in a run. A nil field leaves the agent's setting.
type Sampling struct {
	Temperature *float32 `json:"t,omitempty"`
	TopP        *float32 `json:"p,omitempty"`
	// MaxTokens bounds each answer of a model.
	MaxTokens *int     `json:"m,omitempty"`
	Stop      []string `json:"s,omitempty"`
}

// encode is the sampling as a tag of a run, "" if nothing is set.
func (s *Sampling) encode() (string, error) {
	between := func(v *float32, most float32) bool { return v == nil || *v >= 0 && *v <= most }
	if !between(s.Temperature, 2) || !between(s.TopP, 1) || s.MaxTokens != nil && *s.MaxTokens < 1 || len(s.Stop) > 4 {
		return "", NewProblem(BadRequest,
			"a temperature is between 0 and 2, a top_p between 0 and 1, max tokens above 0, and stops at most 4")
	}
	data, err := json.Marshal(s)
	switch {
	case err != nil:
		return "", ProblemOf(err)
	case string(data) == "{}":
		return "", nil
	case len(data) > 128:
		return "", NewProblem(BadRequest, "the stops are too long")
	}
	return string(data), nil
}

// samplingOptions are the options of a run that has such a tag.
func samplingOptions(tag string) ([]adk.AgentRunOption, error) {
	if tag == "" {
		return nil, nil
	}
	var s Sampling
	if err := json.Unmarshal([]byte(tag), &s); err != nil {
		return nil, fmt.Errorf("the sampling of the run: %w", err)
	}
	var opts []model.Option
	if s.Temperature != nil {
		opts = append(opts, model.WithTemperature(*s.Temperature))
	}
	if s.TopP != nil {
		opts = append(opts, model.WithTopP(*s.TopP))
	}
	if s.MaxTokens != nil {
		opts = append(opts, model.WithMaxTokens(*s.MaxTokens))
	}
	if s.Stop != nil {
		opts = append(opts, model.WithStop(s.Stop))
	}
	return []adk.AgentRunOption{adk.WithChatModelOptions(opts)}, nil
}
