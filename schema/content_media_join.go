package schema

import (
	"fmt"

	"github.com/weftgo/weft/schema/claude"
	"github.com/weftgo/weft/schema/openai"
)

// reasoningJoin appends texts and signatures.
type reasoningJoin struct {
	text      textJoin
	signature textJoin
	openai    []*openai.ReasoningExtension
}

func (j *reasoningJoin) add(p *Reasoning) error {
	j.text.add(p.Text)
	j.signature.add(p.Signature)
	if p.OpenAIExtension != nil {
		j.openai = append(j.openai, p.OpenAIExtension)
	}
	return nil
}

func (j *reasoningJoin) result() (*Reasoning, error) {
	r := &Reasoning{Text: j.text.String(), Signature: j.signature.String()}
	return r, joinExtensions(&r.OpenAIExtension, j.openai, "openai reasoning", openai.ConcatReasoningExtensions)
}

// genTextJoin appends texts and joins the extensions of one provider.
type genTextJoin struct {
	text      textJoin
	extension extensionType
	values    []any
	openai    []*openai.AssistantGenTextExtension
	claude    []*claude.AssistantGenTextExtension
}

func (j *genTextJoin) add(p *AssistantGenText) error {
	const where = "assistant generated text"
	j.text.add(p.Text)
	if p.Extension != nil {
		if err := j.extension.check(p.Extension, where); err != nil {
			return err
		}
		j.values = append(j.values, p.Extension)
	}
	if p.OpenAIExtension != nil {
		if err := j.extension.check(p.OpenAIExtension, where); err != nil {
			return err
		}
		j.openai = append(j.openai, p.OpenAIExtension)
	}
	if p.ClaudeExtension != nil {
		if err := j.extension.check(p.ClaudeExtension, where); err != nil {
			return err
		}
		j.claude = append(j.claude, p.ClaudeExtension)
	}
	return nil
}

func (j *genTextJoin) result() (*AssistantGenText, error) {
	t := &AssistantGenText{Text: j.text.String()}
	if err := joinValues(&t.Extension, j.values); err != nil {
		return nil, err
	}
	if err := joinExtensions(&t.OpenAIExtension, j.openai, "openai", openai.ConcatAssistantGenTextExtensions); err != nil {
		return nil, err
	}
	return t, joinExtensions(&t.ClaudeExtension, j.claude, "claude", claude.ConcatAssistantGenTextExtensions)
}

// genMedia is media made by a model: one struct under three names.
type genMedia interface {
	AssistantGenImage | AssistantGenAudio | AssistantGenVideo
}

// genMediaJoin appends base64 data.
type genMediaJoin[P genMedia] struct {
	kind     string
	data     textJoin
	url      string
	mimeType string
}

func (j *genMediaJoin[P]) add(p *P) error {
	media := AssistantGenImage(*p)
	if !single(&j.url, media.URL) {
		return fmt.Errorf("inconsistent URLs in assistant generated %s chunks: '%s' vs '%s'", j.kind, j.url, media.URL)
	}
	if !single(&j.mimeType, media.MIMEType) {
		return fmt.Errorf("inconsistent MIME types in assistant generated %s chunks: '%s' vs '%s'",
			j.kind, j.mimeType, media.MIMEType)
	}
	j.data.add(media.Base64Data)
	return nil
}

func (j *genMediaJoin[P]) result() (*P, error) {
	media := P(AssistantGenImage{URL: j.url, Base64Data: j.data.String(), MIMEType: j.mimeType})
	return &media, nil
}
