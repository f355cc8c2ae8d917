package said

import (
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// Source is a page that an answer rests on.
type Source struct{ URL, Title string }

// Sources are the pages that a message cites, each once, in their order.
func Sources(m *runlog.Message) (all []Source) {
	if m == nil || m.Agentic == nil {
		return nil
	}
	add := func(url, title string) {
		if url != "" && !slices.ContainsFunc(all, func(s Source) bool { return s.URL == url }) {
			all = append(all, Source{url, title})
		}
	}
	for _, b := range m.Agentic.ContentBlocks {
		if b != nil && b.AssistantGenText != nil {
			sourcesOfText(b.AssistantGenText, add)
		}
	}
	meta := m.Agentic.ResponseMeta
	if meta == nil || meta.GeminiExtension == nil || meta.GeminiExtension.GroundingMeta == nil {
		return all
	}
	for _, chunk := range meta.GeminiExtension.GroundingMeta.GroundingChunks {
		if chunk != nil && chunk.Web != nil {
			add(chunk.Web.URI, chunk.Web.Title)
		}
	}
	return all
}

func sourcesOfText(text *schema.AssistantGenText, add func(url, title string)) {
	if e := text.OpenAIExtension; e != nil {
		for _, a := range e.Annotations {
			if a != nil && a.URLCitation != nil {
				add(a.URLCitation.URL, a.URLCitation.Title)
			}
		}
	}
	if e := text.ClaudeExtension; e != nil {
		for _, c := range e.Citations {
			if c != nil && c.WebSearchResultLocation != nil {
				add(c.WebSearchResultLocation.URL, c.WebSearchResultLocation.Title)
			}
		}
	}
}
