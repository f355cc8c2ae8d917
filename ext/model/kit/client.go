package kit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ClientConfig configures how a [Client] reaches a server. The Configs of all adapters have these fields.
type ClientConfig struct {
	// Provider is the name that errors begin with: "openai", "anthropic", … Required.
	Provider string
	// BaseURL is the place that the paths of requests are appended to. Required.
	BaseURL string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport. A nil pointer counts as not set.
	HTTPClient *http.Client
	// Headers and QueryParams are part of every request. Headers replace what the adapter sets.
	Headers, QueryParams map[string]string
	// Authorize puts the credentials into an attempt of a request and returns the secrets among them, which no error
	// shows. It is called for every attempt, by several goroutines, after Headers were set; the body can be read with
	// Request.GetBody. Nil for none.
	Authorize func(req *http.Request) (secrets []string, err error)
	// Refreshes says that Authorize may give other credentials when it is called again, as a token source does: then a
	// request that the server refused with 401 is sent once more.
	Refreshes bool
	// Secrets lists texts that no error may show, in addition to what Authorize returns and what headers and parameters
	// hold.
	Secrets []string
	// Timeout limits every attempt, from the connection to the last byte of the answer. 0 for none.
	Timeout time.Duration
	// IdleTimeout limits the time between bytes of a streamed answer. Nil for 5 minutes; 0 for no limit.
	IdleTimeout *time.Duration
	// MaxRetries is the number of times that a request is sent again that has not got an answer. Nil for 2.
	MaxRetries *int
	// Lists limits the entries of lists in responses, by the names of their fields; see [Limits].
	Lists Limits
}

const (
	defaultIdleTimeout = 5 * time.Minute
	defaultRetries     = 2
	// maxServerDelay is the longest Retry-After that is waited for.
	maxServerDelay = 2 * time.Minute
	firstDelay     = 500 * time.Millisecond
	maxDelay       = 8 * time.Second
)

// Validate returns everything that is wrong with the settings, named as the Configs of adapters name them.
func (c *ClientConfig) Validate() error {
	return errors.Join(
		ValidateURL("BaseURL", c.BaseURL),
		Check(c.Timeout >= 0, "Timeout must not be negative: use 0 for none"),
		Check(c.IdleTimeout == nil || *c.IdleTimeout >= 0, "IdleTimeout must not be negative: use 0 for none"),
		Check(c.MaxRetries == nil || *c.MaxRetries >= 0, "MaxRetries must not be negative: use 0 for none"),
	)
}

// ValidateURL checks the address of a server. It does not repeat the URL, which may have a password in it.
func ValidateURL(name, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s must be a URL with http or https and a host, such as %q", name, "https://example.com/v1")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s must have no query and no fragment: use QueryParams", name)
	}
	return nil
}

// Check returns an error with a text unless ok.
func Check(ok bool, text string) error {
	if ok {
		return nil
	}
	return errors.New(text)
}

// A Client sends requests to one server. It retries what fails for reasons that pass, follows no redirect to another
// host, and keeps secrets out of errors. It is safe for concurrent use. Printing it shows no secrets.
type Client struct {
	conf ClientConfig
	http *http.Client
	hide Redactor
}

// NewClient makes a client of settings that [ClientConfig.Validate] has found to be right.
func NewClient(conf ClientConfig) *Client {
	conf.Headers, conf.QueryParams = maps.Clone(conf.Headers), maps.Clone(conf.QueryParams)
	conf.BaseURL = strings.TrimSuffix(conf.BaseURL, "/")
	hide := NewRedactor(conf.Provider, slices.Concat(conf.Secrets, Credentials(conf.Headers),
		Credentials(conf.QueryParams))...)
	if u, err := url.Parse(conf.BaseURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		hide = hide.With(password)
	}
	var own http.Client
	if conf.HTTPClient != nil {
		own = *conf.HTTPClient
	}
	follow := own.CheckRedirect
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0].URL
		if req.URL.Host != first.Host || first.Scheme == "https" && req.URL.Scheme != "https" {
			return errRedirect
		}
		switch {
		case follow != nil:
			return follow(req, via)
		case len(via) >= 10:
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return &Client{conf: conf, http: &own, hide: hide}
}

// errRedirect keeps credentials, and what users said, from reaching a server that the application did not choose.
var errRedirect = errors.New("the server redirects to another host, which is not followed: set BaseURL to the new place")

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c *Client) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "kit.Client{%s}", c.conf.Provider) }

// Redactor returns what hides the secrets of the client.
func (c *Client) Redactor() Redactor { return c.hide }

// Endpoint returns the host and the port that requests go to. The port is 0 if the address has none.
func (c *Client) Endpoint() (host string, port int) {
	u, err := url.Parse(c.conf.BaseURL)
	if err != nil {
		return "", 0
	}
	if text := u.Port(); text != "" {
		fmt.Sscan(text, &port)
	}
	return u.Hostname(), port
}

// A Request is what a [Client] sends.
type Request struct {
	// Method defaults to POST.
	Method string
	// Path is appended to the base URL, or replaces it if it is a URL itself. It may have a query.
	Path string
	// Body is sent as JSON. Nil for none.
	Body []byte
	// ContentType defaults to application/json.
	ContentType string
	// Stream says that the answer is to come as a stream, for which the idle timeout counts.
	Stream bool
	// Headers replace the client's.
	Headers map[string]string
	// Secrets lists texts that no error about this request may show, in addition to what the client and the headers have.
	Secrets []string
}

