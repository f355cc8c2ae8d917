package filesystem

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// defaultReadLines is the number of lines that read_file returns if the model does not say.
const defaultReadLines = 2000

type readFileArguments struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
	// Pages counts in multi-modal reads only.
	Pages string `json:"pages"`
}

// request returns the request to the backend.
func (in *readFileArguments) request() filesystem.ReadRequest {
	req := filesystem.ReadRequest{FilePath: in.FilePath, Offset: max(in.Offset, 1), Limit: in.Limit}
	if req.Limit <= 0 {
		req.Limit = defaultReadLines
	}
	return req
}

func readFileSlot(c *MiddlewareConfig) (slot, error) {
	s := slot{
		name:       ToolNameReadFile,
		desc:       language.Select(ReadFileToolDesc, ReadFileToolDescChinese),
		legacyDesc: c.CustomReadFileToolDesc,
		config:     c.ReadFileToolConfig,
		params: map[string]*schema.ParameterInfo{
			"file_path": required(schema.String,
				"Absolute path of the file to read.",
				"要读取的文件的绝对路径。"),
			"offset": param(schema.Integer,
				"Number of the first line to read, counted from 1 (default 1). Give it for files that are too large to read at once.",
				"要读取的第一行的行号，从 1 开始（默认 1）。文件过大、无法一次读完时使用。"),
			"limit": param(schema.Integer,
				"Greatest number of lines to read (default 2000).",
				"最多读取的行数（默认 2000）。"),
		},
		build: invokable(func(ctx context.Context, in readFileArguments) (string, error) {
			req := in.request()
			content, err := c.Backend.Read(ctx, &req)
			if err != nil {
				return "", err
			}
			return numbered(content, &req), nil
		}, utils.WithIdempotent()),
	}
	if !c.UseMultiModalRead || c.Backend == nil {
		return s, nil
	}
	reader, ok := c.Backend.(filesystem.MultiModalReader)
	if !ok {
		return s, fmt.Errorf("UseMultiModalRead needs a backend that implements MultiModalReader, and %T does not", c.Backend)
	}
	s.desc += language.Select(EnhancedReadFileDescSuffix, EnhancedReadFileDescSuffixChinese)
	s.params["pages"] = param(schema.String,
		`Pages of a PDF to read, as one page ("3") or a range ("1-10"), at most 20 at once. It counts for PDFs only.`,
		`要读取的 PDF 页码：单页（"3"）或范围（"1-10"），一次最多 20 页。仅对 PDF 有效。`)
	s.build = func(info *schema.ToolInfo) tool.BaseTool {
		return utils.NewEnhancedTool(info, func(ctx context.Context, in readFileArguments) (*schema.ToolResult, error) {
			return readMultiModal(ctx, reader, &in)
		}, utils.WithIdempotent())
	}
	return s, nil
}

// What the model reads instead of lines that are not there.
const (
	nothingRead        = "There is nothing to read: %s is empty, or ends before line %d."
	nothingReadChinese = "没有可读取的内容：%s 为空，或不足 %d 行。"
)

// numbered is the content of a file in the format of cat -n.
func numbered(content *filesystem.FileContent, req *filesystem.ReadRequest) string {
	if content == nil {
		return "No content found at path: " + req.FilePath
	}
	if content.Content == "" {
		return fmt.Sprintf(language.Select(nothingRead, nothingReadChinese), req.FilePath, req.Offset)
	}
	var b strings.Builder
	b.Grow(len(content.Content) + 8*strings.Count(content.Content, "\n") + 8)
	n := req.Offset
	for line := range strings.SplitSeq(content.Content, "\n") {
		if n > req.Offset {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%6d\t", n)
		b.WriteString(line)
		n++
	}
	return b.String()
}
