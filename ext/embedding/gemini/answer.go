package gemini

import (
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
)

// answer is the answer of the methods of both services; each sends some of these fields.
type answer struct {
	kit.InBand
	Embeddings    []values     `json:"embeddings"` // batchEmbedContents
	Embedding     *values      `json:"embedding"`  // embedContent
	Predictions   []prediction `json:"predictions"`
	UsageMetadata *usage       `json:"usageMetadata"`
}

type values struct {
	Values     []float64 `json:"values"`
	Statistics struct {
		TokenCount tokens `json:"token_count"`
	} `json:"statistics"` // predict
}

type prediction struct {
	Embeddings values `json:"embeddings"`
}

type usage struct {
	PromptTokenCount tokens `json:"promptTokenCount"`
}

// tokens is a number that some methods write with a point.
type tokens float64

func (t tokens) count() int { return int(max(0, min(t, 1e12))) }

func (a *answer) vectors() (vectors [][]float64) {
	for _, e := range a.Embeddings {
		vectors = append(vectors, e.Values)
	}
	if a.Embedding != nil {
		vectors = append(vectors, a.Embedding.Values)
	}
	for _, p := range a.Predictions {
		vectors = append(vectors, p.Embeddings.Values)
	}
	return vectors
}

// usage returns the tokens of the texts, nil if the service does not say them.
func (a *answer) usage() *embedding.TokenUsage {
	n := 0
	for _, p := range a.Predictions {
		n += p.Embeddings.Statistics.TokenCount.count()
	}
	switch {
	case a.UsageMetadata != nil:
		n = a.UsageMetadata.PromptTokenCount.count()
	case len(a.Predictions) == 0:
		return nil
	}
	return &embedding.TokenUsage{PromptTokens: n, TotalTokens: n}
}
