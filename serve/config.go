package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TypedConfig configures a Server. The zero value but for Agents serves clients of the same machine, from memory.
type TypedConfig[M adk.MessageType] struct {
	// Agents lists the agents that clients may run, by their names. At least one is required. They are asked what they are,
	// and their tools, when the server is made (see picture.Describe).
	Agents []adk.TypedAgent[M]

	// Front executes the runs, such as a dispatcher before a fleet of workers, or another engine. Its workers must know the
	// names of Agents, and give runs RunOptions, or there are no threads. The default executes runs in this process, on
	// Store.
	Front dispatch.Client[M]
	// Store keeps the runs that this process executes. The default is in memory. It must be nil with a Front.
	Store runs.Store
	// Events keeps what happens in runs for other processes, and for after a restart. The default is nil: what happens is
	// in memory, of the process that executes a run, until a while after its end. It must be nil with a Front.
	Events runlog.Store
	// Conversations keeps the threads. The default is in Store; with a Front, the default is that there are no threads.
	// Agents on agentic messages have none. Without Conversations, a thread is a name for the runs of clients that have the
	// history (see TrustHistory and Start.Stateless); others get bad_request.
	Conversations conversation.Store
	// History bounds what an agent sees of a thread.
	History conversation.HistoryOptions

	// Auth says who makes a request. Its error becomes a 401, unless it is a *Problem. The default serves requests from
	// this machine, to this machine, all of one principal, and refuses others.
	Auth func(r *http.Request) (Principal, error)
	// AllowAnonymous serves every client, as one principal, if Auth is nil.
	AllowAnonymous bool
	// Authorize refuses what an authenticated principal may not do: the error becomes a 403. It is asked for a list as a
	// whole, and for each of its items, which are left out if it refuses them. Default: principals may do everything with
	// what is theirs.
	Authorize func(ctx context.Context, p Principal, a Action) error
	// Origins are the origins of pages elsewhere that may use the server, such as https://app.example.com. The default is
	// none.
	Origins []string

	// Busy decides what happens to a message in a thread whose run has not ended. The default is to refuse it.
	Busy BusyPolicy
	// StopWaiting has a new message in a thread stop a run there that waits for an answer. The default refuses the
	// message, with questions_open.
	StopWaiting bool
	// TrustHistory takes assistant and tool messages of clients for what was said before. The default takes new messages
	// of users only. Agents that act on behalf of users must not trust it.
	TrustHistory bool
	// AllowClientTools lets clients bring tools: their calls are answered by the client. The agents need the middleware
	// [ClientTools]; runs of others with such tools are refused.
	AllowClientTools bool
	// AllowFork lets principals read the steps of their runs, and make forks of them, in which the last step may say
	// something else: who may fork can write what models and tools have said, so it is for those who build agents, or whom
	// Authorize allows it. Runs that this process executes keep their steps; the runners behind a Front must
	// (adk.RunnerConfig.KeepSteps), and the Front must offer dispatch.Forker.
	AllowFork bool
	// Detail includes in events and steps what models were asked, system prompts among it. The default leaves it out.
	Detail bool
	// ErrorText returns the text that clients read about an error in a run. The default are fixed texts by Err.Type: the
	// text of an error may hold secrets.
	ErrorText func(err runlog.Err) string

	// SignDecision signs what a principal has decided about a call, by d.Sign(key), for agents whose approval middleware
	// takes signed decisions only (approval.Config.Key). An error refuses the answer. The default signs nothing.
	SignDecision func(ctx context.Context, p Principal, d *approval.Decision) error

	// MaxRunTime limits the time of a run from its submission, waiting included. The default is no limit with a Front or
	// Store, whose runs may wait for people for days, otherwise 24 hours; calls of models and tools should have limits of
	// their own. The time of a fork counts from when it is made, and a fork that is paused has none.
	MaxRunTime time.Duration
	// DrainTimeout limits the time in which runs that this process executes, when it shuts down, come to a place where
	// nothing is lost; then they are stopped at once. The default is 10 seconds, negative is at once.
	DrainTimeout time.Duration
	// Linger is for how long the events of a run that has ended stay in memory. The default is 10 minutes. See Events.
	Linger time.Duration
	// Limits bound what clients can do.
	Limits Limits
	// TicketKey signs the tickets of POST /tickets. All processes behind one address must have the same, of at least 16
	// bytes. The default is drawn at random.
	TicketKey []byte
	// Ready says whether the process can serve, for GET /readyz. The default is always.
	Ready func(ctx context.Context) error
	// Traceparent returns the span of a request, as the header traceparent of W3C, for handlers of telemetry: a run is
	// linked to the request that has started it, whichever process executes it. The default is what the client has sent in
	// that header; ext/otel has weftotel.Traceparent, which is the span that the server has of the request.
	Traceparent func(ctx context.Context) string
	// Logger gets one record for each request and each run that is started, one when a run that this process executes ends
	// or waits, and errors with their causes. Default: nil.
	Logger *slog.Logger
}

