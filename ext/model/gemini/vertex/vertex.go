// Package vertex runs Gemini on Google Vertex AI, with Google's credentials:
//
//	backend, err := vertex.New(vertex.Config{Project: "my-project", Location: "global", CredentialsJSON: key})
//	…
//	m, err := gemini.NewChatModel(ctx, &gemini.Config{Backend: backend, Model: "gemini-2.5-flash"})
package vertex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
)

// scope is the OAuth scope of tokens.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Config says which project asks, and how to get in. Nothing is read from the environment. Printing it shows no
// secrets.
type Config struct {
	// Project pays for the requests. Required, unless the credentials name one.
	Project string
	// Location is the place where the model runs: "us-central1", …, or "global", "us", "eu". Required.
	Location string
	// CredentialsJSON is the key of a service account or the credentials of a user, as Google gives them out in a file.
	CredentialsJSON []byte
	// Credentials are the credentials that the application has found, for example with google.FindDefaultCredentials.
	Credentials *google.Credentials
	// TokenSource has tokens for the scope cloud-platform.
	TokenSource oauth2.TokenSource
	// HTTPClient fetches the tokens for CredentialsJSON. Default: http.DefaultClient.
	HTTPClient *http.Client
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "vertex.Config{Project:%q, Location:%q}", c.Project, c.Location)
}

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// MarshalJSON implements json.Marshaler, without the secrets.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(c)) }

// New makes the backend. The error lists everything that is wrong; no request is made.
func New(conf Config) (gemini.Backend, error) {
	source, project, err := credentials(&conf)
	if conf.Project == "" {
		conf.Project = project
	}
	if err := errors.Join(
		kit.Check(conf.Location != "", `Location is required: set it to that of the model, such as "global"`), err,
		kit.Check(conf.Project != "" || err != nil, "Project is required, as the credentials name none"),
	); err != nil {
		return nil, fmt.Errorf("vertex: config: %w", err)
	}
	cached := oauth2.ReuseTokenSource(nil, source)
	return gemini.NewVertexBackend(conf.Project, conf.Location, "", func(context.Context) (string, error) {
		token, err := cached.Token()
		if err != nil {
			return "", err
		}
		return token.AccessToken, nil
	}), nil
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
	case ways != 1:
		return nil, "", errors.New("set one of CredentialsJSON, Credentials and TokenSource")
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
