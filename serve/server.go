package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// Server serves agents over HTTP. It is safe for concurrent use. Shutdown ends it.
type Server struct {
	settings settings
	agents   map[string]*served
	runs     executor
	// forks makes forks, nil without Config.AllowFork, and remover removes runs, nil if the Front cannot.
	forks   dispatch.Forker
	remover remover
	// local executes the runs, nil if others do.
	local    *localWorker
	tickets  *tickets
	starts   starts
	reserved reservations
	load     load
	watchers watchers
	large    largeFrames
	native   http.Handler
	origins  *http.CrossOriginProtection

	// draining ends when the server shuts down.
	draining context.Context
	drain    context.CancelFunc

	mu sync.Mutex // guards the fields below
	// starting is the number of runs that are being started, and quiet is closed when the last of them is and the server
	// shuts down.
	starting int
	quiet    chan struct{}
}

// settings are the settings of a TypedConfig that have nothing to do with a kind of message.
type settings struct {
	traceparent       func(ctx context.Context) string
	conversations     conversation.Store
	auth              func(r *http.Request) (Principal, error)
	allowAnonymous    bool
	authorize         func(ctx context.Context, p Principal, a Action) error
	origins           []string
	busy              BusyPolicy
	abandonInterrupts bool
	trustHistory      bool
	allowClientTools  bool
	detail            bool
	errorText         func(err runlog.Err) string
	signDecision      func(ctx context.Context, p Principal, d *approval.Decision) error
	maxRunTime        time.Duration
	limits            Limits
	ready             func(ctx context.Context) error
	logger            *slog.Logger
}

// New makes a server of agents on ordinary messages.
func New(conf Config) (*Server, error) { return NewTyped(conf) }

// NewTyped makes a server. Without Config.Front it begins to execute runs that are in its store.
func NewTyped[M adk.MessageType](conf TypedConfig[M]) (*Server, error) {
	if err := conf.check(); err != nil {
		return nil, err
	}
	s := &Server{agents: map[string]*served{}, tickets: newTickets(conf.TicketKey), quiet: make(chan struct{})}
	abouts, err := describe(conf.Agents)
	if err != nil {
		return nil, err
	}
	if conf.MaxRunTime == 0 && conf.Front == nil && conf.Store == nil {
		conf.MaxRunTime = 24 * time.Hour
	}
	front := conf.Front
	if front == nil {
		if front, s.local, err = newLocal(&conf); err != nil {
			return nil, err
		}
	}
	if !isPlain[M]() {
		conf.Conversations = nil
	}
	s.runs = frontExecutor[M]{front}
	s.remover, _ = front.(remover)
	if conf.AllowFork {
		s.forks = front.(dispatch.Forker)
	}
	s.settings = settings{conversations: conf.Conversations, auth: conf.Auth, allowAnonymous: conf.AllowAnonymous,
		authorize: conf.Authorize, origins: conf.Origins, busy: conf.Busy, abandonInterrupts: conf.StopWaiting,
		trustHistory: conf.TrustHistory, allowClientTools: conf.AllowClientTools, detail: conf.Detail,
		errorText: conf.ErrorText, signDecision: conf.SignDecision, maxRunTime: conf.MaxRunTime, limits: conf.Limits.withDefaults(), ready: conf.Ready,
		logger: conf.Logger, traceparent: conf.Traceparent}
	for _, about := range abouts {
		s.serve(about)
	}
	s.watchers.runs = map[string]*watched{}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.origins = http.NewCrossOriginProtection()
	for _, origin := range conf.Origins {
		if err := s.origins.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("serve: Config.Origins: %w", err)
		}
	}
	s.native = s.Protect(s.routes(), nil)
	return s, nil
}

// Agents returns the agents that clients may run, by name.
func (s *Server) Agents() []AgentInfo {
	agents := make([]AgentInfo, 0, len(s.agents))
	for _, a := range s.agents {
		agents = append(agents, a.info)
	}
	slices.SortFunc(agents, func(a, b AgentInfo) int { return strings.Compare(a.Name, b.Name) })
	return agents
}

