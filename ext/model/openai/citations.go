package openai

import (
	"cmp"
	"encoding/json"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// A Citation is a page that an answer rests on.
type Citation struct {
	// URL is the page. Title is "" where the server does not say it.
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	// Start and End are the place in the text that cites it, both 0 where the server does not say it.
	Start int `json:"start_index,omitempty"`
	End   int `json:"end_index,omitempty"`
}

// GetCitations returns the pages that an answer cites, of a chat or an agentic model on Chat Completions or Responses: the
// annotations of OpenAI and OpenRouter, and the lists of Perplexity and xAI. The order is the server's.
func GetCitations[M kit.Message](m M) (all []Citation) {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil {
			return append(annotated(m.Extra), blockCitations(kit.BlocksOfAnswer(m))...)
		}
	case *schema.AgenticMessage:
		if m != nil {
			return append(annotated(m.Extra), blockCitations(m.ContentBlocks)...)
		}
	}
	return nil
}

func annotated(extra map[string]any) (all []Citation) {
	for _, raw := range kit.SplitObjects(kit.ExtraText(extra, annotationsKey)) {
		var a struct {
			Type     string   `json:"type"`
			Citation Citation `json:"url_citation"`
		}
		if kit.DecodeLenient(raw, &a) == nil && a.Type == "url_citation" && a.Citation.URL != "" {
			all = append(all, a.Citation)
		}
	}
	return all
}

func blockCitations(blocks []*schema.ContentBlock) (all []Citation) {
	for _, b := range blocks {
		if b == nil || b.AssistantGenText == nil || b.AssistantGenText.OpenAIExtension == nil {
			continue
		}
		for _, a := range b.AssistantGenText.OpenAIExtension.Annotations {
			if c := a.URLCitation; c != nil {
				all = append(all, Citation{URL: c.URL, Title: c.Title, Start: c.StartIndex, End: c.EndIndex})
			}
		}
	}
	return all
}

// takeCitations notes the pages that a server lists beside the answer. Each chunk has the list as far as it has come.
func (a *assembler) takeCitations(c *completion) {
	if len(c.SearchResults) > 0 {
		a.results = c.SearchResults
	}
	if len(c.Citations) > 0 {
		a.cited = c.Citations
	}
}

// addCitations adds the pages in the form of annotations, unless the answer has these.
func (a *assembler) addCitations(m *schema.Message) {
	if a.annotated || len(a.cited)+len(a.results) == 0 {
		return
	}
	titles := map[string]string{}
	var pages []string
	for _, raw := range a.cited {
		var url string
		if json.Unmarshal(raw, &url) == nil && url != "" {
			pages = append(pages, url)
		}
	}
	for _, raw := range a.results {
		var page Citation
		if kit.DecodeLenient(raw, &page) != nil || page.URL == "" {
			continue
		}
		titles[page.URL] = cmp.Or(titles[page.URL], page.Title)
		if len(a.cited) == 0 {
			pages = append(pages, page.URL)
		}
	}
	var annotations []json.RawMessage
	for _, url := range pages {
		page := kit.ObjectOf("url", url)
		page.SetText("title", titles[url])
		raw, _ := kit.ObjectOf("type", "url_citation", "url_citation", page).Encode() // of texts: cannot fail
		annotations = append(annotations, raw)
	}
	kit.SetExtra(&m.Extra, annotationsKey, kit.JoinObjects(annotations))
}
