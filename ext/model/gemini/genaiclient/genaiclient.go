// Package genaiclient runs Gemini with the address and the credentials of a *genai.Client, for applications that have
// one:
//
//	m, err := gemini.NewChatModel(ctx, &gemini.Config{Backend: genaiclient.Backend(client), Model: "gemini-2.5-flash"})
//
// Of the client it uses the key or the credentials, project and location, the HTTP client, and of its HTTPOptions the
// address, the version and the headers. The client itself sends nothing: retries, deadlines and additions to requests are
// settings of gemini.Config.
package genaiclient

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
)

// Backend returns the service that a client was made for. A nil client returns nil.
func Backend(client *genai.Client) gemini.Backend {
	if client == nil {
		return nil
	}
	conf := client.ClientConfig()
	b := &backend{conf: conf}
	var source func(context.Context) (string, error)
	if credentials := conf.Credentials; credentials != nil {
		source = func(ctx context.Context) (string, error) {
			token, err := credentials.Token(ctx)
			if err != nil {
				return "", err
			}
			return token.Value, nil
		}
	}
	if conf.Backend == genai.BackendVertexAI || conf.Backend == genai.BackendEnterprise {
		b.Backend = gemini.NewVertexBackend(conf.Project, conf.Location, conf.APIKey, source)
	} else {
		b.Backend = gemini.NewBackend(conf.APIKey, source)
	}
	return b
}

type backend struct {
	gemini.Backend
	conf genai.ClientConfig
}

var _ gemini.ClientBackend = (*backend)(nil)

// BaseURL returns the address that the client was given, with its version.
func (b *backend) BaseURL() string {
	base, version := b.conf.HTTPOptions.BaseURL, b.conf.HTTPOptions.APIVersion
	if base == "" || version == "" {
		return b.Backend.BaseURL()
	}
	return strings.TrimSuffix(base, "/") + "/" + version
}

// HTTPClient returns the HTTP client of the genai.Client, which authenticates on Vertex if the application has made it.
func (b *backend) HTTPClient() *http.Client { return b.conf.HTTPClient }

// Authorize also sets the headers of the client. Headers of the request replace them.
func (b *backend) Authorize(req *http.Request) ([]string, error) {
	secrets := map[string]string{}
	for name, values := range b.conf.HTTPOptions.Headers {
		if len(values) == 0 || strings.EqualFold(name, "User-Agent") || strings.EqualFold(name, "Content-Type") {
			continue
		}
		secrets[name] = values[0]
		if req.Header.Get(name) == "" {
			req.Header.Set(name, values[0])
		}
	}
	more, err := b.Backend.Authorize(req)
	return append(kit.Credentials(secrets), more...), err
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (b *backend) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "genaiclient.Backend{%s}", b.System()) }
