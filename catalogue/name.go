package catalogue

import (
	"regexp"
	"strings"
)

var (
	// bedrockVendor matches the beginning of names of Amazon Bedrock: perhaps a region, and the vendor of the model.
	bedrockVendor = regexp.MustCompile(`^(?:(?:us|us-gov|eu|apac|jp|au|ca|sa|global)\.)?(?:ai21|amazon|anthropic|cohere|` +
		`deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|zai)\.`)
	// bedrockVersion matches their end; the second number may be followed by the size of the window.
	bedrockVersion = regexp.MustCompile(`-v\d+:\d+(?::\d+k)?$`)
	// bareVersion ends some of them, and is a part of the name everywhere else.
	bareVersion = regexp.MustCompile(`-v\d+$`)
	// dated is the date of a version, or the mark of the newest one.
	dated = regexp.MustCompile(`-(?:20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])|latest)$`)
)

// Normalize returns the name of a model without what differs between versions and servers of it: the date
// ("gpt-5-2025-08-07", "claude-opus-4-1-20250805", "claude-opus-4-1@20250805", "…-latest"), the region, vendor and
// version of Amazon Bedrock ("us.anthropic.claude-opus-4-1-20250805-v1:0"), and paths ("models/gemini-2.5-pro",
// "openai/gpt-5"), in lower case. A variant such as ":free" stays: it has a price of its own. Normalizing twice is
// normalizing once.
func Normalize(model string) string {
	name, bedrock := strings.ToLower(model), false
	for {
		before := name
		name = strings.TrimSpace(name)
		name = strings.TrimRight(name, "/")
		name = name[strings.LastIndexByte(name, '/')+1:]
		if at := strings.IndexByte(name, '@'); at > 0 {
			name = name[:at]
		}
		if vendor := bedrockVendor.FindString(name); vendor != "" && vendor != name {
			name, bedrock = name[len(vendor):], true
		}
		name = cutEnd(name, bedrockVersion)
		if bedrock {
			name = cutEnd(name, bareVersion)
		}
		name = cutEnd(name, dated)
		if name == before {
			return name
		}
	}
}

// cutEnd removes what matches from the end of a name, unless that is all of it.
func cutEnd(name string, end *regexp.Regexp) string {
	if at := end.FindStringIndex(name); at != nil && at[0] > 0 {
		return name[:at[0]]
	}
	return name
}
