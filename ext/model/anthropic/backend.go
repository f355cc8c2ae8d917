package anthropic

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// A Backend is a service that runs Claude behind an address, a form of requests and credentials of its own. Packages
// anthropic/bedrock and anthropic/vertex have two; others can be added by implementing it. It must be safe for
// concurrent use.
type Backend interface {
	// System is the name of the service for traces and prices, as model.HasProvider returns it: "aws.bedrock", …
	System() string
	// BaseURL is the address of requests if Config.BaseURL is not set.
	BaseURL() string
	// Omits lists the fields that the service does not take: names of fields of the request, and "tools.name" for
	// fields of tools. They are left out, or are an error if the application set them.
	Omits() []string
	// Prepare gives a request the form that the service wants. An error that wraps errors.ErrUnsupported says that the
	// service has no such request.
	Prepare(r *BackendRequest) error
	// Authorize puts the credentials into an attempt of a request, and returns the secrets among them. The body can be
	// read with Request.GetBody.
	Authorize(req *http.Request) (secrets []string, err error)
	// Events returns the server-sent events in the body of a streamed response.
	Events(body io.Reader) io.Reader
}

// BackendRequest is a request that a [Backend] prepares. The fields begin with what Anthropic's own server wants.
type BackendRequest struct {
	// Model is the name of the model, which is in the Body, too.
	Model string
	// Stream says that the answer is to come as a stream, Count that only the tokens of the prompt are to be counted.
	Stream, Count bool
	// Path is appended to the base URL.
	Path string
	// Headers of the request: anthropic-version, and anthropic-beta if there are any.
	Headers map[string]string
	// Betas are the names in anthropic-beta.
	Betas []string
	// Body is the body of the request.
	Body kit.Object
}

const (
	versionHeader = "anthropic-version"
	version       = "2023-06-01"
	betaHeader    = "anthropic-beta"
)

// newBackendRequest returns the request as Anthropic's own server wants it.
func newBackendRequest(model string, betas []string, body kit.Object, stream, count bool) *BackendRequest {
	r := &BackendRequest{
		Model: model, Stream: stream, Count: count, Path: "v1/messages", Betas: betas, Body: body,
		Headers: map[string]string{versionHeader: version},
	}
	if count {
		r.Path += "/count_tokens"
	}
	if len(betas) > 0 {
		r.Headers[betaHeader] = strings.Join(betas, ",")
	}
	return r
}

// direct is Anthropic's own service, and servers that speak the same.
type direct struct {
	key, token string
	source     func(context.Context) (string, error)
}

// System implements [Backend].
func (d *direct) System() string { return provider }

// BaseURL implements [Backend].
func (d *direct) BaseURL() string { return DefaultBaseURL }

// Omits implements [Backend].
func (d *direct) Omits() []string { return nil }

// Prepare implements [Backend].
func (d *direct) Prepare(*BackendRequest) error { return nil }

// Events implements [Backend].
func (d *direct) Events(body io.Reader) io.Reader { return body }

// Authorize implements [Backend].
func (d *direct) Authorize(req *http.Request) ([]string, error) {
	if d.key != "" {
		return kit.KeyHeader("x-api-key", "", d.key, nil)(req)
	}
	return kit.Bearer(d.token, d.source)(req)
}
