package reduction

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/internal/secrets"
)

const (
	cutNotice = `<persisted-output>
Output too large ({size}). Full output saved to: {path}
Preview (first {preview}):
{first}

Preview (last {preview}):
{last}

Use {tool} to view
</persisted-output>`
	cutNoticeChinese = `<persisted-output>
输出过大（{size}）。完整输出已保存到：{path}
预览（前 {preview}）：
{first}

预览（后 {preview}）：
{last}

使用 {tool} 查看
</persisted-output>`

	streamNotice = `<persisted-output>
Output truncated after {max} bytes were streamed.
{outcome}
</persisted-output>`
	streamNoticeChinese = `<persisted-output>
输出在流式传输 {max} 字节后被截断。
{outcome}
</persisted-output>`
	streamSaved          = "Full output saved to: {path}. Use {tool} to view."
	streamSavedChinese   = "完整输出已保存到：{path}。使用 {tool} 查看。"
	streamUnsaved        = "Failed to save full output: {error}."
	streamUnsavedChinese = "保存完整输出失败：{error}。"

	savedPrefix        = "<persisted-output>Tool result saved to: "
	savedPrefixChinese = "<persisted-output>工具结果已保存到："
	savedSuffix        = "{path}\nUse {tool} to view</persisted-output>"
	savedSuffixChinese = "{path}\n使用 {tool} 查看</persisted-output>"

	cleared        = "[Old tool result content cleared]"
	clearedChinese = "[旧的工具结果内容已清除]"
)

// fill puts values into a text. Values are put in once: what looks like a placeholder in them stays.
func fill(text string, placeholdersAndValues ...string) string {
	return strings.NewReplacer(placeholdersAndValues...).Replace(text)
}

// previewed returns the text that stands for one that was cut.
func previewed(text, path, tool string, preview int) string {
	return fill(language.Select(cutNotice, cutNoticeChinese),
		"{size}", strconv.Itoa(len(text)), "{path}", path, "{preview}", strconv.Itoa(preview),
		"{first}", prefix(text, preview), "{last}", suffix(text, preview), "{tool}", tool)
}

// streamCut returns the text that ends a stream that was cut.
func streamCut(limit int, path, tool string, err error) string {
	outcome := fill(language.Select(streamSaved, streamSavedChinese), "{path}", path, "{tool}", tool)
	if err != nil {
		outcome = fill(language.Select(streamUnsaved, streamUnsavedChinese), "{error}", secrets.Hide(err.Error()))
	}
	return fill(language.Select(streamNotice, streamNoticeChinese), "{max}", strconv.Itoa(limit), "{outcome}", outcome)
}

// saved returns the text that stands for an old one that is in a file.
func saved(path, tool string) string {
	return fill(language.Select(savedPrefix+savedSuffix, savedPrefixChinese+savedSuffixChinese), "{path}", path, "{tool}",
		tool)
}

// isPlaceholder reports whether a text stands for one that was cleared.
func isPlaceholder(text string) bool {
	return text == cleared || text == clearedChinese || strings.HasPrefix(text, savedPrefix) || strings.HasPrefix(text,
		savedPrefixChinese)
}

// prefix is the beginning of a text, so many bytes at most, without half a character.
func prefix(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:max(most, 0)]
}

// suffix is the end of a text, so many bytes at most, without half a character.
func suffix(text string, most int) string {
	if len(text) <= most {
		return text
	}
	from := len(text) - max(most, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// clearedText returns the text that stands for an old one that is gone.
func clearedText() string { return language.Select(cleared, clearedChinese) }
