// Package vertex runs Claude on Google Vertex AI:
//
//	backend, err := vertex.New(vertex.Config{ProjectID: "my-project", Region: "global", CredentialsJSON: key})
//	…
//	m, err := anthropic.NewChatModel(ctx, &anthropic.Config{Backend: backend, Model: "claude-sonnet-4-5@20250929"})
package vertex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit"
)

// scope is the OAuth scope of tokens.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Config says which project asks, and how to get in. Nothing is read from the environment. Printing it shows no
// secrets.
type Config struct {
	// ProjectID pays for the requests. Required, unless the credentials name one.
	ProjectID string
	// Region is the place where the model runs: "us-east5", …, or "global", "us", "eu". Required.
	Region string
	// CredentialsJSON is the key of a service account or the credentials of a user, as Google gives them out in a file.
	CredentialsJSON []byte
	// Credentials are the credentials that the application has found, for example with google.FindDefaultCredentials.
	Credentials *google.Credentials
	// TokenSource has tokens for the scope cloud-platform.
	TokenSource oauth2.TokenSource
	// HTTPClient fetches the tokens for CredentialsJSON. Default: http.DefaultClient.
	HTTPClient *http.Client
	// BaseURL is another endpoint, such as one in a private network.
	BaseURL string
	// Omits lists the fields that Vertex does not take: fields of the request, and "tools.name" for fields of tools.
	// Default [DefaultOmits].
	Omits []string
}

// DefaultOmits returns the fields that Vertex refuses for all models.
func DefaultOmits() []string {
	return []string{"cache_control", "container", "diagnostics", "inference_geo", "service_tier", "speed"}
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "vertex.Config{ProjectID:%q, Region:%q}", c.ProjectID, c.Region)
}

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// A Backend is Vertex AI. It is safe for concurrent use. Printing it shows no secrets.
type Backend struct {
	conf   Config
	tokens oauth2.TokenSource
}

var _ anthropic.Backend = (*Backend)(nil)

// New makes the backend. The error lists everything that is wrong; no request is made.
func New(conf Config) (*Backend, error) {
	tokens, project, err := credentials(&conf)
	if conf.ProjectID == "" {
		conf.ProjectID = project
	}
	errs := []error{
		kit.Check(conf.Region != "", `Region is required: set it to that of the model, such as "global"`),
		err,
		kit.Check(conf.ProjectID != "" || err != nil, "ProjectID is required, as the credentials name none"),
	}
	if conf.BaseURL != "" {
		errs = append(errs, kit.ValidateURL("BaseURL", conf.BaseURL))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("vertex: config: %w", err)
	}
	if conf.Omits == nil {
		conf.Omits = DefaultOmits()
	}
	conf.Omits = slices.Clone(conf.Omits)
	return &Backend{conf: conf, tokens: oauth2.ReuseTokenSource(nil, tokens)}, nil
}

// credentials returns the source of tokens, and the project that the credentials name.
func credentials(conf *Config) (tokens oauth2.TokenSource, project string, err error) {
	ways := 0
	for _, set := range []bool{len(conf.CredentialsJSON) > 0, conf.Credentials != nil, conf.TokenSource != nil} {
		if set {
			ways++
		}
	}
	switch {
	case ways == 0:
		return nil, "", errors.New("credentials are required: set CredentialsJSON, Credentials or TokenSource")
	case ways > 1:
		return nil, "", errors.New("set only one of CredentialsJSON, Credentials and TokenSource")
	case conf.TokenSource != nil:
		return conf.TokenSource, "", nil
	case conf.Credentials != nil:
		return conf.Credentials.TokenSource, conf.Credentials.ProjectID, nil
	}
	return fromJSON(conf)
}

// fromJSON reads credentials of the kinds that hold a key of their own. Others name commands, files and addresses to
// ask, which is for the application to decide: see Config.Credentials.
func fromJSON(conf *Config) (oauth2.TokenSource, string, error) {
	var head struct{ Type string }
	if json.Unmarshal(conf.CredentialsJSON, &head) != nil {
		return nil, "", errors.New("CredentialsJSON is no JSON")
	}
	kind := google.CredentialsType(head.Type)
	if kind != google.ServiceAccount && kind != google.AuthorizedUser {
		return nil, "", fmt.Errorf("CredentialsJSON is of type %q: use a service account or a user's, or Credentials",
			head.Type)
	}
	ctx := context.Background() // the context of requests for tokens, which serve all calls
	if conf.HTTPClient != nil {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, conf.HTTPClient)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, conf.CredentialsJSON, kind, scope)
	if err != nil {
		return nil, "", errors.New("CredentialsJSON has no key that can be read") // the cause may quote it
	}
	return found.TokenSource, found.ProjectID, nil
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (b Backend) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "vertex.Backend{%s}", b.conf.Region) }

// LogValue implements [slog.LogValuer].
func (b Backend) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(b)) }

// System returns "gcp.vertex_ai".
func (b *Backend) System() string { return "gcp.vertex_ai" }

// BaseURL implements anthropic.Backend.
func (b *Backend) BaseURL() string {
	switch region := b.conf.Region; {
	case b.conf.BaseURL != "":
		return b.conf.BaseURL
	case region == "global":
		return "https://aiplatform.googleapis.com"
	case region == "us", region == "eu":
		return fmt.Sprintf("https://aiplatform.%s.rep.googleapis.com", region)
	default:
		return fmt.Sprintf("https://%s-aiplatform.googleapis.com", region)
	}
}

// Omits implements anthropic.Backend.
func (b *Backend) Omits() []string { return b.conf.Omits }

// Prepare implements anthropic.Backend: the model is in the path, the version in the body.
func (b *Backend) Prepare(r *anthropic.BackendRequest) error {
	method := ":rawPredict"
	name := url.PathEscape(r.Model)
	switch {
	case r.Count:
		name = "count-tokens"
	case r.Stream:
		method = ":streamRawPredict"
	}
	r.Path = strings.Join([]string{
		"v1/projects", url.PathEscape(b.conf.ProjectID), "locations", url.PathEscape(b.conf.Region),
		"publishers/anthropic/models", name + method,
	}, "/")
	if !r.Count {
		r.Body.Set("model", nil)
	}
	r.Body.Set("anthropic_version", "vertex-2023-10-16")
	delete(r.Headers, "anthropic-version")
	return nil
}

// Authorize implements anthropic.Backend.
func (b *Backend) Authorize(req *http.Request) ([]string, error) {
	return kit.Bearer("", func(context.Context) (string, error) {
		token, err := b.tokens.Token()
		if err != nil {
			return "", err
		}
		return token.AccessToken, nil
	})(req)
}

// Events implements anthropic.Backend.
func (b *Backend) Events(body io.Reader) io.Reader { return body }
