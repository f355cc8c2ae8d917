// Package secrets hides keys in texts whose readers should not have them: errors of tools, which models and clients read,
// quote the URL or the header that a request was made with.
//
// It knows secrets by their shape, so it finds what people commonly use, and never all. It must leave alone what only looks
// a little like one: an error that a model cannot read any more is of no use.
package secrets

import "regexp"

// hidden stands instead of a secret.
const hidden = "***"

// shape describes a kind of secret, and has the text that replaces it.
type shape struct {
	looks   *regexp.Regexp
	becomes string
}

// named are names of values that are secret, as parts of longer names, too: OPENAI_API_KEY, client_secret.
const named = `(?:[a-z0-9]+[_-])*(?:token|secret|password|passwd|pwd|passphrase|api[_-]?key|access[_-]?key|access[_-]?key[_-]?id|` +
	`secret[_-]?key|private[_-]?key|account[_-]?key|signature|sig|credentials?)`

var shapes = []shape{
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), hidden},
	// The password in a URL, or all that stands before the host of one of the web.
	{regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@"']*):[^\s/"']+@`), "$1:" + hidden + "@"},
	{regexp.MustCompile(`(?i)\b(https?://)[^\s/:@"']+@`), "$1" + hidden + "@"},
	// Headers, as they are sent, and as Go and JSON print them.
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:x-)?(?:[a-z]+-)?api-key|x-auth-token|(?:set-)?cookie)("?\s*[:=]\s*[\["']*)[^\r\n"'\[\]{}]+`),
		"$1$2" + hidden},
	{regexp.MustCompile(`(?i)\b(bearer)\s+[a-z0-9._~+/=-]{16,}`), "$1 " + hidden},
	// Values with the name of a secret: in queries, environments and JSON.
	{regexp.MustCompile(`(?i)([?&](?:key|auth|code)=)[^\s&"'<>#]+`), "$1" + hidden},
	{regexp.MustCompile(`(?i)\b(` + named + `)=(?:"[^"]*"|'[^']*'|[^\s&"'<>#;,)}\]]+)`), "$1=" + hidden},
	{regexp.MustCompile(`(?i)("` + named + `"\s*:\s*")[^"]*"`), "$1" + hidden + `"`},
	{regexp.MustCompile(`(?i)(^|[\s"'{,(])(password|passwd|pwd)(:\s*)[^\s"',;)}\]]+`), "$1$2$3" + hidden},
	// Keys of well-known services, by what they begin with, and signed tokens.
	{regexp.MustCompile(`\b(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|` +
		`glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|whsec_[A-Za-z0-9+/=]{16,}|` +
		`(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,})`), hidden},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), hidden},
}

// Hide returns a text in which *** stands instead of each secret that it knows.
func Hide(text string) string {
	for _, s := range shapes {
		text = s.looks.ReplaceAllString(text, s.becomes)
	}
	return text
}
