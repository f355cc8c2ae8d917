package catalogue_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
)

var names = map[string]string{
	"gpt-5":                                                 "gpt-5",
	"gpt-5-2025-08-07":                                      "gpt-5",
	"claude-opus-4-1-20250805":                              "claude-opus-4-1",
	"claude-opus-4-1@20250805":                              "claude-opus-4-1",
	"claude-opus-4-1@default":                               "claude-opus-4-1",
	"claude-3-5-haiku-latest":                               "claude-3-5-haiku",
	"anthropic.claude-opus-4-1-20250805-v1:0":               "claude-opus-4-1",
	"us.anthropic.claude-opus-4-1-20250805-v1:0":            "claude-opus-4-1",
	"eu.anthropic.claude-opus-4-6-v1":                       "claude-opus-4-6",
	"us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0:200k": "claude-3-5-sonnet",
	"global.anthropic.claude-opus-5":                        "claude-opus-5",
	"deepseek.v3-v1:0":                                      "v3",
	"arn:aws:bedrock:us-east-1:12:inference-profile/us.anthropic.claude-opus-4-1-20250805-v1:0": "claude-opus-4-1",
	"models/gemini-2.5-pro":                   "gemini-2.5-pro",
	"publishers/google/models/gemini-2.5-pro": "gemini-2.5-pro",
	"openai/gpt-5":                            "gpt-5",
	"moonshotai/Kimi-K2-Instruct-0905":        "kimi-k2-instruct-0905",
	"google/gemma-4-31b-it:free":              "gemma-4-31b-it:free",
	"deepseek-v3":                             "deepseek-v3",
	"moonshot-v1-8k":                          "moonshot-v1-8k",
	"gpt-4.1":                                 "gpt-4.1",
	"gpt-3.5-turbo-20251301":                  "gpt-3.5-turbo-20251301", // no month
	"@cf/meta/llama-3":                        "llama-3",
	"-latest":                                 "-latest",
	"anthropic.":                              "anthropic.",
	" gpt-5 ":                                 "gpt-5",
	"":                                        "",
}

func TestNormalize(t *testing.T) {
	for name, want := range names {
		require.Equal(t, want, catalogue.Normalize(name), name)
	}
}

func TestNormalize_TwiceIsOnce(t *testing.T) {
	for name := range names {
		for _, part := range []string{
			"", "us.anthropic.", "a/", "@x", "-v1", "-v1:0", "-20250101", "-latest", " ", "/", ".",
		} {
			for _, mixed := range []string{name + part, part + name, part + name + part, name + part + name} {
				requireIdempotent(t, mixed)
			}
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for name := range names {
		f.Add(name)
	}
	f.Fuzz(requireIdempotent)
}

func requireIdempotent(t *testing.T, name string) {
	once := catalogue.Normalize(name)
	require.Equal(t, once, catalogue.Normalize(once), name)
	blank := strings.TrimFunc(name, func(r rune) bool { return r == '/' || unicode.IsSpace(r) }) == ""
	require.Equal(t, blank, once == "", name)
}
