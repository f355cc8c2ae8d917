package gemini

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// The services, as model.HasProvider names them.
const (
	SystemGemini = "gcp.gemini"
	SystemVertex = "gcp.vertex_ai"
)

// DefaultBaseURL is the address of requests unless a [Config] says otherwise.
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// A Backend is a service that runs Gemini, with its address and its credentials. Packages gemini/vertex and
// gemini/genaiclient make some; others can be added by implementing it. It must be safe for concurrent use.
type Backend interface {
	// System is [SystemGemini] or [SystemVertex], which differ in what they accept.
	System() string
	// BaseURL is the address with the version of the API, for example "https://aiplatform.googleapis.com/v1beta1". It is
	// used if Config.BaseURL is not set.
	BaseURL() string
	// Parent is the prefix of resources on Vertex, "projects/P/locations/L", and empty elsewhere.
	Parent() string
	// Authorize puts the credentials into an attempt of a request, and returns the secrets among them.
	Authorize(req *http.Request) (secrets []string, err error)
}

// A ClientBackend is a [Backend] with an HTTP client of its own, which is used if Config.HTTPClient is not set.
type ClientBackend interface {
	Backend
	// HTTPClient returns the client; nil for the default one.
	HTTPClient() *http.Client
}

// NewBackend returns the service that an API key opens, with the key of a source if one is given. It is what a [Config]
// with an APIKey uses.
func NewBackend(apiKey string, source func(context.Context) (string, error)) Backend {
	return &backend{system: SystemGemini, base: DefaultBaseURL, authorize: keyOrToken(apiKey, source)}
}

// NewVertexBackend returns Vertex AI in a project and a location ("us-central1", "europe-west4", "global", "us", "eu").
// The source returns bearer tokens. Without a project, an API key opens the express mode.
func NewVertexBackend(
	project, location, apiKey string, source func(context.Context) (string, error),
) Backend {
	b := &backend{system: SystemVertex, base: vertexURL(location), authorize: keyOrToken(apiKey, source)}
	if project != "" {
		b.parent = "projects/" + project + "/locations/" + location
	}
	return b
}

type backend struct {
	system, base, parent string
	authorize            func(*http.Request) ([]string, error)
}

// System implements [Backend].
func (b *backend) System() string { return b.system }

// BaseURL implements [Backend].
func (b *backend) BaseURL() string { return b.base }

// Parent implements [Backend].
func (b *backend) Parent() string { return b.parent }

// Authorize implements [Backend].
func (b *backend) Authorize(req *http.Request) ([]string, error) { return b.authorize(req) }

func keyOrToken(key string, source func(context.Context) (string, error)) func(*http.Request) ([]string, error) {
	if source != nil {
		return kit.Bearer("", source)
	}
	withKey := kit.KeyHeader("x-goog-api-key", "", key, nil)
	return func(req *http.Request) ([]string, error) {
		if req.Header.Get("Authorization") != "" {
			return nil, nil
		}
		return withKey(req)
	}
}

// vertexURL returns the address of a location.
func vertexURL(location string) string {
	host := location + "-aiplatform.googleapis.com"
	switch location {
	case "", "global":
		host = "aiplatform.googleapis.com"
	case "us", "eu":
		host = "aiplatform." + location + ".rep.googleapis.com"
	}
	return "https://" + host + "/v1beta1"
}

// modelName matches the names of models that may stand in a path.
var modelName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._@-]*(/[A-Za-z0-9_][A-Za-z0-9._@-]*)*$`)

// modelPath returns the place of a model below the base URL.
func (e *engine) modelPath(model string) string {
	if !e.vertex() {
		if strings.Contains(model, "/") {
			return model
		}
		return "models/" + model
	}
	publisher, name, ok := strings.Cut(model, "/")
	switch {
	case strings.HasPrefix(model, "projects/"):
		return model
	case strings.HasPrefix(model, "publishers/"), strings.HasPrefix(model, "endpoints/"):
		return e.below(model)
	case publisher == "models":
		publisher = "google"
	case !ok:
		publisher, name = "google", model
	}
	return e.below("publishers/" + publisher + "/models/" + name)
}

// below returns the path of a resource of the project.
func (e *engine) below(path string) string {
	if parent := e.backend.Parent(); parent != "" {
		return parent + "/" + path
	}
	return path
}

func (e *engine) vertex() bool { return e.info.System == SystemVertex }
