package secrets

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHide_HidesWhatLooksLikeASecret(t *testing.T) {
	key := strings.Repeat("aB3", 12)
	for text, want := range map[string]string{
		"dial postgres://app:hunter2@db:5432/x: refused":          "dial postgres://app:***@db:5432/x: refused",
		"redis://:hunter2@cache:6379":                             "redis://:***@cache:6379",
		"postgres://app:p@ss@db/x":                                "postgres://app:***@db/x",
		"clone https://" + key + "@git.example.com/a":             "clone https://***@git.example.com/a",
		`Get "https://api.example.com/v1?q=a&token=abc&n=1": EOF`: `Get "https://api.example.com/v1?q=a&token=***&n=1": EOF`,
		"https://maps.example.com/?key=abc#top":                   "https://maps.example.com/?key=***#top",
		"https://b.example.com/o?X-Amz-Signature=ab12&x=1":        "https://b.example.com/o?X-Amz-Signature=***&x=1",
		"401 for Authorization: Bearer " + key:                    "401 for Authorization: ***",
		"map[Authorization:[Bearer " + key + "] Accept:[*/*]]":    "map[Authorization:[***] Accept:[*/*]]",
		`{"authorization": "Basic dXNlcjpwYXNz"}`:                 `{"authorization": "***"}`,
		"X-Api-Key: abc":                                                            "X-Api-Key: ***",
		"sent bearer " + key:                                                        "sent bearer ***",
		"OPENAI_API_KEY=" + key + " is wrong":                                       "OPENAI_API_KEY=*** is wrong",
		`{"client_secret":"abc","n":1}`:                                             `{"client_secret":"***","n":1}`,
		"password: hunter2, user: app":                                              "password: ***, user: app",
		"Incorrect API key provided: sk-proj-" + key + ".":                          "Incorrect API key provided: ***.",
		"sk_live_" + key + " expired":                                               "*** expired",
		"ghp_" + key + ", AKIAABCDEFGHIJKLMNOP":                                     "***, ***",
		"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbg bad":                     "token *** bad",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest": "***\nrest",
	} {
		require.Equal(t, want, Hide(text), text)
		require.Equal(t, want, Hide(Hide(text)), "twice: %s", text)
	}
}

func TestHide_LeavesTheRest(t *testing.T) {
	for _, text := range []string{
		"unexpected token: } at 7", "invalid token: unexpected EOF", "max_tokens=5 is too few", "the secret to speed",
		"open /etc/passwd: permission denied", "bearer authentication is required", "https://example.com/a?q=key&n=1",
		"task-management-system-for-everyone failed", "dial tcp 10.0.0.1:443: connection refused", "no such host: db@home",
		"http://example.com:8080/path@2x.png", "write to a@b.example.com", "the password is wrong", "key=value",
	} {
		require.Equal(t, text, Hide(text))
	}
}

// Whatever a text is, it is not made into something long, or not read in a moment: the patterns do not backtrack.
func FuzzHide(f *testing.F) {
	f.Add("postgres://app:hunter2@db?token=x Authorization: Bearer y")
	f.Fuzz(func(t *testing.T, text string) {
		once := Hide(text)
		if len(once) > len(text)*(1+len(hidden)) {
			t.Fatalf("%q became %q", text, once)
		}
	})
}
