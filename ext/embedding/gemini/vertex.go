package gemini

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
)

// vertexBytes is the number of bytes that the texts of a request to Vertex AI may have: 20,000 tokens of two bytes at least.
const vertexBytes = 40_000

// vertexBatch returns how much a request to Vertex AI may have.
func (c *Config) vertexBatch() (texts, size int) {
	switch {
	case takesOne(c.Model):
		return 1, 0
	case c.Location == "us-central1":
		return 250, vertexBytes
	}
	return 5, vertexBytes
}

// embedsContent reports whether Vertex AI serves a model by embedContent, as it does all of Gemini behind the first and
// open models, and not by predict.
func embedsContent(model string) bool {
	return strings.Contains(model, "gemini") && model != "gemini-embedding-001" || strings.Contains(model, "maas")
}

// takesOne reports whether a request to Vertex AI may have one text only.
func takesOne(model string) bool { return model == "gemini-embedding-001" || embedsContent(model) }

// vertex asks Vertex AI for the vectors of a batch. Models that take one text are asked once for each.
func (c *call) vertex(ctx context.Context, texts []string) ([][]float64, *embedding.TokenUsage, error) {
	if c.conf.MIMEType != "" && embedsContent(c.model) {
		return nil, nil, fmt.Errorf("gemini: MIMEType is not known to model %q: leave it out", c.model)
	}
	if len(texts) == 1 || !takesOne(c.model) {
		return c.send(ctx, c.vertexPath(), c.vertexRequest(texts))
	}
	vectors := make([][]float64, 0, len(texts))
	var usage *embedding.TokenUsage
	for _, text := range texts {
		one, used, err := c.send(ctx, c.vertexPath(), c.vertexRequest([]string{text}))
		if err != nil {
			return nil, nil, err
		}
		vectors = append(vectors, one...)
		if used != nil && usage != nil {
			used.PromptTokens += usage.PromptTokens
			used.TotalTokens += usage.TotalTokens
		}
		if used != nil {
			usage = used
		}
	}
	return vectors, usage, nil
}

func (c *call) vertexPath() string {
	method := "predict"
	if embedsContent(c.model) {
		method = "embedContent"
	}
	return fmt.Sprintf("projects/%s/locations/%s/publishers/google/models/%s:%s",
		c.conf.Project, c.conf.Location, c.model, method)
}

// vertexRequest returns the request for some texts, or for one where the model takes one. That texts are cut is the
// service's default, so that it is always said.
func (c *call) vertexRequest(texts []string) kit.Object {
	if embedsContent(c.model) {
		conf := kit.ObjectOf()
		conf.SetText("taskType", c.conf.TaskType)
		conf.SetText("title", c.title())
		conf.Set("autoTruncate", c.conf.AutoTruncate)
		kit.SetPtr(&conf, "outputDimensionality", c.conf.OutputDimensionality)
		content := kit.ObjectOf("role", "user", "parts", []kit.Object{kit.ObjectOf("text", texts[0])})
		return kit.ObjectOf("content", content, "embedContentConfig", conf)
	}
	instances := make([]kit.Object, len(texts))
	for i, text := range texts {
		instances[i] = kit.ObjectOf("content", text)
		instances[i].SetText("task_type", c.conf.TaskType)
		instances[i].SetText("title", c.title())
		instances[i].SetText("mimeType", c.conf.MIMEType)
	}
	parameters := kit.ObjectOf("autoTruncate", c.conf.AutoTruncate)
	kit.SetPtr(&parameters, "outputDimensionality", c.conf.OutputDimensionality)
	return kit.ObjectOf("instances", instances, "parameters", parameters)
}