// enter counts a run that is being started, until release is called. A server that shuts down starts none.
func (s *Server) enter() (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Err() != nil {
		return nil, &Problem{Code: ShuttingDown, Title: "the server shuts down", RetryAfter: 5 * time.Second}
	}
	s.starting++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.starting--; s.starting == 0 && s.draining.Err() != nil {
			close(s.quiet)
		}
	}, nil
}

// Shutdown ends the server: no run is started any more, streams end with a word that the client is to connect again, and
// runs that this process executes are stopped at a safe point, or at once after Config.DrainTimeout or when ctx is nearly
// over. It waits for that until ctx ends, and returns why it did not wait longer. Runs in a store continue in the next
// process; those in memory are lost with this one.
//
// It does not end the http.Server around it: shut that down afterwards.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if s.draining.Err() == nil {
		s.drain()
		if s.starting == 0 {
			close(s.quiet)
		}
	}
	s.mu.Unlock()
	s.watchers.close()
	var err error
	if s.local != nil {
		err = s.local.shutdown(ctx)
	}
	select {
	case <-s.quiet:
		return err
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("serve: a run is still being started: %w", context.Cause(ctx)))
	}
}

// ServeHTTP serves the native API. Mount it where the paths are to begin, with http.StripPrefix.
//
//	GET    /agents                    the agents
//	POST   /agents/{agent}/runs       starts a run; with "Accept: text/event-stream" its events follow
//	GET    /runs                      lists runs: ?agent= &thread= &status= &before= &limit=
//	GET    /runs/{run}                a run; with "Prefer: wait=30" when it has ended or waits, at most 30 s later
//	GET    /runs/{run}/events         its events, as server-sent events: behind Last-Event-ID or ?after=; ?follow=true
//	POST   /runs/{run}/stop           stops it
//	POST   /runs/{run}/replies        replies to its questions
//	POST   /runs/{run}/continue       continues a fork that was made with hold
//	GET    /runs/{run}/steps          its steps, with Config.AllowFork
//	POST   /runs/{run}/fork           makes a run of the first of its steps
//	GET    /questions                 questions that are open: ?thread= &agent= &tool=
//	GET    /threads                   lists threads: ?before= &limit=
//	GET    /threads/{thread}/messages what was said in a thread
//	DELETE /threads/{thread}          removes it
//	POST   /tickets                   makes a ticket for an EventSource
//	GET    /healthz, /readyz          whether the process is alive, and serves
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.native.ServeHTTP(w, r) }

// Protect makes a handler of a protocol one that strangers can be let at: requests are authenticated, pages of other
// origins refused, bodies bounded, panics become answers, and requests are logged. refuse answers a request with a
// problem, as the protocol has it; nil is with a problem document (see [Refuse]).
func (s *Server) Protect(h http.Handler, refuse func(w http.ResponseWriter, p *Problem)) http.Handler {
	if refuse == nil {
		refuse = Refuse
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		answer := &answerWriter{ResponseWriter: w}
		defer s.logRequest(r, answer, began)
		defer s.recoverPanic(r, answer, refuse)
		if s.cors(answer, r) {
			return
		}
		if !isProbe(r) {
			if err := s.origins.Check(r); err != nil && !isBearer(r) {
				refuse(answer, &Problem{Code: Forbidden, Title: "the request comes from a page of another origin", Cause: err})
				return
			}
			c, err := s.callerOf(r)
			if err != nil {
				refuse(answer, ProblemOf(err))
				return
			}
			answer.principal = c.principal
			r = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(answer, newTimedBody(w, r.Body, s.settings.limits.BodyTime), s.settings.limits.Body)
		}
		h.ServeHTTP(answer, r)
	})
}

