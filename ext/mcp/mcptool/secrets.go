package mcptool

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// shortestSecret is the least length in bytes of a text that is hidden: shorter ones are in many texts by chance.
const shortestSecret = 8

// secretsIn returns the texts in the headers and the address of a request that no one else may read.
func secretsIn(own http.Header, r *http.Request) (secrets []string) {
	for _, values := range own {
		secrets = append(secrets, values...)
	}
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
		secrets = append(secrets, r.Header[name]...)
	}
	for _, s := range secrets { // the scheme of a token is none
		if _, token, ok := strings.Cut(s, " "); ok {
			secrets = append(secrets, token)
		}
	}
	return append(secrets, secretsOf(r.URL)...)
}

// secretsOf returns the secrets in an address: keys are often in its query.
func secretsOf(u *url.URL) (secrets []string) {
	if u == nil {
		return nil
	}
	if password, has := u.User.Password(); has {
		secrets = append(secrets, password)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			secrets = append(secrets, v, url.QueryEscape(v))
		}
	}
	return secrets
}

// hiding is an error without the secrets that are in its text: servers repeat what they do not accept, and package http
// writes addresses. What it hides is not unwrapped either, but Is and As find what they look for.
type hiding struct {
	text string
	of   error
}

func (h *hiding) Error() string        { return h.text }
func (h *hiding) Is(target error) bool { return errors.Is(h.of, target) }
func (h *hiding) As(target any) bool   { return errors.As(h.of, target) }

// hide returns an error without secrets.
func hide(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < shortestSecret })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be in another
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "[hidden]")
	}
	if text == err.Error() {
		return err
	}
	return &hiding{text, err}
}
