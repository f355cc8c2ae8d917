package mcptool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/ext/mcp/internal/bound"
)

// Config configures [New]. Name is required, and exactly one of Command, URL and Transport.
type Config struct {
	// Name is the name of the server in errors, logs and questions.
	Name string

	// Command is a program that speaks MCP on its standard input and output, and its arguments.
	Command []string
	// Dir is the directory that the program runs in. Default: this process's.
	Dir string
	// Env are variables for the program, as NAME=value, in addition to PATH, HOME, LANG, TMPDIR, TERM, USER and SHELL
	// of this process.
	Env []string
	// InheritEnv gives the program all variables of this process, secrets among them.
	InheritEnv bool

	// URL is the address of a server of streamable HTTP.
	URL string
	// HTTPClient makes the requests. Default: http.DefaultClient.
	HTTPClient *http.Client
	// Header returns headers for one request, such as a token. It sees the context of the tool call that the request is
	// for, so that a program with many users can send the user's own. They go to the host of URL only, and after no
	// redirect to another. An error fails the request. It may be called by several goroutines at once.
	Header func(ctx context.Context) (http.Header, error)
	// ListOf returns whose list of tools the context of a run, or of [Server.Tools], asks for, such as the user whose token
	// Header sends: each has a list of its own, of which at most 1,000 are kept. Default: all users are shown the same
	// list, which is right for servers that have the same tools for all users. It may be called by several goroutines at
	// once.
	ListOf func(ctx context.Context) string
	// OAuth authorizes requests that the server refuses. See package auth of the SDK.
	OAuth auth.OAuthHandler

	// Transport makes the transport of one connection. A transport is used once, so each call must make a new one.
	Transport func(ctx context.Context) (mcp.Transport, error)

	// Meta returns what goes into the _meta of a request, such as traceparent, so that the server's spans belong to the
	// caller's trace. It may be called by several goroutines at once.
	Meta func(ctx context.Context) map[string]string

	// ConnectTimeout limits the time that one attempt to connect takes. Default: 15 s.
	ConnectTimeout time.Duration
	// Timeout limits the silence of the server in a request: no result and no progress. Default: 60 s.
	Timeout time.Duration
	// MaxTime limits the time that a request takes in all. Default: no limit.
	MaxTime time.Duration

	// Prefix is put in front of the names of tools.
	Prefix string
	// Include, if not empty, selects tools, and Exclude leaves some out. They are patterns of path.Match on the names
	// that the server gives its tools.
	Include, Exclude []string
	// Filter leaves out the tools for which it returns false.
	Filter func(*mcp.Tool) bool
	// Sort orders the tools by name. Default: the server's order.
	Sort bool
	// Strict makes errors of what otherwise is a warning: a tool whose schema cannot be read, a name in Include that the
	// server does not have.
	Strict bool
	// MaxTools is the number of tools that a list may have. Default: 1,000.
	MaxTools int
	// MaxDescription is the number of bytes that a description may have; the rest is cut off. Default: 4,096.
	MaxDescription int

	// TrustAnnotations believes a server that says a tool only reads or may be repeated: such a call is sent again when
	// its connection is lost, and when a run is resumed after a crash.
	TrustAnnotations bool
	// Idempotent says of a tool, by the server's name, whether a call may be repeated. It comes before TrustAnnotations.
	Idempotent func(rawName string) bool

	// MaxText and MaxMedia bound a result, in bytes of text and of decoded media. Defaults: 1 MiB, 8 MiB. What is over
	// is left out, and the model is shown how much.
	MaxText, MaxMedia int
	// MaxMessage is the number of bytes that one message of the server may have as it comes: an answer, an event, a line.
	// Default: 16 MiB. What is over is not read: it costs that one request, which fails with [TooLarge].
	MaxMessage int
	// HideUserContent keeps blocks that are meant for the user only away from the model.
	HideUserContent bool
	// ErrorsFail makes an error of a result that the server calls an error. Default: the model reads it.
	ErrorsFail bool
	// CheckOutput holds structured results against the output schema of their tool. One that does not fit is a result
	// that reports the mistake to the model.
	CheckOutput bool

	// Roots lists the folders that the server may see. nil says nothing about roots.
	Roots []*mcp.Root
	// Sampling lets the server ask a model.
	Sampling *Sampling
	// Elicit answers questions of the server at once, instead of an interrupt. Servers that speak a protocol before
	// 2026-07-28 can ask only if it is set, and wait for it within the call. inFlight are the calls that the server may
	// ask about: older protocols do not say which.
	Elicit func(ctx context.Context, input Input, inFlight []Call) (Answer, error)

	// Logger gets warnings, what the server logs, and the standard error of Command. Default: slog.Default().
	Logger *slog.Logger
}