// callerOf authenticates a request: by its ticket, if it shows one where it may, otherwise as Config.Auth does. A ticket
// comes first: Auth may accept every client, as a guest.
func (s *Server) callerOf(r *http.Request) (*Caller, error) {
	if shown, run := r.URL.Query().Get("ticket"), eventsOf(r); shown != "" && run != "" {
		p, err := s.tickets.take(shown, run)
		if err != nil {
			return nil, err
		}
		return &Caller{server: s, principal: p, traceparent: s.traceparentOf(r)}, nil
	}
	return s.Caller(r)
}

// Handle makes an http.Handler of one that is given the [Caller], and returns what is wrong with a request: that is logged,
// and refuse answers it, nil with a problem document. It stands in [Server.Protect].
func (s *Server) Handle(
	h func(w http.ResponseWriter, r *http.Request, c *Caller) error, refuse func(w http.ResponseWriter, p *Problem),
) http.Handler {
	if refuse == nil {
		refuse = Refuse
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.Caller(r)
		if err == nil {
			err = h(w, r, c)
		}
		if err != nil {
			p := ProblemOf(err)
			s.logProblem(r.Context(), p)
			refuse(w, p)
		}
	})
}

// isProbe reports whether a request asks for the state of the process, which every client may.
func isProbe(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz")
}

// isBearer reports whether a request proves who makes it by itself: a page of another origin cannot make a browser do
// that.
func isBearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && r.Header.Get("Cookie") == ""
}

// cors answers pages of other origins that may use the server. It reports whether that was all.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) (done bool) {
	h := w.Header()
	if len(s.settings.origins) > 0 { // what is allowed depends on it, also of an answer without
		h.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(s.settings.origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "Location, Retry-After, x-vercel-ai-ui-message-stream")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// The origin is trusted, and clients of protocols have headers of their own, such as x-stainless-*.
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// answerWriter remembers how a request is answered.
type answerWriter struct {
	http.ResponseWriter
	status    int
	principal Principal
}

// WriteHeader writes the status.
func (w *answerWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes the body.
func (w *answerWriter) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recoverPanic answers a request whose handler panics.
func (s *Server) recoverPanic(r *http.Request, w *answerWriter, refuse func(http.ResponseWriter, *Problem)) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	id := strings.ToLower(rand.Text()[:12])
	s.log(r.Context(), "a handler panicked", "id", id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if w.status != 0 { // an answer that ends in order would look whole
		panic(http.ErrAbortHandler)
	}
	refuse(w, NewProblem(Internal, "something went wrong on the server: %s", id))
}

// log logs what clients are not shown.
func (s *Server) log(ctx context.Context, message string, args ...any) {
	if s.settings.logger != nil {
		s.settings.logger.WarnContext(ctx, message, args...)
	}
}

func (s *Server) logStart(ctx context.Context, p Principal, info runs.Info) {
	if s.settings.logger != nil {
		s.settings.logger.InfoContext(ctx, "run started", "run", info.ID, "agent", info.Agent, "principal", hashed(p.owner()),
			"thread", info.Tags[tagThread])
	}
}

// logRequest writes one record for a request: neither its query, which may have a ticket, nor its headers.
func (s *Server) logRequest(r *http.Request, w *answerWriter, began time.Time) {
	if s.settings.logger != nil {
		owner := ""
		if w.principal.ID != "" {
			owner = w.principal.owner()
		}
		s.settings.logger.InfoContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "status", w.status,
			"duration", time.Since(began).Round(time.Microsecond), "principal", hashed(owner))
	}
}

// hashed is the owner of something in logs (see Principal.owner), "" if there is none.
func hashed(owner string) string {
	if owner == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:6])
}

// logProblem logs the cause of a problem that a client is shown.
func (s *Server) logProblem(ctx context.Context, p *Problem) {
	if p.Cause != nil && !errors.Is(p.Cause, context.Canceled) {
		s.log(ctx, "a request failed", "code", string(p.Code), "title", p.Title, "error", p.Cause)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
