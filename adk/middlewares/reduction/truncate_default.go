package reduction

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/weftgo/weft/schema"
)

// truncateDefault cuts the texts of a result that is too long as a whole: each that takes more than its share.
func (m *middleware[M]) truncateDefault(ctx context.Context, detail *ToolDetail) (*TruncResult, error) {
	size, texts := textSize(detail.ToolResult)
	if texts == 0 || size <= m.conf.MaxLengthForTrunc {
		return nil, nil
	}
	path, err := m.conf.GenTruncOffloadFilePath(ctx, detail)
	if err != nil {
		return nil, err
	}
	content, err := offloadContent(detail.ToolResult.Parts)
	if err != nil {
		return nil, err
	}
	share := m.conf.MaxLengthForTrunc / texts
	parts := slices.Clone(detail.ToolResult.Parts)
	for i := range parts {
		if p := &parts[i]; p.Type == schema.ToolPartTypeText && len(p.Text) >= share {
			p.Text = previewed(p.Text, path, m.conf.ReadFileToolName, share/2)
		}
	}
	return &TruncResult{NeedTrunc: true, ToolResult: &schema.ToolResult{Parts: parts},
		NeedOffload: true, OffloadFilePath: path, OffloadContent: content}, nil
}

// textSize is the length of the texts of a result, and how many there are.
func textSize(r *schema.ToolResult) (size, texts int) {
	if r == nil {
		return 0, 0
	}
	for i := range r.Parts {
		if r.Parts[i].Type == schema.ToolPartTypeText {
			size += len(r.Parts[i].Text)
			texts++
		}
	}
	return size, texts
}

// offloadContent returns the content of the file for a result: the text, if that is all, else the parts as JSON.
func offloadContent(parts []schema.ToolOutputPart) (string, error) {
	if len(parts) == 1 && parts[0].Type == schema.ToolPartTypeText {
		return parts[0].Text, nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b) // texts stay readable: no escapes for HTML
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(parts); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
