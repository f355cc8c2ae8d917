package agentsmd

import (
	"fmt"
	"strings"

	"github.com/weftgo/weft/internal/language"
)

const (
	opening = "The following instructions come from files of the code base and of the user. " +
		"Where they differ from how you would act by default they take precedence: follow them exactly as they are written."
	openingChinese = "以下说明来自代码库和用户的文件。如果它们与你的默认行为不同，以这些说明为准：必须严格按照原文执行。"

	header        = "Contents of %s:"
	headerChinese = "%s 的内容："

	notice        = "\n\n[The file is too large: %d of its %d bytes are shown.]"
	noticeChinese = "\n\n[文件过大：此处仅显示 %d 字节，共 %d 字节。]"

	left        = "\n\n[%d more file(s) are not shown, as all of them together are too large: %s]"
	leftChinese = "\n\n[因总大小超出限制，另有 %d 个文件未显示：%s]"

	closing = "What is said above may or may not matter for the task at hand. " +
		"Do not answer it by itself; take it into account where it matters."
	closingChinese = "以上内容不一定与当前任务相关。不要单独对其作出回应，仅在相关时加以考虑。"
)

// cutNotice says that not all of a file is shown.
func cutNotice(shown, all int) string {
	return fmt.Sprintf(language.Select(notice, noticeChinese), shown, all)
}

// render is the text of the message, "" without files. omitted are files that had no room.
func render(sections []section, omitted ...string) string {
	if len(sections) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<system-reminder>\n")
	b.WriteString(language.Select(opening, openingChinese))
	for _, s := range sections {
		b.WriteString("\n\n")
		fmt.Fprintf(&b, language.Select(header, headerChinese), s.path)
		b.WriteString("\n\n")
		b.WriteString(s.content)
	}
	if len(omitted) > 0 {
		fmt.Fprintf(&b, language.Select(left, leftChinese), len(omitted), strings.Join(omitted, ", "))
	}
	b.WriteString("\n\n")
	b.WriteString(language.Select(closing, closingChinese))
	b.WriteString("\n</system-reminder>")
	return b.String()
}
