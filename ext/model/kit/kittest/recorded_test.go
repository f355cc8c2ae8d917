package kittest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// validatorFor returns the validator of the service that a recording is of.
func validatorFor(t *testing.T, u *url.URL) Validator {
	t.Helper()
	switch host, path := u.Hostname(), u.Path; {
	case strings.HasSuffix(path, "/responses"):
		return Responses()
	case strings.Contains(path, "anthropic") || strings.HasSuffix(host, "anthropic.com"):
		return Anthropic()
	case strings.HasPrefix(host, "generativelanguage"):
		return Gemini(GeminiAPI)
	case strings.HasSuffix(host, "aiplatform.googleapis.com"):
		return Gemini(GeminiVertex)
	default:
		rules := map[string]ChatRules{
			"api.openai.com": ChatOpenAI, "api.groq.com": ChatGroq, "localhost": ChatLlamaCpp, "api.x.ai": ChatXAI,
			"openrouter.ai": ChatOpenRouter,
		}[host]
		if rules.Name == "" {
			t.Fatalf("no rules for %s", u)
		}
		return ChatCompletions(rules)
	}
}

// exceptions are faults of the recorded client that the services let pass; an adapter must avoid them all the same.
var exceptions = []struct{ folder, rule, path, reason string }{
	{"gemini/gemini-2.5", "G15", "", "the client sends the ids that it made up"},
}

func excepted(name string, f Fault) bool {
	for _, e := range exceptions {
		if strings.HasPrefix(name, e.folder) && f.Rule == e.rule && strings.HasPrefix(f.Path, e.path) {
			return true
		}
	}
	return false
}

// TestValidators_AcceptRecordedRequests also has them learn what the recorded service handed out.
func TestValidators_AcceptRecordedRequests(t *testing.T) {
	all := []string{"anthropic", "gemini", "images", "openai-chat", "openai-compatible", "openai-responses", "openrouter"}
	for _, recording := range Cassettes(t, all...) {
		t.Run(recording.Name, func(t *testing.T) {
			var validator Validator
			for n, i := range recording.Load(t).Interactions {
				req, err := i.HTTPRequest()
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Api-Key", "removed from the recordings")
				req.Header.Set("Anthropic-Version", "2023-06-01")
				if validator == nil {
					validator = validatorFor(t, req.URL)
				}
				for _, f := range validator.Validate(req, i.Request.Body) {
					if !excepted(recording.Name, f) {
						t.Errorf("request %d: %s", n, f)
					}
				}
				if o, ok := validator.(Observer); ok {
					o.Observe(i.Response.Body)
				}
			}
		})
	}
}

func TestValidators_ExceptionsAreNeeded(t *testing.T) {
	for _, e := range exceptions {
		found := false
		for _, recording := range Cassettes(t, "gemini") {
			if !strings.HasPrefix(recording.Name, e.folder) {
				continue
			}
			v := Gemini(GeminiAPI)
			for _, i := range recording.Load(t).Interactions {
				req, _ := i.HTTPRequest()
				found = found || slices.ContainsFunc(v.Validate(req, i.Request.Body), func(f Fault) bool {
					return f.Rule == e.rule
				})
				v.Observe(i.Response.Body)
			}
		}
		if !found {
			t.Errorf("exception %q is not needed", e.reason)
		}
	}
}

var _ http.RoundTripper = (*Cassette)(nil)
