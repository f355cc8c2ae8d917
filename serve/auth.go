package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/internal/signed"
)

// Principal identifies the caller of a request.
type Principal struct {
	// ID names the principal, in the application. Runs and threads belong to it.
	ID string
	// Scopes lists the groups and roles of the principal. Questions can wait for one of them.
	Scopes []string
}

// Verb names an operation on runs, threads or agents.
type Verb string

// The verbs.
const (
	ListAgents   Verb = "list_agents"
	StartRun     Verb = "start"
	ReadRun      Verb = "read"
	ReplyRun     Verb = "reply"
	StopRun      Verb = "stop"
	ReadThread   Verb = "read_thread"
	DeleteThread Verb = "delete_thread"
	ReadSteps    Verb = "read_steps"
	ForkRun      Verb = "fork"
)

// isApprovers reports whether who is to answer a question of another's run may do that with the run.
func (v Verb) isApprovers() bool { return v == ReadRun || v == ReplyRun }

// Action describes an operation and its target, for Config.Authorize.
type Action struct {
	Verb Verb
	// Agent, Run and Thread are what it is done with, empty if unknown.
	Agent, Run, Thread string
}

// clientID matches the names that a client may give.
var clientID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// owner is the principal as a tag of runs and part of the IDs of conversations: short, of few characters, and another one
// for each principal.
func (p Principal) owner() string {
	if clientID.MatchString(p.ID) && !strings.HasPrefix(p.ID, "h:") {
		return p.ID
	}
	sum := sha256.Sum256([]byte(p.ID))
	return "h:" + hex.EncodeToString(sum[:16])
}

// authenticate says who makes a request.
func (s *Server) authenticate(r *http.Request) (Principal, error) {
	if s.settings.auth == nil {
		if s.settings.allowAnonymous {
			return Principal{ID: "anonymous"}, nil
		}
		if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) {
			return Principal{}, NewProblem(Forbidden,
				"this server serves its own machine only: its operator sets Config.Auth or Config.AllowAnonymous to serve others")
		}
		return Principal{ID: "local"}, nil
	}
	p, err := s.settings.auth(r)
	if err != nil {
		refused := ProblemOf(err)
		if refused.Code == Internal {
			refused = &Problem{Code: Unauthorized, Title: "who makes the request is not known", Cause: err}
		}
		return p, refused
	}
	if p.ID == "" {
		return p, &Problem{Code: Unauthorized, Title: "who makes the request is not known"}
	}
	return p, nil
}

// isLoopback reports whether an address or a Host header names this machine, as seen from itself.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ticketTime is the time for which a ticket is good.
const ticketTime = time.Minute

// tickets makes and takes tickets: a client that cannot send headers, as a browser's EventSource, shows one instead of
// what it authenticates with. A ticket is for one run and one request.
type tickets struct {
	key []byte

	mu sync.Mutex // guards used
	// used are the tickets that were shown, until they expire anyway.
	used map[string]time.Time
}

func newTickets(key []byte) *tickets {
	if key == nil {
		key = []byte(rand.Text())
	}
	return &tickets{key: key, used: map[string]time.Time{}}
}

// ticket is the signed part of a ticket.
type ticket struct {
	Run     string    `json:"r"`
	ID      string    `json:"p"`
	Scopes  []string  `json:"s,omitempty"`
	Nonce   string    `json:"n"`
	Expires time.Time `json:"e"`
}

// ticketPurpose is the purpose that tickets are sealed for.
const ticketPurpose = "weft ticket"

// make makes the ticket of a principal for a run.
func (t *tickets) make(p Principal, run string) (string, error) {
	return signed.Seal(t.key, ticketPurpose,
		ticket{Run: run, ID: p.ID, Scopes: p.Scopes, Nonce: rand.Text(), Expires: time.Now().Add(ticketTime)})
}

// take uses a ticket up, and returns whose it is.
func (t *tickets) take(text, run string) (Principal, error) {
	refused := NewProblem(Unauthorized, "the ticket is not valid, or not any more")
	var shown ticket
	if !signed.Open(t.key, ticketPurpose, text, &shown) || shown.Run != run || time.Now().After(shown.Expires) {
		return Principal{}, refused
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for nonce, expires := range t.used {
		if now.After(expires) {
			delete(t.used, nonce)
		}
	}
	if _, used := t.used[shown.Nonce]; used {
		return Principal{}, refused
	}
	t.used[shown.Nonce] = shown.Expires
	return Principal{ID: shown.ID, Scopes: shown.Scopes}, nil
}

// callerKey asks the context of a request for the Caller that Protect has authenticated.
type callerKey struct{}

// authorize asks Config.Authorize.
func (c *Caller) authorize(ctx context.Context, a Action) error {
	if c.server.settings.authorize == nil {
		return nil
	}
	err := c.server.settings.authorize(ctx, c.principal, a)
	if err == nil {
		return nil
	}
	p := ProblemOf(err)
	if p.Code == Internal {
		p = &Problem{Code: Forbidden, Title: "that is not allowed", Cause: err}
	}
	return p
}
