package anthropic

import (
	"strconv"
	"strings"
)

// A generation is the version of a Claude: {3, 5}, {4, 0}, … It is zero for models that are none, and {999, 0} for a
// Claude whose name says no version.
type generation struct{ major, minor int }

// generationOf reads the version in the name of a model, whatever a service puts around it: claude-3-5-haiku-latest,
// us.anthropic.claude-haiku-4-5-20251001-v1:0, claude-opus-4@20250514.
func generationOf(model string) generation {
	_, name, found := strings.Cut(strings.ToLower(model), "claude")
	if !found {
		return generation{}
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-@:._", r) })
	for i, word := range words {
		if word == "instant" {
			return generation{1, 0}
		}
		major, ok := smallNumber(word)
		if !ok {
			continue
		}
		g := generation{major: major}
		if i+1 < len(words) {
			if minor, ok := smallNumber(words[i+1]); ok {
				g.minor = minor
			}
		}
		return g
	}
	return generation{major: 999}
}

// smallNumber reads a number that is no date.
func smallNumber(word string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "v"))
	return n, err == nil && n < 100
}

func (g generation) isClaude() bool { return g.major > 0 }

func (g generation) atLeast(major, minor int) bool {
	return g.major > major || g.major == major && g.minor >= minor
}

const (
	maxTokens4     = 32_000
	maxTokens35    = 8192
	maxTokensOlder = 4096
	// maxTokensWhole is the number of tokens that fit in ten minutes, which is how long a connection without a byte lasts.
	maxTokensWhole = 21_333
	// maxTokensWholeOpus is the same for the slower Opus 4 and 4.1.
	maxTokensWholeOpus = 8192
)

// defaultMaxTokens is the default of Config.MaxTokens.
func defaultMaxTokens(model string) int {
	g := generationOf(model)
	switch {
	case g.atLeast(4, 0):
		return maxTokens4
	case g.atLeast(3, 5), !g.isClaude():
		return maxTokens35
	}
	return maxTokensOlder
}

// mustStream reports whether an answer may take longer than a connection without a byte lasts.
func mustStream(model string, maxTokens int) bool {
	g := generationOf(model)
	if strings.Contains(model, "opus") && g.major == 4 && g.minor <= 1 {
		return maxTokens > maxTokensWholeOpus
	}
	return maxTokens > maxTokensWhole
}

// hasStructuredOutput reports whether a model takes output_config.format. The others answer by calling a tool.
func hasStructuredOutput(model string) bool {
	g := generationOf(model)
	return g.atLeast(4, 5) || g == generation{4, 1} && strings.Contains(model, "opus")
}

// takesOneSampling reports whether a model refuses temperature and top_p together.
func takesOneSampling(model string) bool { return generationOf(model).atLeast(4, 1) }

// signs reports whether the thinking of a server's models is signed, and refused without the signature. Compatible
// servers do not sign, and want thinking back all the same.
func signs(host, system string) bool {
	return system != provider || host == anthropicHost ||
		strings.HasSuffix(host, "."+anthropicHost)
}

const anthropicHost = "api.anthropic.com"
