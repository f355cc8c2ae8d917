package schema

import (
	"fmt"
	"reflect"

	"github.com/weftgo/weft/internal/concat"
	"github.com/weftgo/weft/schema/claude"
	"github.com/weftgo/weft/schema/gemini"
	"github.com/weftgo/weft/schema/openai"
)

// extensionType holds the one type that provider extensions may have over all chunks.
type extensionType struct{ t reflect.Type }

func (e *extensionType) check(ext any, where string) error {
	t := reflect.TypeOf(ext)
	if e.t == nil {
		e.t = t
	}
	if t != e.t {
		return fmt.Errorf("inconsistent extension types in %s chunks: '%v' vs '%v'", where, e.t, t)
	}
	return nil
}

// joinExtensions joins the extensions of one provider, if there are any.
func joinExtensions[E any](into **E, chunks []*E, provider string, join func([]*E) (*E, error)) error {
	if len(chunks) == 0 {
		return nil
	}
	var err error
	if *into, err = join(chunks); err != nil {
		return fmt.Errorf("failed to concat %s extensions: %w", provider, err)
	}
	return nil
}

// joinValues joins extensions of providers without a field of their own.
func joinValues(into *any, values []any) error {
	var err error
	if *into, err = concat.Values(values); err != nil {
		return fmt.Errorf("failed to concat extensions: %w", err)
	}
	return nil
}

// agenticMetaJoin joins response metadata: the last origin, the highest counts and the provider's extensions.
type agenticMetaJoin struct {
	origin
	usage *TokenUsage

	extension extensionType
	values    []any
	openai    []*openai.ResponseMetaExtension
	claude    []*claude.ResponseMetaExtension
	gemini    []*gemini.ResponseMetaExtension
	err       error // of the first chunk with an extension of another type
}

func (j *agenticMetaJoin) add(meta *AgenticResponseMeta) {
	j.origin.add(meta.ID, meta.Model, meta.Provider)
	j.usage = maxTokenUsage(j.usage, meta.TokenUsage)
	if meta.Extension != nil && j.accept(meta.Extension) {
		j.values = append(j.values, meta.Extension)
	}
	if meta.OpenAIExtension != nil && j.accept(meta.OpenAIExtension) {
		j.openai = append(j.openai, meta.OpenAIExtension)
	}
	if meta.ClaudeExtension != nil && j.accept(meta.ClaudeExtension) {
		j.claude = append(j.claude, meta.ClaudeExtension)
	}
	if meta.GeminiExtension != nil && j.accept(meta.GeminiExtension) {
		j.gemini = append(j.gemini, meta.GeminiExtension)
	}
}

func (j *agenticMetaJoin) accept(ext any) bool {
	if j.err == nil {
		j.err = j.extension.check(ext, "response meta")
	}
	return j.err == nil
}

func (j *agenticMetaJoin) result() (*AgenticResponseMeta, error) {
	if j == nil {
		return nil, nil
	}
	if j.err != nil {
		return nil, j.err
	}
	meta := &AgenticResponseMeta{TokenUsage: clonePointer(j.usage), ID: j.id, Model: j.model, Provider: j.provider}
	if err := joinValues(&meta.Extension, j.values); err != nil {
		return nil, err
	}
	if err := joinExtensions(&meta.OpenAIExtension, j.openai, "openai", openai.ConcatResponseMetaExtensions); err != nil {
		return nil, err
	}
	if err := joinExtensions(&meta.ClaudeExtension, j.claude, "claude", claude.ConcatResponseMetaExtensions); err != nil {
		return nil, err
	}
	if err := joinExtensions(&meta.GeminiExtension, j.gemini, "gemini", gemini.ConcatResponseMetaExtensions); err != nil {
		return nil, err
	}
	return meta, nil
}
