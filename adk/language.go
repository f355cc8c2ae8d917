package adk

import "github.com/weftgo/weft/internal/language"

// Language is a language of the built-in prompts.
type Language = language.Language

// The languages of the built-in prompts. English is the default.
const (
	LanguageEnglish = language.English
	LanguageChinese = language.Chinese
)

// SetLanguage chooses the language of the built-in prompts for the whole process. It takes effect on prompts that are
// made afterwards: the instruction of an agent is made once, at its first run, the description of a tool each time it
// is asked for. It is safe for concurrent use.
func SetLanguage(lang Language) error { return language.Set(lang) }
