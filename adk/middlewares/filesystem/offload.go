package filesystem

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/toolresult"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/language"
)

const (
	defaultOffloadTokens = 20000
	bytesPerToken        = 4
	sampleLines          = 10
	sampleLineRunes      = 1000
)

const offloadNotice = `Tool result too large, the result of tool call {tool_call_id} was saved in the file {file_path}
Read it with read_file piece by piece: give offset and limit, and only as many lines at once as you need.
These are its first lines, cut where they are long:

{content_sample}`

const offloadNoticeChinese = `工具结果过大，工具调用 {tool_call_id} 的结果已保存到文件 {file_path}
请使用 read_file 分段读取：指定 offset 和 limit，每次只读取需要的行数。
以下是开头若干行，过长的行已截断：

{content_sample}`

// An offloader moves large results of tools into files.
type offloader struct {
	backend  filesystem.Backend
	maxBytes int
	path     func(ctx context.Context, input *compose.ToolInput) (string, error)
}

func newOffloader(c *Config) *offloader {
	o := &offloader{backend: c.Backend, maxBytes: c.LargeToolResultOffloadingTokenLimit * bytesPerToken,
		path: c.LargeToolResultOffloadingPathGen}
	if o.maxBytes <= 0 {
		o.maxBytes = defaultOffloadTokens * bytesPerToken
	}
	if o.path == nil {
		o.path = func(_ context.Context, input *compose.ToolInput) (string, error) {
			return "/large_tool_result/" + input.CallID, nil
		}
	}
	return o
}

func (o *offloader) middleware() compose.ToolMiddleware { return toolresult.Rewrite(o.handle) }

// handle returns what the model gets of a result.
func (o *offloader) handle(ctx context.Context, input *compose.ToolInput, result string) (string, error) {
	if len(result) <= o.maxBytes {
		return result, nil
	}
	path, err := o.path(ctx, input)
	if err != nil {
		return "", err
	}
	if err := o.backend.Write(ctx, &filesystem.WriteRequest{FilePath: path, Content: result}); err != nil {
		return "", err
	}
	return strings.NewReplacer("{tool_call_id}", input.CallID, "{file_path}", path, "{content_sample}", sample(result)).
		Replace(language.Select(offloadNotice, offloadNoticeChinese)), nil
}

// sample is the beginning of a text with numbered lines.
func sample(text string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > sampleLines {
			break
		}
		fmt.Fprintf(&b, "%d: %s\n", n, cutRunes(strings.TrimSuffix(line, "\n"), sampleLineRunes))
	}
	return b.String()
}

// cutRunes is the beginning of a text, with so many runes at most.
func cutRunes(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}
