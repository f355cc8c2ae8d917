// Package catalogue looks up what models can take and what they cost.
//
// A [Catalogue] answers for a provider and a model; [Static] makes one of a map, [First] asks several in their order.
// Package github.com/weftgo/weft/ext/catalogue/catwalk has one with a table of public prices. [Price.Cost] is the one
// place where tokens become money.
// This package must never do network calls, and has no data: prices change every week.
package catalogue

import (
	"maps"
	"reflect"
)

// ModelInfo describes a model. A field that is zero is not known.
type ModelInfo struct {
	// ContextWindow is the number of tokens that the prompt and the answer may have together.
	ContextWindow int
	// MaxOutput is the number of tokens that an answer may have.
	MaxOutput int
	// Capabilities say what the model can do.
	Capabilities Capabilities
	// Price is the price of the model. Nil is an unknown price; a free model has one in which all is zero.
	Price *Price
}

// Capabilities say what a model can do. All false is not known.
type Capabilities struct {
	// Reasoning models can think before they answer.
	Reasoning bool
	// Images may be in the prompt.
	Images bool
}

// Catalogue looks up models. Implementations are safe for concurrent use and answer from memory: a lookup is part of
// every call of a model.
type Catalogue interface {
	// Lookup returns what is known about a model, and false if that is nothing. The provider is named as
	// model.HasProvider and schema.ResponseMeta name it: "openai", "anthropic", "aws.bedrock", …; it is empty if it is
	// not known. The result is shared: callers must not change what Price points to.
	Lookup(provider, model string) (ModelInfo, bool)
}

// Key names a model of a provider. Without a provider it names the model at any provider.
type Key struct{ Provider, Model string }

// Static returns a catalogue of the models in a map, which may be changed afterwards. A model is found by its own name
// first, at the provider and then at any; then by its normalized name ([Normalize]), in the same order. Where several
// models of a provider that differ have one normalized name, only their own names find them.
func Static(models map[Key]ModelInfo) Catalogue {
	s := &static{exact: maps.Clone(models), loose: make(map[Key]ModelInfo, len(models))}
	ambiguous := map[Key]bool{}
	for key, info := range models {
		loose := Key{key.Provider, Normalize(key.Model)}
		if other, taken := s.loose[loose]; taken && !reflect.DeepEqual(other, info) {
			ambiguous[loose] = true
		}
		s.loose[loose] = info
	}
	for key := range ambiguous {
		if info, undated := models[key]; undated {
			s.loose[key] = info
		} else {
			delete(s.loose, key)
		}
	}
	return s
}

// static holds models by their own and by their normalized names. It never changes.
type static struct{ exact, loose map[Key]ModelInfo }

func (s *static) Lookup(provider, model string) (ModelInfo, bool) {
	for _, key := range [...]Key{{provider, model}, {"", model}} {
		if info, ok := s.exact[key]; ok {
			return info, true
		}
	}
	normal := Normalize(model)
	for _, key := range [...]Key{{provider, normal}, {"", normal}} {
		if info, ok := s.loose[key]; ok {
			return info, true
		}
	}
	return ModelInfo{}, false
}

// First returns a catalogue that asks others in their order, and takes each field of [ModelInfo] from the first one
// that knows it: so that a catalogue of windows may stand before one of prices. Nil ones are left out.
func First(catalogues ...Catalogue) Catalogue {
	var f first
	for _, c := range catalogues {
		if c != nil {
			f = append(f, c)
		}
	}
	return f
}

type first []Catalogue

func (f first) Lookup(provider, model string) (info ModelInfo, found bool) {
	for _, c := range f {
		next, ok := c.Lookup(provider, model)
		if !ok {
			continue
		}
		found = true
		if info.ContextWindow == 0 {
			info.ContextWindow = next.ContextWindow
		}
		if info.MaxOutput == 0 {
			info.MaxOutput = next.MaxOutput
		}
		if info.Capabilities == (Capabilities{}) {
			info.Capabilities = next.Capabilities
		}
		if info.Price == nil {
			info.Price = next.Price
		}
	}
	return info, found
}
