package kit

import (
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// A Redactor takes secrets out of the texts of errors, wherever a text comes from: servers repeat keys that they do not
// like, and transports print URLs. The zero Redactor knows no secrets. It is immutable.
type Redactor struct {
	// provider is the name that errors begin with.
	provider string
	// secrets, the longest first, as one may be part of another.
	secrets []string
}

const redacted = "[redacted]"

// minSecret is the length below which a credential is taken for a placeholder, such as "none", that may well be part
// of an ordinary word.
const minSecret = 5

// NewRedactor returns a redactor whose errors begin with the name of a provider.
func NewRedactor(provider string, secrets ...string) Redactor {
	return Redactor{provider: provider}.With(secrets...)
}

// With returns a redactor that knows more secrets.
func (r Redactor) With(secrets ...string) Redactor {
	all := slices.Clone(r.secrets)
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			all = append(all, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return Redactor{provider: r.provider, secrets: slices.Compact(all)}
}

// Text returns a text without the secrets, in whatever case the text has them.
func (r Redactor) Text(text string) string {
	for _, secret := range r.secrets {
		text = replaceFold(text, secret)
	}
	return text
}

// replaceFold replaces a secret whatever its case. Secrets are ASCII as a rule; others are found in their own case.
func replaceFold(text, secret string) string {
	text = strings.ReplaceAll(text, secret, redacted)
	lower, lowerSecret := strings.ToLower(text), strings.ToLower(secret)
	if len(lower) != len(text) || len(lowerSecret) != len(secret) || !strings.Contains(lower, lowerSecret) {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(lower, lowerSecret)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		b.WriteString(redacted)
		text, lower = text[i+len(secret):], lower[i+len(secret):]
	}
}

// Excerpt returns a text for people out of a response that was not understood.
func (r Redactor) Excerpt(data []byte) string { return shorten(r.Text(oneLine(data))) }

// Failure returns the error for what went wrong on the way to the server or back: its text, which begins with the
// provider and what was being done, has no secrets; errors.Is and errors.As find the cause.
func (r Redactor) Failure(doing string, err error) error {
	var inner *url.Error
	if errors.As(err, &inner) { // its text has the URL
		err = inner.Err
	}
	return &callError{text: r.Text(r.provider + ": " + doing + ": " + err.Error()), cause: err}
}

// Recover makes a panic an error: one of a user's HTTP client, for example. It must be deferred.
func (r Redactor) Recover(err *error) {
	if v := recover(); v != nil {
		*err = r.panicked(v)
	}
}

// recoverTo is Recover with the secrets that are known when the panic comes.
func recoverTo(r *Redactor, err *error) {
	if v := recover(); v != nil {
		*err = r.panicked(v)
	}
}

func (r Redactor) panicked(v any) error {
	cause, ok := v.(error)
	if !ok {
		cause = fmt.Errorf("%v", v)
	}
	return &callError{text: r.Text(fmt.Sprintf("%s: panic: %v\n%s", r.provider, v, debug.Stack())), cause: cause}
}

// Format implements [fmt.Formatter]: no verb prints the secrets.
func (r Redactor) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "kit.Redactor{%s}", r.provider) }

// A callError has a text without secrets. Its cause, whose text may have some, is hidden from formatting; errors.Is and
// errors.As still see it.
type callError struct {
	text  string
	cause error
}

func (e *callError) Error() string { return e.text }

// GoString keeps %#v from printing the cause.
func (e *callError) GoString() string { return e.text }

func (e *callError) Is(target error) bool { return errors.Is(e.cause, target) }

func (e *callError) As(target any) bool { return errors.As(e.cause, target) }

// Credentials returns the values of headers or query parameters that look like credentials by their names.
func Credentials(values map[string]string) (secrets []string) {
	for name, value := range values {
		name = strings.ToLower(name)
		if !slices.ContainsFunc(credentialNames, func(part string) bool { return strings.Contains(name, part) }) {
			continue
		}
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok { // the scheme of an Authorization header
			secrets = append(secrets, token)
		}
	}
	return secrets
}

var credentialNames = []string{"auth", "key", "token", "secret", "cookie", "password", "credential", "signature"}

// maxExcerpt limits how much of a text from a server goes into an error.
const maxExcerpt = 1000

// oneLine makes a line of text out of anything. It must be redacted before it is shortened.
func oneLine(data []byte) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(data), "\uFFFD")), " ")
}

func shorten(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
}
