// Package bedrock runs Claude on Amazon Bedrock:
//
//	backend, err := bedrock.New(bedrock.Config{Region: "us-east-1", AccessKey: id, SecretAccessKey: secret})
//	…
//	m, err := anthropic.NewChatModel(ctx, &anthropic.Config{
//		Backend: backend, Model: "us.anthropic.claude-haiku-4-5-20251001-v1:0",
//	})
//
// The name of the model is the ID of a model or of an inference profile, or an ARN, and is sent as it is.
package bedrock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit"
)

// Config says where Bedrock is and how to get in. Nothing is read from the environment or from files. Printing it shows
// no secrets.
type Config struct {
	// Region is the region of the endpoint, such as "us-east-1". Required.
	Region string
	// AccessKey and SecretAccessKey sign the requests, with a SessionToken if they are temporary.
	AccessKey, SecretAccessKey, SessionToken string
	// Credentials are asked for the keys instead. For a profile, a role or the metadata of a machine load them with
	// github.com/aws/aws-sdk-go-v2/config. They are asked again when they expire.
	Credentials aws.CredentialsProvider
	// BearerToken is an API key of Bedrock, instead of keys that sign.
	BearerToken string
	// BaseURL is another endpoint, such as one in a private network.
	BaseURL string
	// Omits lists the fields that Bedrock does not take: fields of the request, and "tools.name" for fields of tools.
	// Default [DefaultOmits].
	Omits []string
}

// DefaultOmits returns the fields that Bedrock refuses for all models.
func DefaultOmits() []string {
	return []string{
		"cache_control", "container", "diagnostics", "inference_geo", "service_tier", "speed",
		"tools.defer_loading", "tools.eager_input_streaming",
	}
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "bedrock.Config{Region:%q}", c.Region) }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

func (c *Config) validate() error {
	ways := 0
	for _, set := range []bool{
		c.AccessKey != "" || c.SecretAccessKey != "" || c.SessionToken != "", c.Credentials != nil, c.BearerToken != "",
	} {
		if set {
			ways++
		}
	}
	errs := []error{
		kit.Check(c.Region != "", "Region is required: set it to that of the endpoint"),
		kit.Check(ways != 0, "credentials are required: set AccessKey and SecretAccessKey, or Credentials, or BearerToken"),
		kit.Check(ways <= 1, "set only one of AccessKey, Credentials and BearerToken"),
		kit.Check((c.AccessKey == "") == (c.SecretAccessKey == ""), "AccessKey and SecretAccessKey belong together"),
		kit.Check(c.SessionToken == "" || c.AccessKey != "", "SessionToken needs AccessKey and SecretAccessKey"),
	}
	if c.BaseURL != "" {
		errs = append(errs, kit.ValidateURL("BaseURL", c.BaseURL))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bedrock: config: %w", err)
	}
	return nil
}

// A Backend is Bedrock. It is safe for concurrent use. Printing it shows no secrets.
type Backend struct {
	conf        Config
	credentials aws.CredentialsProvider // nil with a bearer token
	signer      *v4.Signer
	now         func() time.Time
}

var _ anthropic.Backend = (*Backend)(nil)

// New makes the backend. The error lists everything that is wrong; no request is made.
func New(conf Config) (*Backend, error) {
	if err := conf.validate(); err != nil {
		return nil, err
	}
	if conf.Omits == nil {
		conf.Omits = DefaultOmits()
	}
	conf.Omits = slices.Clone(conf.Omits)
	b := &Backend{conf: conf, signer: v4.NewSigner(), now: time.Now}
	switch {
	case conf.Credentials != nil:
		b.credentials = aws.NewCredentialsCache(conf.Credentials)
	case conf.AccessKey != "":
		b.credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{
				AccessKeyID: conf.AccessKey, SecretAccessKey: conf.SecretAccessKey, SessionToken: conf.SessionToken,
			}, nil
		})
	}
	return b, nil
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (b Backend) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "bedrock.Backend{%s}", b.conf.Region) }

// LogValue implements [slog.LogValuer].
func (b Backend) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(b)) }

// System returns "aws.bedrock".
func (b *Backend) System() string { return "aws.bedrock" }

// BaseURL implements anthropic.Backend.
func (b *Backend) BaseURL() string {
	if b.conf.BaseURL != "" {
		return b.conf.BaseURL
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(b.conf.Region, "cn-") {
		domain += ".cn"
	}
	return fmt.Sprintf("https://bedrock-runtime.%s.%s", b.conf.Region, domain)
}

// Omits implements anthropic.Backend.
func (b *Backend) Omits() []string { return b.conf.Omits }

// Prepare implements anthropic.Backend: the model and the way of answering are in the path, the version and the betas
// in the body.
func (b *Backend) Prepare(r *anthropic.BackendRequest) error {
	if r.Count {
		return fmt.Errorf("bedrock does not count tokens: %w", errors.ErrUnsupported)
	}
	r.Path = "model/" + strings.ReplaceAll(url.QueryEscape(r.Model), "+", "%20") + "/invoke"
	if r.Stream {
		r.Path += "-with-response-stream"
	}
	r.Body.Set("model", nil)
	r.Body.Set("stream", nil)
	r.Body.Set("anthropic_version", "bedrock-2023-05-31")
	if len(r.Betas) > 0 {
		r.Body.Set("anthropic_beta", r.Betas)
	}
	r.Headers = map[string]string{"Accept": "application/json"}
	return nil
}

// Authorize implements anthropic.Backend.
func (b *Backend) Authorize(req *http.Request) ([]string, error) {
	if b.credentials == nil {
		return kit.Bearer(b.conf.BearerToken, nil)(req)
	}
	keys, err := b.credentials.Retrieve(req.Context())
	if err != nil {
		return nil, fmt.Errorf("get credentials: %w", err)
	}
	secrets := []string{keys.SecretAccessKey, keys.SessionToken}
	hash, err := bodyHash(req)
	if err != nil {
		return secrets, err
	}
	err = b.signer.SignHTTP(req.Context(), keys, req, hash, "bedrock", b.conf.Region, b.now())
	return append(secrets, req.Header.Get("Authorization")), err
}

func bodyHash(req *http.Request) (string, error) {
	sum := sha256.New()
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return "", err
		}
		defer body.Close()
		if _, err := io.Copy(sum, body); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Events implements anthropic.Backend: streams are binary frames, unless something in between has made events of them.
func (b *Backend) Events(body io.Reader) io.Reader { return &events{from: body} }

// oneLine replaces line breaks, which are white space in documents, and end the lines of events.
func oneLine(document []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, document)
}
