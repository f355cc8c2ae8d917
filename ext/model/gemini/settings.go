package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// A SafetySetting says what the service blocks of one category of harm.
type SafetySetting struct {
	// Category is for example "HARM_CATEGORY_DANGEROUS_CONTENT". Required.
	Category string
	// Threshold is for example "BLOCK_ONLY_HIGH". Required.
	Threshold string
	// Method is "SEVERITY" or "PROBABILITY". Vertex only.
	Method string
}

// ImageConfig says what images the model makes.
type ImageConfig struct {
	// AspectRatio is for example "16:9", ImageSize for example "2K".
	AspectRatio, ImageSize string
}

// setSettings sets everything that is no content and no tool.
func (c *call) setSettings(body *kit.Object) error {
	o := c.o
	var safety []kit.Object
	for _, s := range o.SafetySettings {
		if s == nil {
			continue
		}
		one := kit.Object{{Key: "category", Value: s.Category}, {Key: "threshold", Value: s.Threshold}}
		one.SetText("method", s.Method)
		if !c.e.vertex() {
			c.unsupported.Reject(&one, "method", "only Vertex has methods of safety settings: remove Method")
		}
		safety = append(safety, one)
	}
	if len(safety) > 0 {
		body.Set("safetySettings", safety)
	}
	generation, err := c.generationConfig(body.Get("tools") != nil && c.hasFunctions())
	if err != nil {
		return err
	}
	if len(generation) > 0 {
		body.Set("generationConfig", generation)
	}
	if len(o.Labels) > 0 {
		var labels kit.Object
		for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
			labels.Set(key, o.Labels[key])
		}
		body.Set("labels", labels)
		if !c.e.vertex() {
			c.unsupported.Reject(body, "labels", "only Vertex has them: remove Labels")
		}
	}
	body.SetText("serviceTier", o.ServiceTier)
	return nil
}

func (c *call) generationConfig(functions bool) (kit.Object, error) {
	o := c.o
	var g kit.Object
	kit.SetPtr(&g, "temperature", o.common.Temperature)
	kit.SetPtr(&g, "topP", o.common.TopP)
	kit.SetPtr(&g, "topK", o.TopK)
	kit.SetPtr(&g, "maxOutputTokens", o.common.MaxTokens)
	if len(o.common.Stop) > 0 {
		g.Set("stopSequences", o.common.Stop)
	}
	kit.SetPtr(&g, "seed", o.Seed)
	kit.SetPtr(&g, "presencePenalty", o.PresencePenalty)
	kit.SetPtr(&g, "frequencyPenalty", o.FrequencyPenalty)
	if o.ResponseLogprobs {
		g.Set("responseLogprobs", true)
	}
	kit.SetPtr(&g, "logprobs", o.Logprobs)
	if len(o.ResponseModalities) > 0 {
		g.Set("responseModalities", o.ResponseModalities)
	}
	if i := o.ImageConfig; i != nil {
		var image kit.Object
		image.SetText("aspectRatio", i.AspectRatio)
		image.SetText("imageSize", i.ImageSize)
		g.Set("imageConfig", image)
	}
	if o.SpeechConfig != nil {
		g.Set("speechConfig", o.SpeechConfig)
	}
	g.SetText("mediaResolution", o.MediaResolution)
	if thinking := c.thinking(); len(thinking) > 0 {
		g.Set("thinkingConfig", thinking)
	}
	return g, c.setResponseFormat(&g, functions)
}

// setResponseFormat makes the model answer in JSON.
func (c *call) setResponseFormat(g *kit.Object, functions bool) error {
	described, err := c.o.responseSchema()
	if err != nil {
		return err
	}
	g.SetText("responseMimeType", c.o.ResponseMIMEType)
	if described != nil {
		if c.o.ResponseMIMEType == "" {
			g.Set("responseMimeType", "application/json")
		}
		lowered, err := lowerSchema(described, c.o.SchemaMode, false)
		if err != nil {
			return fmt.Errorf("ResponseJSONSchema: %w", err)
		}
		g.Set(c.o.SchemaMode.answerField(), lowered)
	}
	if v := versionOf(c.model); functions && v.known && v.major < 3 && g.Get("responseMimeType") == "application/json" {
		c.unsupported.Refuse("ResponseJSONSchema", c.model+" gives no JSON answers in calls with functions: "+
			"offer a function that takes the final answer, use Gemini 3")
		if c.o.DropUnsupported {
			g.Set("responseMimeType", nil)
			g.Set(c.o.SchemaMode.answerField(), nil)
		}
	}
	return nil
}

// responseSchema returns the schema of answers as JSON, nil if there is none.
func (c *Config) responseSchema() (json.RawMessage, error) {
	if c.ResponseJSONSchema == nil {
		return nil, nil
	}
	data, err := json.Marshal(c.ResponseJSONSchema)
	if err != nil {
		return nil, fmt.Errorf("ResponseJSONSchema: %w", err)
	}
	if string(data) == "null" {
		return nil, nil
	}
	if data[0] != '{' {
		return nil, fmt.Errorf("ResponseJSONSchema must be a JSON schema with type object or another, not %.20q", data)
	}
	return data, nil
}

// A version is the generation of a model.
type version struct {
	major, minor int
	known        bool
}

// versionOf finds the generation in the name of a model: 2.5 in "models/gemini-2.5-pro". Aliases and tuned models have
// none.
func versionOf(model string) version {
	name := model[strings.LastIndexByte(model, '/')+1:]
	rest, ok := strings.CutPrefix(name, "gemini-")
	if !ok {
		return version{}
	}
	number, _, _ := strings.Cut(rest, "-")
	first, second, _ := strings.Cut(number, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return version{}
	}
	minor, _ := strconv.Atoi(second)
	return version{major: major, minor: minor, known: true}
}
