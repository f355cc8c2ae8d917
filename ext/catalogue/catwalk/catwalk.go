// Package catwalk is a catalogue of public models: their context windows and prices, in US dollars.
//
// The table is made of the data of charm.land/catwalk (MIT License, see NOTICE) and is part of the program: nothing is
// looked up in a network, and prices are from the day that [Date] returns. A model that is not in the table is not
// found. One whose price the data does not have, or which a subscription pays, is found without a price; only models
// that are free by their name cost nothing.
//
// The table has one price for a model: prices for long prompts and service tiers are not in it, nor limits on answers.
// Put a catalogue of your own before it, with catalogue.First, where that matters.
package catwalk

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/catalogue"
)

//go:embed table.txt
var text string

var loaded = sync.OnceValue(func() *table { return parse(text) })

// New returns the catalogue. It is read when it is first needed, and shared by all callers.
func New() catalogue.Catalogue { return models{} }

// Version returns the version of charm.land/catwalk that the table is made of: "v0.52.86".
func Version() string { return loaded().version }

// Date returns the day of that version.
func Date() time.Time { return loaded().date }

type models struct{}

// Lookup finds a model by its name at the provider, or by its normalized one: see [catalogue.Static].
func (models) Lookup(provider, model string) (catalogue.ModelInfo, bool) {
	if provider == "" {
		return catalogue.ModelInfo{}, false // others serve models of the same names at other prices
	}
	for _, list := range listsOf(provider, model) {
		if info, ok := loaded().lists.Lookup(list, model); ok {
			return info, true
		}
	}
	return catalogue.ModelInfo{}, false
}

// lists has the lists of the table for providers whose names are others here. They are asked in order: clouds sell most
// models of other vendors at their prices. Providers that are not here have the list of their own name, if there is one.
var lists = map[string][]string{
	"aws.bedrock":        {"bedrock", "bedrock-europe"},
	"azure.ai.openai":    {"azure", "openai"},
	"azure.ai.inference": {"azure", "openai"},
	"gcp.gemini":         {"gemini", "vertexai"},
	"gcp.gen_ai":         {"gemini", "vertexai"},
	"gcp.vertex_ai":      {"vertexai", "gemini", "anthropic"},
	"google":             {"gemini", "vertexai"},
	"moonshot_ai":        {"moonshot"},
	"x_ai":               {"xai"},
	"z_ai":               {"zai"},
}

// regions are in the names of models of Amazon Bedrock that are served in one region other than the United States, which
// costs more. The table has the prices of Europe.
var regions = []string{"eu", "apac", "jp", "au", "ca", "sa", "us-gov"}

// isRegional reports whether a part of the name, which slashes separate, begins with a region and a dot.
func isRegional(model string) bool {
	for part := range strings.SplitSeq(model, "/") {
		if region, _, found := strings.Cut(part, "."); found && slices.Contains(regions, region) {
			return true
		}
	}
	return false
}

func listsOf(provider, model string) []string {
	if provider == "aws.bedrock" && isRegional(model) {
		return []string{"bedrock-europe", "bedrock"}
	}
	if names, ok := lists[provider]; ok {
		return names
	}
	return []string{provider}
}
