package mcpserve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/callbacks"
)

// Config configures [New]. Name is required, and Keys if agents are served.
type Config struct {
	// Name and Version are what clients see of the server. Default of Version: "1".
	Name, Version string
	// Instructions tell the client's model how to use the server.
	Instructions string

	// Keys sign what clients bring back with their answers. The first one signs, all of them verify, so that a key can be
	// replaced while runs wait. All processes behind one address must have the same. Each has at least 32 bytes.
	Keys [][]byte
	// AnswerTime is the time for which a client has to answer. Default: 24 h.
	AnswerTime time.Duration
	// Ledger keeps answers from being used twice. Default: one in memory, of this process. With several processes, or to
	// hold over a restart, use approval.StoreLedger.
	Ledger approval.Ledger

	// MaxRuns is the number of calls that may run at once. A client that calls beyond that reads that the server is busy.
	// Default: no limit.
	MaxRuns int
	// MaxTime limits the time of a call. Default: no limit.
	MaxTime time.Duration
	// MaxText and MaxMedia bound a result, in bytes of text and of decoded media. Defaults: 1 MiB, 8 MiB.
	MaxText, MaxMedia int
	// ErrorText returns the text that clients read about an error. The default is a fixed text, since the text of an error
	// may hold secrets; errors of tools about their arguments are shown.
	ErrorText func(error) string
	// Callbacks see each request, and all that runs for it: agents, models, tools. Handlers that are registered for the
	// process see it anyway. See [ComponentOfServer].
	Callbacks []callbacks.Handler
	// Logger gets what clients do not see. Default: slog.Default().
	Logger *slog.Logger
}

func (c *Config) check() error {
	if c.Name == "" {
		return errors.New("mcpserve: Config.Name is empty")
	}
	for i, key := range c.Keys {
		if len(key) < 32 {
			return fmt.Errorf("mcpserve: server %q: Config.Keys[%d] has less than 32 bytes", c.Name, i)
		}
	}
	if c.AnswerTime < 0 || c.MaxRuns < 0 || c.MaxTime < 0 || c.MaxText < 0 || c.MaxMedia < 0 {
		return fmt.Errorf("mcpserve: server %q: limits must not be negative", c.Name)
	}
	return nil
}

// Server is an MCP server. It is safe for concurrent use.
type Server struct {
	conf Config
	mcp  *mcp.Server
	// clientHeader is the name of a header that has the address of the client.
	clientHeader string
	// slots has a place for each call that may run, nil for any number.
	slots chan struct{}
}

// New makes a server without tools.
func New(conf Config) (*Server, error) {
	if err := conf.check(); err != nil {
		return nil, err
	}
	conf.Keys, conf.Callbacks = slices.Clone(conf.Keys), slices.Clone(conf.Callbacks)
	for value, fallback := range map[*int]int{&conf.MaxText: 1 << 20, &conf.MaxMedia: 8 << 20} {
		if *value == 0 {
			*value = fallback
		}
	}
	if conf.AnswerTime == 0 {
		conf.AnswerTime = 24 * time.Hour
	}
	if conf.Version == "" {
		conf.Version = "1"
	}
	if conf.Ledger == nil {
		conf.Ledger = approval.NewMemoryLedger()
	}
	if conf.Logger == nil {
		conf.Logger = slog.Default()
	}
	s := &Server{conf: conf, clientHeader: "Weft-Client-" + rand.Text()}
	if conf.MaxRuns > 0 {
		s.slots = make(chan struct{}, conf.MaxRuns)
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: conf.Name, Version: conf.Version},
		&mcp.ServerOptions{Instructions: conf.Instructions, InitializedHandler: s.observeSession})
	s.mcp.AddReceivingMiddleware(s.observe)
	return s, nil
}

// MCP is the SDK's server, for prompts, resources and tools of its own kind.
func (s *Server) MCP() *mcp.Server { return s.mcp }

// HTTPOptions configure [Server.Handler].
type HTTPOptions struct {
	// Sessions keeps a session for each client in this process. Clients of protocols before 2026-07-28 can be asked
	// questions only within one. Default: no sessions, so that any process can serve any request.
	Sessions bool
	// SessionTimeout ends sessions that are not used. Default: 30 minutes.
	SessionTimeout time.Duration
	// Verify says whose a bearer token is. Its UserID is the principal that answers are bound to. Default: every client
	// may call, and all are one principal.
	Verify auth.TokenVerifier
	// Bearer configures what is asked of tokens.
	Bearer *auth.RequireBearerTokenOptions
	// Origins are the origins of web pages elsewhere that may call, such as https://app.example.com. Default: none.
	Origins []string
}

// Handler serves streamable HTTP. It fails if an origin cannot be read.
func (s *Server) Handler(o HTTPOptions) (http.Handler, error) {
	if o.SessionTimeout == 0 {
		o.SessionTimeout = 30 * time.Minute
	}
	origins := http.NewCrossOriginProtection()
	for _, origin := range o.Origins {
		if err := origins.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("mcpserve: server %q: HTTPOptions.Origins: %w", s.conf.Name, err)
		}
	}
	conf := &mcp.StreamableHTTPOptions{Stateless: !o.Sessions, PropagateRequestCancellation: true}
	if o.Sessions {
		conf.SessionTimeout = o.SessionTimeout
	}
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, conf)
	if o.Verify != nil {
		h = auth.RequireBearerToken(o.Verify, o.Bearer)(h)
	}
	return origins.Handler(s.noteClient(h)), nil
}

// ServeStdio serves the standard input and output, until the input ends or ctx does. Nothing else may write to the
// standard output.
func (s *Server) ServeStdio(ctx context.Context) error { return s.mcp.Run(ctx, &mcp.StdioTransport{}) }
