package filesystem

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/schema"
)

// maxPages is the number of pages of a PDF that the model may ask for at once.
const maxPages = 20

// readMultiModal reads a file that may be an image or PDF.
func readMultiModal(
	ctx context.Context, reader filesystem.MultiModalReader, in *readFileArguments,
) (*schema.ToolResult, error) {
	if fault := checkPages(in.Pages); fault != "" {
		return textResult(fmt.Sprintf("invalid pages parameter %q: %s", in.Pages, fault)), nil
	}
	req := filesystem.MultiModalReadRequest{ReadRequest: in.request(), Pages: in.Pages}
	content, err := reader.MultiModalRead(ctx, &req)
	if err != nil {
		return nil, err
	}
	if content == nil {
		return textResult(numbered(nil, &req.ReadRequest)), nil
	}
	if len(content.Parts) == 0 {
		return textResult(numbered(content.FileContent, &req.ReadRequest)), nil
	}
	result := &schema.ToolResult{Parts: make([]schema.ToolOutputPart, len(content.Parts))}
	for i := range content.Parts {
		if result.Parts[i], err = outputPart(&content.Parts[i]); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

func outputPart(part *filesystem.FileContentPart) (out schema.ToolOutputPart, err error) {
	switch {
	case len(part.Data) == 0:
		return out, fmt.Errorf("FileContentPart.Data is empty for type %s", part.Type)
	case part.MIMEType == "":
		return out, fmt.Errorf("FileContentPart.MIMEType is empty for type %s", part.Type)
	}
	data := base64.StdEncoding.EncodeToString(part.Data)
	media := schema.MessagePartCommon{Base64Data: &data, MIMEType: part.MIMEType}
	switch part.Type {
	case filesystem.FileContentPartTypeImage:
		return schema.ToolOutputPart{Type: schema.ToolPartTypeImage,
			Image: &schema.ToolOutputImage{MessagePartCommon: media}}, nil
	case filesystem.FileContentPartTypePDF:
		return schema.ToolOutputPart{Type: schema.ToolPartTypeFile,
			File: &schema.ToolOutputFile{MessagePartCommon: media}}, nil
	}
	return out, fmt.Errorf("unsupported FileContentPartType: %s", part.Type)
}

var pageRange = regexp.MustCompile(`^([0-9]+)(?:-([0-9]+))?$`)

// checkPages says what is wrong with a range of pages, "" if nothing is.
func checkPages(pages string) (fault string) {
	if pages == "" {
		return ""
	}
	const format = `expected format like "3" or "1-10"`
	numbers := pageRange.FindStringSubmatch(pages)
	if numbers == nil {
		return format
	}
	first, err := strconv.Atoi(numbers[1])
	if err != nil || first < 1 {
		return format
	}
	if numbers[2] == "" {
		return ""
	}
	last, err := strconv.Atoi(numbers[2])
	switch {
	case err != nil || last < 1:
		return format
	case last < first:
		return "end page must be >= start page"
	case last-first >= maxPages:
		return fmt.Sprintf("range exceeds maximum of %d pages per request", maxPages)
	}
	return ""
}
