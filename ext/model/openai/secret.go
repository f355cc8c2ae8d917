package openai

import (
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// A redactor knows the secrets that must not appear in the text of an error, wherever the text comes from: servers
// repeat keys that they do not like, and transports print URLs.
type redactor []string

const redacted = "[redacted]"

// minSecret is the length below which a credential is taken for a placeholder, such as "none", that may well be part
// of an ordinary word.
const minSecret = 5

func newRedactor(c *Config) redactor {
	r := redactor{}.with([]string{c.APIKey}).with(credentials(c.Headers)).with(credentials(c.QueryParams))
	if u, err := url.Parse(c.baseURL()); err == nil && u.User != nil {
		password, _ := u.User.Password()
		r = r.with([]string{password})
	}
	return r
}

// with returns a redactor that knows more secrets. The longest come first, as one may be part of another.
func (r redactor) with(secrets []string) redactor {
	all := slices.Clone(r)
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			all = append(all, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

func (r redactor) text(text string) string {
	for _, secret := range r {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// credentials returns the values of headers or query parameters that look like credentials by their names.
func credentials(values map[string]string) (secrets []string) {
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

// failure is the error for what went wrong on the way to the server or back.
func (r redactor) failure(doing string, err error) error {
	var inner *url.Error
	if errors.As(err, &inner) { // its text has the URL
		err = inner.Err
	}
	return &callError{text: r.text("openai: " + doing + ": " + err.Error()), cause: err}
}

// recoverTo makes a panic, of a user's HTTP client for example, an error. It must be deferred.
func (r redactor) recoverTo(err *error) {
	v := recover()
	if v == nil {
		return
	}
	cause, ok := v.(error)
	if !ok {
		cause = fmt.Errorf("%v", v)
	}
	*err = &callError{text: r.text(fmt.Sprintf("openai: panic: %v\n%s", v, debug.Stack())), cause: cause}
}

// A callError has a text without secrets. Its cause, which may have one with secrets, can be asked for by errors.Is and
// errors.As, but is in no chain that somebody prints.
type callError struct {
	text  string
	cause error
}

func (e *callError) Error() string { return e.text }

// GoString keeps %#v from printing the cause.
func (e *callError) GoString() string { return e.text }

func (e *callError) Is(target error) bool { return errors.Is(e.cause, target) }

func (e *callError) As(target any) bool { return errors.As(e.cause, target) }

// excerpt is a text for people out of a response that was not understood.
func (r redactor) excerpt(data []byte) string { return shorten(r.text(excerpt(data))) }
