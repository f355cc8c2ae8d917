package schema

import "fmt"

// ConcatToolResults joins the chunks of a tool's result into a new one. Nil chunks are ignored.
//
// All parts are listed in order; adjacent text parts become one, and their extras are joined. Parts of any other type
// cannot be streamed: all of one type must be in one chunk.
func ConcatToolResults(chunks []*ToolResult) (*ToolResult, error) {
	var parts textPartJoin[ToolOutputPart]
	chunkOf := map[ToolPartType]int{}
	for i, chunk := range chunks {
		if chunk == nil {
			continue
		}
		for k := range chunk.Parts {
			t := chunk.Parts[k].Type
			if t == ToolPartTypeText {
				continue
			}
			if j, ok := chunkOf[t]; ok && j != i {
				return nil, fmt.Errorf("conflicting %s parts found in chunk %d and chunk %d: "+
					"non-text modality parts cannot appear in multiple chunks", t, j, i)
			}
			chunkOf[t] = i
		}
		parts.add(chunk.Parts)
	}
	joined, err := parts.result()
	if err != nil {
		return nil, fmt.Errorf("failed to merge parts: failed to concat tool output text part extra: %w", err)
	}
	return &ToolResult{Parts: joined}, nil
}
