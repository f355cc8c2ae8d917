package gemini

import (
	"encoding/json"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/gemini"
)

// GetGroundMetadata returns the sources that an answer rests on, nil if it rests on none.
func GetGroundMetadata(m *schema.Message) *gemini.GroundingMetadata {
	meta := kit.ResponseMetaOf(m)
	if meta == nil || meta.GeminiExtension == nil {
		return nil
	}
	return meta.GeminiExtension.GroundingMeta
}

// ground takes the sources of an answer. They may come field by field.
func (n *ending) ground(raw json.RawMessage) {
	decoded, err := kit.DecodeOrdered(raw)
	fields, ok := decoded.(kit.Object)
	if err != nil || !ok {
		return
	}
	for _, f := range fields {
		if list, isList := f.Value.([]any); f.Value != nil && (!isList || len(list) > 0) {
			n.grounding.Set(f.Key, f.Value)
		}
	}
}

// wireGrounding holds what package schema/gemini has fields for. Names differ: there they are written with underscores.
type wireGrounding struct {
	GroundingChunks []struct {
		Web *gemini.GroundingChunkWeb `json:"web"`
	} `json:"groundingChunks"`
	GroundingSupports []struct {
		ConfidenceScores      []float32 `json:"confidenceScores"`
		GroundingChunkIndices []int     `json:"groundingChunkIndices"`
		Segment               *struct {
			EndIndex   int    `json:"endIndex"`
			PartIndex  int    `json:"partIndex"`
			StartIndex int    `json:"startIndex"`
			Text       string `json:"text"`
		} `json:"segment"`
	} `json:"groundingSupports"`
	SearchEntryPoint *struct {
		RenderedContent string `json:"renderedContent"`
		SDKBlob         []byte `json:"sdkBlob"`
	} `json:"searchEntryPoint"`
	WebSearchQueries []string `json:"webSearchQueries"`
}

// groundingOf returns the sources in the types of package schema/gemini. A source that is no web page has an empty entry
// there, as the supports count entries.
func groundingOf(fields kit.Object) *gemini.GroundingMetadata {
	if len(fields) == 0 {
		return nil
	}
	var w wireGrounding
	text, err := fields.Encode()
	if err != nil || kit.DecodeLenient(text, &w) != nil {
		return nil
	}
	meta := &gemini.GroundingMetadata{WebSearchQueries: w.WebSearchQueries}
	for _, c := range w.GroundingChunks {
		meta.GroundingChunks = append(meta.GroundingChunks, &gemini.GroundingChunk{Web: c.Web})
	}
	for _, s := range w.GroundingSupports {
		support := &gemini.GroundingSupport{
			ConfidenceScores: s.ConfidenceScores, GroundingChunkIndices: s.GroundingChunkIndices,
		}
		if s.Segment != nil {
			support.Segment = &gemini.Segment{
				EndIndex: s.Segment.EndIndex, PartIndex: s.Segment.PartIndex, StartIndex: s.Segment.StartIndex,
				Text: s.Segment.Text,
			}
		}
		meta.GroundingSupports = append(meta.GroundingSupports, support)
	}
	if p := w.SearchEntryPoint; p != nil {
		meta.SearchEntryPoint = &gemini.SearchEntryPoint{RenderedContent: p.RenderedContent, SDKBlob: p.SDKBlob}
	}
	return meta
}