// Config configures a Server of agents on ordinary messages.
//
// Its fields, which are documented at [TypedConfig]:
//
//   - Agents: those that clients may run; required
//   - Front: executes the runs; default: this process
//   - Store, Events: keep runs and their events; default: memory
//   - Conversations, History: keep threads, and bound what agents see of them
//   - Auth, AllowAnonymous, Authorize, Origins: who may do what
//   - Busy, StopWaiting: a message in a thread whose run has not ended
//   - TrustHistory, AllowClientTools, AllowFork: what is taken from clients
//   - Detail, ErrorText: what clients see
//   - SignDecision: signs approvals
//   - MaxRunTime, DrainTimeout, Linger, Limits: bounds
//   - TicketKey: signs tickets
//   - Ready: says whether the process can serve
//   - Traceparent: the span of a request
//   - Logger: gets a record for each request and run
type Config = TypedConfig[*schema.Message]

// BusyPolicy says what happens to a message in a thread whose run has not ended.
type BusyPolicy int

// The policies.
const (
	// RejectBusy refuses it, with busy.
	RejectBusy BusyPolicy = iota
	// QueueBusy has it wait, with up to seven others.
	QueueBusy
	// PreemptBusy stops the run before it where nothing is lost. What was said so far is kept.
	PreemptBusy
)

// queueLength is the number of runs that a thread may have with QueueBusy.
const queueLength = 8

// Limits bound what clients can do. 0 is the default of a field.
type Limits struct {
	// Body limits the bytes of a request, BodyTime the time in which they come. Default 4 MiB, 30 seconds.
	Body     int64
	BodyTime time.Duration
	// Depth limits the nesting of its JSON. Default 64.
	Depth int
	// Messages limits the messages of a request, MessageBytes the text of one. Default 500, 1 MiB.
	Messages, MessageBytes int
	// MediaBytes limits the bytes of the media of a message in base64. Default 8 MiB, which needs a larger Body.
	MediaBytes int
	// WaitingPerPrincipal limits the runs of a principal that wait for answers. Default 256.
	WaitingPerPrincipal int
	// Runs limits the runs that are executed or due at a time, RunsPerPrincipal the runs of one principal. Default 256, 16.
	Runs, RunsPerPrincipal int
	// StartsPerMinute limits the runs that a principal starts a minute, in this process. Default 60.
	StartsPerMinute int
	// Watchers limits the requests of this process that watch a run. Default 32.
	Watchers int
	// ClientTools limits the tools that a client brings, ClientToolBytes the length of their schemas. Default 64, 256 KiB.
	ClientTools, ClientToolBytes int
	// FormatBytes limits the length of the format of an answer (see [Format]). Default 64 KiB.
	FormatBytes int
}

func (l Limits) withDefaults() Limits {
	for value, byDefault := range map[*int]int{&l.Depth: 64, &l.Messages: 500, &l.MessageBytes: 1 << 20,
		&l.MediaBytes: 8 << 20, &l.WaitingPerPrincipal: 256, &l.Runs: 256,
		&l.RunsPerPrincipal: 16, &l.StartsPerMinute: 60, &l.Watchers: 32, &l.ClientTools: 64, &l.ClientToolBytes: 256 << 10,
		&l.FormatBytes: 64 << 10} {
		if *value <= 0 {
			*value = byDefault
		}
	}
	if l.Body <= 0 {
		l.Body = 4 << 20
	}
	if l.BodyTime <= 0 {
		l.BodyTime = 30 * time.Second
	}
	return l
}

// check says what is wrong with a configuration.
func (c *TypedConfig[M]) check() error {
	_, forks := c.Front.(dispatch.Forker)
	switch {
	case c.AllowFork && c.Front != nil && !forks:
		return fmt.Errorf("serve: Config.AllowFork needs a Front that offers dispatch.Forker, and %T does not", c.Front)
	case len(c.Agents) == 0:
		return errors.New("serve: set Config.Agents to the agents that clients may run")
	case c.Front != nil && (c.Store != nil || c.Events != nil):
		return errors.New("serve: Config.Front has a store and events of its own: do not set Store and Events with it")
	case c.TicketKey != nil && len(c.TicketKey) < 16:
		return errors.New("serve: Config.TicketKey needs at least 16 bytes")
	case c.Busy < RejectBusy || c.Busy > PreemptBusy:
		return fmt.Errorf("serve: Config.Busy is no policy: %d", c.Busy)
	case c.Linger < 0 && c.Front == nil && c.Events == nil:
		return errors.New("serve: Config.Linger is negative: without Config.Events nobody could read what has happened")
	case c.MaxRunTime < 0:
		return errors.New("serve: Config.MaxRunTime is negative")
	}
	for _, origin := range c.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return fmt.Errorf("serve: Config.Origins: %q is no origin: write scheme, host and port, such as https://app.example.com",
				origin)
		}
	}
	return nil
}
