package gemini

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// ModelInfo is the service's description of a model. Vertex says less.
type ModelInfo struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
	// InputTokenLimit is the size of the context.
	InputTokenLimit            int      `json:"inputTokenLimit"`
	OutputTokenLimit           int      `json:"outputTokenLimit"`
	SupportedGenerationMethods []string `json:"supportedGenerationMethods"`
	// Thinking says that the model can think.
	Thinking bool `json:"thinking"`
	// Temperature, TopP and TopK are the defaults.
	Temperature    *float64 `json:"temperature"`
	MaxTemperature *float64 `json:"maxTemperature"`
	TopP           *float64 `json:"topP"`
	TopK           *float64 `json:"topK"`
}

// Describe asks the service how large the context of the model of the Config is. It implements kit.Describer.
func (m *resources) Describe(ctx context.Context) (catalogue.ModelInfo, error) {
	info, err := m.ModelInfo(ctx)
	if err != nil {
		return catalogue.ModelInfo{}, err
	}
	return catalogue.ModelInfo{
		ContextWindow: info.InputTokenLimit, MaxOutput: info.OutputTokenLimit,
		Capabilities: catalogue.Capabilities{Reasoning: info.Thinking},
	}, nil
}

// ModelInfo returns all that the service says about the model of the Config.
func (m *resources) ModelInfo(ctx context.Context) (_ *ModelInfo, err error) {
	defer m.engine.info.Redactor.Recover(&err)
	info := new(ModelInfo)
	if err := m.engine.call(ctx, http.MethodGet, m.engine.modelPath(m.engine.conf.Model), nil, info); err != nil {
		return nil, err
	}
	return info, nil
}

// countedFields are the fields of a request that are counted on Vertex.
var countedFields = []string{"contents", "systemInstruction", "tools", "generationConfig"}

func (e *engine) countTokens(ctx context.Context, in []*schema.AgenticMessage, opts []model.Option) (n int, err error) {
	defer e.info.Redactor.Recover(&err)
	c, err := e.newCall(in, opts)
	if err != nil {
		return 0, e.failure(err)
	}
	var body kit.Object
	if e.vertex() {
		for _, name := range countedFields {
			body.Set(name, c.body.Get(name))
		}
	} else {
		body.Set("generateContentRequest", append(kit.Object{{Key: "model", Value: e.resourceName(c.model)}}, c.body...))
	}
	var counted struct {
		TotalTokens *int `json:"totalTokens"`
	}
	if err := c.ask(ctx, e.modelPath(c.model)+":countTokens", body, &counted); err != nil {
		return 0, err
	}
	if counted.TotalTokens == nil {
		return 0, e.info.Redactor.Failure("count tokens", errors.New("the service did not say how many"))
	}
	return *counted.TotalTokens, nil
}
