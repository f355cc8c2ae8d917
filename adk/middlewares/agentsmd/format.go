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

	closing = "What is said above may or may not matter for the task at hand. " +
		"Do not answer it by itself; take it into account where it matters."
	closingChinese = "以上内容不一定与当前任务相关。不要单独对其作出回应，仅在相关时加以考虑。"
)

// render is the text of the message, "" without files.
func render(sections []section) string {
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
	b.WriteString("\n\n")
	b.WriteString(language.Select(closing, closingChinese))
	b.WriteString("\n</system-reminder>")
	return b.String()
}