// Do sends a request and returns a response with a status of success, which the caller closes. Errors are an *APIError
// if the server refused. The body of the response ends with an error when ctx does.
func (c *Client) Do(ctx context.Context, r Request) (resp *Response, err error) {
	hide := c.hide.With(append(Credentials(r.Headers), r.Secrets...)...)
	defer recoverTo(&hide, &err)
	retries := defaultRetries
	if c.conf.MaxRetries != nil {
		retries = *c.conf.MaxRetries
	}
	refreshed := !c.conf.Refreshes
	for attempt := 0; ; attempt++ {
		resp, retry, err := c.attempt(ctx, r, &hide)
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, c.ended(ctx)
		}
		if errors.Is(err, ErrAuth) && !refreshed {
			refreshed = true
			attempt--
			continue
		}
		delay, ok := c.delay(err, attempt)
		if !retry || attempt >= retries || !ok {
			return nil, err
		}
		if !sleep(ctx, delay) {
			return nil, c.ended(ctx)
		}
	}
}

// Exchange sends a request and decodes the document that comes back, see [Response.Decode].
func (c *Client) Exchange(ctx context.Context, r Request, into any) error {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	return resp.Decode(into)
}

// delay returns how long to wait before the next attempt, and false if the server wants a longer wait than anybody has.
func (c *Client) delay(err error, attempt int) (time.Duration, bool) {
	var api *APIError
	if errors.As(err, &api) && api.RetryAfter > 0 {
		return api.RetryAfter, api.RetryAfter <= maxServerDelay
	}
	delay := min(maxDelay, firstDelay<<min(attempt, 10))
	return delay - rand.N(delay/4), true
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt sends a request once. retry says that another attempt may help.
func (c *Client) attempt(ctx context.Context, r Request, hide *Redactor) (_ *Response, retry bool, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	var late *time.Timer
	stop := func() {
		if late != nil {
			late.Stop()
		}
		cancel()
	}
	done := false
	defer func() {
		if !done {
			stop()
		}
	}()
	req, err := c.request(ctx, r, hide)
	if err != nil {
		return nil, false, hide.Failure("request", err)
	}
	expired := new(expiry)
	if c.conf.Timeout > 0 {
		late = time.AfterFunc(c.conf.Timeout, func() { expired.set(); cancel() })
	}
	resp, err := c.http.Do(req)
	switch {
	case err != nil && expired.is():
		return nil, true, hide.Failure("request", errTimeout(c.conf.Timeout))
	case err != nil:
		return nil, !errors.Is(err, errRedirect), hide.Failure("request", err)
	case resp == nil || resp.Body == nil:
		return nil, false, hide.Failure("request", errors.New("the HTTP client returned neither a response nor an error"))
	case resp.StatusCode >= http.StatusMultipleChoices:
		api := newAPIError(resp, *hide)
		return nil, shouldRetry(resp), api
	}
	done = true
	return newResponse(ctx, resp, *hide, c.conf, r.Stream, expired, stop), false, nil
}

// shouldRetry reports whether a status passes, as the server says or as such statuses do.
func shouldRetry(resp *http.Response) bool {
	switch resp.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return resp.StatusCode >= http.StatusInternalServerError
}

// request makes the HTTP request of an attempt.
func (c *Client) request(ctx context.Context, r Request, hide *Redactor) (*http.Request, error) {
	target := c.conf.BaseURL + "/" + strings.TrimPrefix(r.Path, "/")
	switch {
	case r.Path == "":
		target = c.conf.BaseURL
	case strings.Contains(r.Path, "://"):
		target = r.Path
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodPost), target, body)
	if err != nil {
		return nil, err
	}
	if len(c.conf.QueryParams) > 0 {
		q := req.URL.Query()
		for key, value := range c.conf.QueryParams {
			q.Set(key, value)
		}
		req.URL.RawQuery = q.Encode()
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.ContentType, "application/json"))
	}
	req.Header.Set("Accept", "application/json")
	if r.Stream {
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	req.Header.Set("User-Agent", "weft")
	for _, headers := range []map[string]string{c.conf.Headers, r.Headers} {
		for key, value := range headers {
			req.Header.Set(key, value)
		}
	}
	if c.conf.Authorize != nil {
		secrets, err := c.conf.Authorize(req)
		if err != nil {
			return nil, fmt.Errorf("authorize: %w", err)
		}
		if len(secrets) > 0 {
			*hide = hide.With(secrets...)
		}
	}
	return req, nil
}

func errTimeout(limit time.Duration) error {
	return fmt.Errorf("no answer within Config.Timeout of %s: %w%w", limit, context.DeadlineExceeded, silent{ErrTimeout})
}

// ended is the error for a context that has ended.
func (c *Client) ended(ctx context.Context) error { return ended(c.conf.Provider, ctx) }

func ended(provider string, ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return fmt.Errorf("%s: %w", provider, err)
	}
	return fmt.Errorf("%s: %w: %w", provider, err, cause)
}

// Bearer returns the Authorize function that sends a key, or the token of a source, as a bearer token, unless the
// request has an Authorization header already. An empty key without a source sends nothing.
func Bearer(key string, source func(context.Context) (string, error)) func(*http.Request) ([]string, error) {
	return KeyHeader("Authorization", "Bearer ", key, source)
}

// KeyHeader is [Bearer] for another header, and for a prefix of the value.
func KeyHeader(
	header, prefix, key string, source func(context.Context) (string, error),
) func(*http.Request) ([]string, error) {
	return func(req *http.Request) ([]string, error) {
		if req.Header.Get(header) != "" {
			return nil, nil
		}
		value := key
		if source != nil {
			var err error
			if value, err = source(req.Context()); err != nil {
				return nil, fmt.Errorf("get a token: %w", err)
			}
		}
		if value != "" {
			req.Header.Set(header, prefix+value)
		}
		return []string{value}, nil
	}
}