// Call names a call in flight.
type Call struct {
	// Tool is the server's name of the tool.
	Tool string
	// Arguments is JSON text.
	Arguments string
}

// Limits that are not configured.
const (
	defaultConnectTimeout = 15 * time.Second
	defaultTimeout        = 60 * time.Second
	defaultMaxTools       = 1_000
	defaultMaxDescription = 4_096
	defaultMaxText        = 1 << 20
	defaultMaxMedia       = 8 << 20
	defaultMaxMessage     = 16 << 20
)

// ready returns a checked copy with the defaults.
func (c Config) ready() (Config, error) {
	c.Command, c.Env = slices.Clone(c.Command), slices.Clone(c.Env)
	c.Include, c.Exclude, c.Roots = slices.Clone(c.Include), slices.Clone(c.Exclude), slices.Clone(c.Roots)
	if err := c.check(); err != nil {
		return c, err
	}
	for value, fallback := range map[*time.Duration]time.Duration{
		&c.ConnectTimeout: defaultConnectTimeout, &c.Timeout: defaultTimeout} {
		if *value == 0 {
			*value = fallback
		}
	}
	for value, fallback := range map[*int]int{&c.MaxTools: defaultMaxTools, &c.MaxDescription: defaultMaxDescription,
		&c.MaxMessage: defaultMaxMessage, &c.MaxText: defaultMaxText, &c.MaxMedia: defaultMaxMedia} {
		if *value == 0 {
			*value = fallback
		}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("mcp_server", c.Name)
	return c, nil
}

// check refuses what cannot work.
func (c *Config) check() error {
	if c.Name == "" {
		return errors.New("mcptool: Config.Name is empty")
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("mcptool: server %q: %s", c.Name, fmt.Sprintf(format, args...))
	}
	ways := 0
	for _, set := range []bool{len(c.Command) > 0, c.URL != "", c.Transport != nil} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		return refuse("set exactly one of Command, URL and Transport")
	}
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return refuse("URL must be an address of http or https")
		}
	} else if c.HTTPClient != nil || c.Header != nil || c.OAuth != nil {
		return refuse("HTTPClient, Header and OAuth need URL")
	}
	if len(c.Command) == 0 && (c.Dir != "" || len(c.Env) > 0 || c.InheritEnv) {
		return refuse("Dir, Env and InheritEnv need Command")
	}
	if len(c.Command) > 0 && c.Command[0] == "" {
		return refuse("the program in Command is empty")
	}
	for _, pattern := range slices.Concat(c.Include, c.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return refuse("the pattern %q cannot be read", pattern)
		}
	}
	for name, n := range map[string]int64{"ConnectTimeout": int64(c.ConnectTimeout), "Timeout": int64(c.Timeout),
		"MaxTime": int64(c.MaxTime), "MaxTools": int64(c.MaxTools), "MaxDescription": int64(c.MaxDescription),
		"MaxMessage": int64(c.MaxMessage), "MaxText": int64(c.MaxText), "MaxMedia": int64(c.MaxMedia)} {
		if n < 0 {
			return refuse("%s must not be negative", name)
		}
	}
	if c.Prefix != toolName(c.Prefix) {
		return refuse("Prefix may have at most 64 of a-z, A-Z, 0-9, _ and -")
	}
	if c.Sampling != nil {
		if err := c.Sampling.check(); err != nil {
			return refuse("%v", err)
		}
	}
	return nil
}

// room returns the limits of a result.
func (c *Config) room() bound.Room { return bound.Room{Text: c.MaxText, Media: c.MaxMedia} }

// headerOf asks for the headers of one request.
func (c *Config) headerOf(ctx context.Context) (h http.Header, err error) {
	if c.Header == nil {
		return nil, nil
	}
	defer recovered("Header", &err)
	h, err = c.Header(ctx)
	return maps.Clone(h), err
}

// listOf asks whose list is meant.
func (c *Config) listOf(ctx context.Context) (of string, err error) {
	if c.ListOf == nil {
		return "", nil
	}
	defer recovered("ListOf", &err)
	return c.ListOf(ctx), nil
}

// metaOf asks for the _meta of one request.
func (c *Config) metaOf(ctx context.Context) (meta map[string]string, err error) {
	if c.Meta == nil {
		return nil, nil
	}
	defer recovered("Meta", &err)
	return c.Meta(ctx), nil
}

// recovered makes an error of a panic of a function of the configuration. It must be deferred directly.
func recovered(name string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("mcptool: panic in Config.%s: %v", name, v)
	}
}
