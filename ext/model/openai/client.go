package openai

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const azureKeyHeader = "api-key"

// maxErrorBody is how much of an error response is read.
const maxErrorBody = 1 << 20

func (c *Config) baseURL() string {
	switch {
	case c.Azure != nil:
		return strings.TrimSuffix(c.Azure.Endpoint, "/") + "/openai/deployments/" + url.PathEscape(c.Azure.Deployment) + "/"
	case c.BaseURL == "":
		return DefaultBaseURL
	}
	return c.BaseURL
}

// isOfficial reports whether the server is OpenAI's own or Azure's, which know the API exactly as documented. What
// other servers do differently is not expected of them.
func (c *Config) isOfficial() bool {
	u, err := url.Parse(c.baseURL())
	if c.Azure != nil || err != nil {
		return true
	}
	host := "." + strings.ToLower(u.Hostname())
	return strings.HasSuffix(host, ".api.openai.com") || strings.Contains(host, ".openai.azure.")
}

// newService returns the SDK's service for the configured server. The environment has no say in it: a key that is
// meant for OpenAI must not reach another server by accident.
func newService(c *Config) sdk.ChatCompletionService {
	opts := []option.RequestOption{option.WithBaseURL(c.baseURL()), option.WithMiddleware(limitErrorBody)}
	if c.Azure != nil {
		opts = append(opts, option.WithQuery("api-version", c.Azure.APIVersion))
	}
	switch {
	case c.APIKey == "":
	case c.Azure != nil:
		opts = append(opts, option.WithHeader(azureKeyHeader, c.APIKey))
	default:
		opts = append(opts, option.WithAPIKey(c.APIKey))
	}
	if c.Organization != "" {
		opts = append(opts, option.WithOrganization(c.Organization))
	}
	if c.Project != "" {
		opts = append(opts, option.WithProject(c.Project))
	}
	if c.HTTPClient != nil {
		opts = append(opts, option.WithHTTPClient(c.HTTPClient))
	}
	if c.Timeout > 0 {
		opts = append(opts, option.WithRequestTimeout(c.Timeout))
	}
	if c.MaxRetries != nil {
		opts = append(opts, option.WithMaxRetries(*c.MaxRetries))
	}
	for key, value := range c.QueryParams {
		opts = append(opts, option.WithQuery(key, value))
	}
	for key, value := range c.Headers {
		opts = append(opts, option.WithHeader(key, value))
	}
	return sdk.NewChatCompletionService(opts...)
}

// limitErrorBody keeps the SDK and newAPIError, which read error responses whole, from reading one that does not end.
func limitErrorBody(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		body := resp.Body
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(body, maxErrorBody), body}
	}
	return resp, err
}

// A response is an answer of the server whose body is being read.
type response struct {
	header  http.Header
	body    io.ReadCloser
	ctx     context.Context
	unwatch func() bool
	once    sync.Once
	hide    redactor
	// idle closes the body when the server has been silent for maxIdle; nil without a limit. silent says that it did.
	idle    *time.Timer
	maxIdle time.Duration
	silent  atomic.Bool
}

// post sends the body of a request and returns a response with a status of success. The caller closes it. The body
// ends with an error when ctx does, whatever the HTTP client makes of that.
func (m *ChatModel) post(ctx context.Context, body []byte, headers map[string]string) (*response, error) {
	hide := m.hide.with(credentials(headers))
	var resp *http.Response
	opts := []option.RequestOption{
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(&resp),
	}
	for key, value := range headers {
		opts = append(opts, option.WithHeader(key, value))
	}
	if m.conf.TokenSource != nil {
		opts = append(opts,
			option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
				if req.Header.Get("Authorization") != "" { // of the call or of Config.Headers: it is meant to be sent
					return next(req)
				}
				token, err := m.conf.TokenSource(req.Context())
				if err != nil {
					return nil, fmt.Errorf("get a token: %w", err)
				}
				hide = hide.with([]string{token})
				req.Header.Set("Authorization", "Bearer "+token)
				return next(req)
			}))
	}
	_, err := m.service.New(ctx, sdk.ChatCompletionNewParams{}, opts...)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			resp.Body.Close()
		}
		return nil, ended(ctx)
	case err != nil && resp != nil && resp.StatusCode >= http.StatusBadRequest:
		return nil, newAPIError(resp, hide)
	case err != nil:
		return nil, hide.failure("request", err)
	case resp.StatusCode >= http.StatusMultipleChoices: // a redirect that leads nowhere is none to the client
		return nil, newAPIError(resp, hide)
	}
	r := &response{header: resp.Header, body: resp.Body, ctx: ctx, hide: hide}
	r.unwatch = context.AfterFunc(ctx, r.closeBody)
	return r, nil
}

// limitSilence ends the response when the server sends nothing for a time. It is called before the first Read.
func (r *response) limitSilence(limit time.Duration) {
	if limit <= 0 {
		return
	}
	r.maxIdle = limit
	r.idle = time.AfterFunc(limit, func() {
		r.silent.Store(true)
		r.closeBody()
	})
	r.idle.Stop()
}

// Read limits only the time that it waits itself: a reader that is slow is no server that is silent.
func (r *response) Read(p []byte) (int, error) {
	if r.idle == nil {
		return r.body.Read(p)
	}
	r.idle.Reset(r.maxIdle)
	defer r.idle.Stop()
	return r.body.Read(p)
}

// close may be called repeatedly and by any goroutine.
func (r *response) close() {
	r.unwatch()
	r.closeBody()
}

// closeBody swallows panics of a user's transport: nobody is left to notify.
func (r *response) closeBody() {
	defer func() { _ = recover() }()
	r.once.Do(func() { r.body.Close() })
}

// failure is the error for what went wrong while the response was read.
func (r *response) failure(doing string, err error) error {
	if r.ctx.Err() != nil {
		return ended(r.ctx)
	}
	if r.silent.Load() {
		err = fmt.Errorf("the server was silent for %s (Config.StreamIdleTimeout): %w", r.maxIdle, os.ErrDeadlineExceeded)
	}
	return r.hide.failure(doing, err)
}

// ended is the error for a context that has ended.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return fmt.Errorf("openai: %w", err)
	}
	return fmt.Errorf("openai: %w: %w", err, cause)
}
