package filesystem

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

type writeFileArguments struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

func writeFileSlot(c *MiddlewareConfig) slot {
	return slot{
		name:       ToolNameWriteFile,
		desc:       language.Select(WriteFileToolDesc, WriteFileToolDescChinese),
		legacyDesc: c.CustomWriteFileToolDesc,
		config:     c.WriteFileToolConfig,
		params: map[string]*schema.ParameterInfo{
			"file_path": required(schema.String,
				"Absolute path of the file to create or replace.",
				"要创建或覆盖的文件的绝对路径。"),
			"content": required(schema.String,
				"The whole new content of the file.",
				"文件的完整新内容。"),
		},
		build: invokable(func(ctx context.Context, in writeFileArguments) (string, error) {
			if err := c.Backend.Write(ctx, &filesystem.WriteRequest{FilePath: in.FilePath, Content: in.Content}); err != nil {
				return "", err
			}
			return "Updated file " + in.FilePath, nil
		}),
	}
}

type editFileArguments struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

func editFileSlot(c *MiddlewareConfig) slot {
	return slot{
		name:       ToolNameEditFile,
		desc:       language.Select(EditFileToolDesc, EditFileToolDescChinese),
		legacyDesc: c.CustomEditToolDesc,
		config:     c.EditFileToolConfig,
		params: map[string]*schema.ParameterInfo{
			"file_path": required(schema.String,
				"Absolute path of the file to change.",
				"要修改的文件的绝对路径。"),
			"old_string": required(schema.String,
				"The text to replace, exactly as it stands in the file, without line numbers.",
				"要替换的文本，须与文件内容完全一致，不含行号。"),
			"new_string": required(schema.String,
				"The text that takes its place. It must differ from old_string.",
				"替换后的文本，须与 old_string 不同。"),
			"replace_all": param(schema.Boolean,
				"Replace every occurrence of old_string (default false: there must be exactly one).",
				"替换 old_string 的所有出现（默认 false：必须恰好出现一次）。"),
		},
		build: invokable(func(ctx context.Context, in editFileArguments) (string, error) {
			err := c.Backend.Edit(ctx, &filesystem.EditRequest{
				FilePath: in.FilePath, OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Successfully replaced the string in '%s'", in.FilePath), nil
		}),
	}
}
