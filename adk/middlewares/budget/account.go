package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftgo/weft/schema"
)

// Limits are the limits of an account; 0 is no limit.
type Limits struct {
	// ModelCalls and ToolCalls limit calls. Retries count.
	ModelCalls, ToolCalls int
	// Tokens limits the tokens of prompts and answers together, as providers report them.
	Tokens int64
	// Money limits the price, in the currency of [Config.Prices] and of [Config.Catalogue]; what providers report
	// themselves is in US dollars.
	Money float64
	// WallTime limits the time since the account was opened. Time in which a run was interrupted does not count. A call
	// that continues is not stopped: give the run a context with a deadline for that.
	WallTime time.Duration
}

// Spent is the amount spent.
type Spent struct {
	ModelCalls, ToolCalls int
	Tokens                int64
	Money                 float64
	WallTime              time.Duration
}

func init() { schema.RegisterName[Spent]("_weft_budget_spent") }

func (s *Spent) add(more Spent) {
	s.ModelCalls += more.ModelCalls
	s.ToolCalls += more.ToolCalls
	s.Tokens += more.Tokens
	s.Money += more.Money
}

// Limit names a limit.
type Limit string

// The limits.
const (
	LimitModelCalls Limit = "model calls"
	LimitToolCalls  Limit = "tool calls"
	LimitTokens     Limit = "tokens"
	LimitMoney      Limit = "money"
	LimitWallTime   Limit = "wall time"
)

// ErrExceeded is wrapped by every [*ExceededError].
var ErrExceeded = errors.New("the budget is used up")

// ExceededError says which limit ended a run.
type ExceededError struct {
	Limit  Limit
	Limits Limits
	Spent  Spent
}

// ErrorType returns the name of the error for traces and logs: see adk.ErrorType.
func (e *ExceededError) ErrorType() string { return "budget_exceeded" }

// Error names the limit and what was spent.
func (e *ExceededError) Error() string {
	var used, allowed any
	switch e.Limit {
	case LimitModelCalls:
		used, allowed = e.Spent.ModelCalls, e.Limits.ModelCalls
	case LimitToolCalls:
		used, allowed = e.Spent.ToolCalls, e.Limits.ToolCalls
	case LimitTokens:
		used, allowed = e.Spent.Tokens, e.Limits.Tokens
	case LimitMoney:
		used, allowed = e.Spent.Money, e.Limits.Money
	default:
		used, allowed = e.Spent.WallTime.Round(time.Millisecond), e.Limits.WallTime
	}
	return fmt.Sprintf("%v: %s: %v of %v", ErrExceeded, e.Limit, used, allowed)
}

// Unwrap returns [ErrExceeded].
func (e *ExceededError) Unwrap() error { return ErrExceeded }

// Account counts what is spent. It is safe for concurrent use.
type Account struct {
	mu     *sync.Mutex // guards all but the first four fields; one for all accounts that are below each other
	limits Limits
	parent *Account
	owner  any // the middleware that opened it, nil for one that lasts longer
	ledger *ledger

	began time.Time
	spent Spent
	// own is the amount that the run spent itself, with the amounts of runs below it that have ended. It is saved with
	// the run.
	own      Spent
	restored bool
	final    bool // the last answer is being given, or was
}

// NewAccount opens an account that lasts as long as the caller keeps it, for any number of runs. Its time begins now.
func NewAccount(limits Limits) *Account {
	return &Account{mu: new(sync.Mutex), limits: limits, began: time.Now()}
}

type accountKey struct{}

// NewContext returns a context in which runs spend from an account, if their agents have the middleware.
func NewContext(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// FromContext returns the account of a run, for its hooks and tools; nil if there is none.
func FromContext(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// open opens an account below another one, which may be nil.
func open(limits Limits, parent *Account, owner any) *Account {
	a := NewAccount(limits)
	a.parent, a.owner = parent, owner
	if parent != nil {
		a.mu = parent.mu
	}
	return a
}

// Spent returns the amount spent until now, also by runs below.
func (a *Account) Spent() Spent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now()
}

func (a *Account) now() Spent {
	s := a.spent
	s.WallTime = time.Since(a.began)
	return s
}

// Add spends without asking: what was spent elsewhere, or by an earlier process. Its WallTime counts, too.
func (a *Account) Add(s Spent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spend(s)
	a.began = a.began.Add(-s.WallTime)
}

// spend adds to an account and all above it.
func (a *Account) spend(s Spent) {
	a.own.add(s)
	for x := a; x != nil; x = x.parent {
		x.spent.add(s)
	}
}

// Exceeded returns an [*ExceededError] if a limit of the account, or of one above it, is reached for the next call of
// the model.
func (a *Account) Exceeded() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.exceeded(Spent{ModelCalls: 1})
}

// exceeded asks an account and all above it for a call.
func (a *Account) exceeded(call Spent) error {
	for x := a; x != nil; x = x.parent {
		now, l := x.now(), x.limits
		var limit Limit
		switch {
		case l.ModelCalls > 0 && call.ModelCalls > 0 && now.ModelCalls >= l.ModelCalls:
			limit = LimitModelCalls
		case l.ToolCalls > 0 && call.ToolCalls > 0 && now.ToolCalls >= l.ToolCalls:
			limit = LimitToolCalls
		case l.Tokens > 0 && now.Tokens >= l.Tokens:
			limit = LimitTokens
		case l.Money > 0 && now.Money >= l.Money:
			limit = LimitMoney
		case l.WallTime > 0 && now.WallTime >= l.WallTime:
			limit = LimitWallTime
		default:
			continue
		}
		return &ExceededError{Limit: limit, Limits: l, Spent: now}
	}
	return nil
}

// begin asks for a call and spends it. The last answer is not asked for. Where an account is stored the call is written
// down before it begins: it counts also if the process dies in it.
func (a *Account) begin(ctx context.Context, call Spent) error {
	if err := a.take(call); err != nil {
		return err
	}
	return a.store(ctx)
}

func (a *Account) take(call Spent) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.exceeded(call); err != nil && (!a.final || call.ToolCalls > 0) {
		return err
	}
	a.spend(call)
	return nil
}

// used spends what a call turned out to cost.
func (a *Account) used(s Spent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spend(s)
}

// limitsMoney reports whether prices matter.
func (a *Account) limitsMoney() bool {
	for x := a; x != nil; x = x.parent {
		if x.limits.Money > 0 {
			return true
		}
	}
	return false
}
