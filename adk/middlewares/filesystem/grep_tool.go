package filesystem

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// The forms in which grep answers.
const (
	grepContent = "content"
	grepFiles   = "files_with_matches"
	grepCount   = "count"
)

type grepArguments struct {
	Pattern     string `json:"pattern"`
	Path        string `json:"path"`
	Glob        string `json:"glob"`
	FileType    string `json:"type"`
	OutputMode  string `json:"output_mode"`
	Context     *int   `json:"-C"`
	Before      int    `json:"-B"`
	After       int    `json:"-A"`
	LineNumbers *bool  `json:"-n"`
	IgnoreCase  bool   `json:"-i"`
	Multiline   bool   `json:"multiline"`
	HeadLimit   int    `json:"head_limit"`
	Offset      int    `json:"offset"`
}

// request returns the request to the backend. Lines of context are asked for only where they are shown: where matches are
// counted they would count as well.
func (in *grepArguments) request() *filesystem.GrepRequest {
	req := &filesystem.GrepRequest{
		Pattern: in.Pattern, Path: in.Path, Glob: in.Glob, FileType: in.FileType,
		CaseInsensitive: in.IgnoreCase, EnableMultiline: in.Multiline,
	}
	if in.OutputMode != grepContent {
		return req
	}
	req.BeforeLines, req.AfterLines = in.Before, in.After
	if in.Context != nil {
		req.BeforeLines, req.AfterLines = *in.Context, *in.Context
	}
	return req
}

func grepSlot(c *MiddlewareConfig) slot {
	return slot{
		name:       ToolNameGrep,
		desc:       language.Select(GrepToolDesc, GrepToolDescChinese),
		legacyDesc: c.CustomGrepToolDesc,
		config:     c.GrepToolConfig,
		params:     grepParams(),
		build: invokable(func(ctx context.Context, in grepArguments) (string, error) {
			req := in.request()
			matches, err := c.Backend.GrepRaw(ctx, req)
			if err != nil {
				return "", err
			}
			matches = slices.Clone(matches) // they are the backend's
			slices.SortStableFunc(matches, func(a, b filesystem.GrepMatch) int {
				return cmp.Compare(path.Base(a.Path), path.Base(b.Path))
			})
			page := page{offset: max(in.Offset, 0), limit: in.HeadLimit}
			switch in.OutputMode {
			case grepContent:
				line := lineFormat{numbers: in.LineNumbers == nil || *in.LineNumbers}
				if c.MarkContextLines {
					line.isMatch = matcherOf(ctx, req)
				}
				return line.render(matches, page)
			case grepCount:
				return renderCounts(matches, page), nil
			}
			return renderFiles(matches, page), nil
		}, utils.WithIdempotent()),
	}
}

func grepParams() map[string]*schema.ParameterInfo {
	mode := param(schema.String,
		`Form of the answer: "content" shows matching lines, "files_with_matches" only the paths of files, "count" the number of matches in each file. Default "files_with_matches".`,
		`结果形式："content" 显示匹配的行，"files_with_matches" 只列出文件路径，"count" 显示每个文件的匹配数。默认 "files_with_matches"。`)
	mode.Enum = []string{grepContent, grepFiles, grepCount}
	return map[string]*schema.ParameterInfo{
		"pattern": required(schema.String,
			"Regular expression to search for in the content of files.",
			"要在文件内容中搜索的正则表达式。"),
		"path": param(schema.String,
			"File or directory to search. Leave it out to search the default directory.",
			"要搜索的文件或目录。省略则搜索默认目录。"),
		"glob": param(schema.String,
			"Search only files that match this glob pattern, such as *.js or **/*.{ts,tsx}",
			"只搜索匹配此 glob 模式的文件，例如 *.js 或 **/*.{ts,tsx}"),
		"type": param(schema.String,
			"Search only files of this type, such as go, py, js or rust. Better than glob for the usual languages.",
			"只搜索此类型的文件，例如 go、py、js、rust。对常见语言优于 glob。"),
		"output_mode": mode,
		"-C": param(schema.Integer,
			`Lines to show before and after each match, instead of -B and -A. Only in output mode "content".`,
			`每个匹配前后各显示的行数，取代 -B 和 -A。仅在 output_mode 为 "content" 时有效。`),
		"-B": param(schema.Integer,
			`Lines to show before each match. Only in output mode "content".`,
			`每个匹配之前显示的行数。仅在 output_mode 为 "content" 时有效。`),
		"-A": param(schema.Integer,
			`Lines to show after each match. Only in output mode "content".`,
			`每个匹配之后显示的行数。仅在 output_mode 为 "content" 时有效。`),
		"-n": param(schema.Boolean,
			`Show line numbers (default true). Only in output mode "content".`,
			`显示行号（默认 true）。仅在 output_mode 为 "content" 时有效。`),
		"-i": param(schema.Boolean,
			"Ignore case (default false).",
			"忽略大小写（默认 false）。"),
		"multiline": param(schema.Boolean,
			"Let matches span lines, and . match line ends (default false).",
			"允许匹配跨行，且 . 可匹配换行（默认 false）。"),
		"head_limit": param(schema.Integer,
			"Show only so many entries: lines, files or counts, depending on the output mode (default 0: all of them).",
			"只显示前若干条结果（行、文件或计数，取决于 output_mode；默认 0 表示全部）。"),
		"offset": param(schema.Integer,
			"Leave out so many entries at the start; head_limit counts from there (default 0).",
			"跳过开头的若干条结果，head_limit 从其后计数（默认 0）。"),
	}
}
