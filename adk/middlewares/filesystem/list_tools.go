package filesystem

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

type lsArguments struct {
	Path string `json:"path"`
}

func lsSlot(c *MiddlewareConfig) slot {
	return slot{
		name:       ToolNameLs,
		desc:       language.Select(ListFilesToolDesc, ListFilesToolDescChinese),
		legacyDesc: c.CustomLsToolDesc,
		config:     c.LsToolConfig,
		params: map[string]*schema.ParameterInfo{
			"path": param(schema.String,
				"Absolute path of the directory to list. Leave it out for the top directory.",
				"要列出的目录的绝对路径。省略则列出顶层目录。"),
		},
		build: invokable(func(ctx context.Context, in lsArguments) (string, error) {
			infos, err := c.Backend.LsInfo(ctx, &filesystem.LsInfoRequest{Path: in.Path})
			if err != nil {
				return "", err
			}
			return listing(infos, c.MarkDirectories), nil
		}, utils.WithIdempotent()),
	}
}

type globArguments struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func globSlot(c *MiddlewareConfig) slot {
	return slot{
		name:       ToolNameGlob,
		desc:       language.Select(GlobToolDesc, GlobToolDescChinese),
		legacyDesc: c.CustomGlobToolDesc,
		config:     c.GlobToolConfig,
		params: map[string]*schema.ParameterInfo{
			"pattern": required(schema.String,
				"Glob pattern that the paths of files must match, such as **/*.go",
				"文件路径要匹配的 glob 模式，例如 **/*.go"),
			"path": param(schema.String,
				`Directory where the search starts. Leave it out to use the default directory; never send "undefined" or "null" instead.`,
				`开始搜索的目录。省略则使用默认目录；不要传入 "undefined" 或 "null"。`),
		},
		build: invokable(func(ctx context.Context, in globArguments) (string, error) {
			infos, err := c.Backend.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: in.Pattern, Path: in.Path})
			if err != nil {
				return "", err
			}
			return listing(infos, false), nil
		}, utils.WithIdempotent()),
	}
}

// listing is one path a line, sorted.
func listing(infos []filesystem.FileInfo, markDirectories bool) string {
	if len(infos) == 0 {
		return nothingFound
	}
	infos = slices.Clone(infos) // they are the backend's
	slices.SortStableFunc(infos, func(a, b filesystem.FileInfo) int { return cmp.Compare(a.Path, b.Path) })
	paths := make([]string, len(infos))
	for i, info := range infos {
		paths[i] = info.Path
		if markDirectories && info.IsDir && !strings.HasSuffix(info.Path, "/") {
			paths[i] += "/"
		}
	}
	return strings.Join(paths, "\n")
}
