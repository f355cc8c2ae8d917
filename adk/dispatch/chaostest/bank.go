package chaostest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// request is a request of a tool to the bank.
type request struct {
	Tenant, Run string
	// Do and Name come from the step, and Says holds what the tool has to say: the answer that a question got.
	Do, Name, Says string
	// Key is the idempotency key of the call, Token the token of the lease, and Worker the process.
	Key    string
	Token  uint64
	Worker int
	// Looks says that nothing is to be booked: it asks what was booked under the key.
	Looks bool `json:",omitempty"`
}

// run names the run of a request among the runs of all tenants.
func (r *request) run() runID { return runID{r.Tenant, r.Run} }

// runID names a run among the runs of all tenants.
type runID struct{ tenant, id string }

func (r runID) String() string { return r.tenant + " " + r.id }

// booking is a request that the bank has accepted. Again says that the key had been booked: then nothing was paid.
type booking struct {
	request
	at    time.Time
	again bool
	// before is the worker that made the booking that there was.
	before int
}

// chance says what happens to a request before the bank looks at it.
type chance int

const (
	passes  chance = iota // nothing
	drops                 // it does not arrive
	isLate                // it arrives after a while
	isCutof               // it arrives, and the answer does not
)

// bank is a service somewhere else. It takes a request of a run if no request with a higher token has come, books each key
// once, and remembers what it was asked in the order in which it came.
type bank struct {
	story *story
	// meets decides what happens to a request.
	meets func(r *request) (chance, time.Duration)

	mu sync.Mutex // guards the fields below
	// fences are the greatest tokens that were seen of runs.
	fences map[runID]uint64
	// booked is the first booking of a key.
	booked   map[string]booking
	bookings []booking
	refused  int
}

func newBank(s *story) *bank {
	return &bank{story: s, meets: func(*request) (chance, time.Duration) { return passes, 0 },
		fences: map[runID]uint64{}, booked: map[string]booking{}}
}

// ServeHTTP takes the request of a tool.
func (b *bank) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	var r request
	if err := json.NewDecoder(h.Body).Decode(&r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	what, late := b.meets(&r)
	switch what {
	case drops:
		b.tell(&r, "does not arrive")
		panic(http.ErrAbortHandler)
	case isLate:
		b.tell(&r, "arrives late")
		time.Sleep(late)
	}
	text, err := b.take(r)
	switch {
	case what == isCutof:
		panic(http.ErrAbortHandler)
	case err != nil:
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		_, _ = fmt.Fprint(w, text)
	}
}

func (b *bank) tell(r *request, what string) {
	b.story.add(r.run(), fmt.Sprint("worker ", r.Worker), "%s %s (key %.8s, token %d): %s", r.Do, r.Name, r.Key, r.Token, what)
}

// take books a request, or looks. It refuses a process that has lost its run.
func (b *bank) take(r request) (text string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if fence := b.fences[r.run()]; r.Token == 0 || r.Token < fence {
		b.refused++
		b.tell(&r, fmt.Sprintf("refused, another process had token %d", fence))
		return "", fmt.Errorf("another process has run %q", r.Run)
	}
	b.fences[r.run()] = r.Token
	before, exists := b.booked[r.Key]
	text = receipt(r.Do, r.Name)
	if r.Says != "" {
		text = r.Says
	}
	if r.Looks {
		if !exists {
			text = ""
		}
		b.tell(&r, fmt.Sprintf("looks, and finds %q", text))
		return text, nil
	}
	made := booking{request: r, at: time.Now(), again: exists, before: before.Worker}
	b.bookings = append(b.bookings, made)
	if !exists {
		b.booked[r.Key] = made
	}
	b.tell(&r, fmt.Sprintf("booked (again: %t)", exists))
	return text, nil
}

// decides tells a person whether a key was booked, and sees to it that what a process with a token up to this one still asks
// is refused.
func (b *bank) decides(run runID, key string, token uint64) (found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fences[run] = max(b.fences[run], token+1)
	_, found = b.booked[key]
	b.story.add(run, "person", "looks for key %.8s, and finds it: %t", key, found)
	return found
}

// all returns what was booked.
func (b *bank) all() []booking {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]booking(nil), b.bookings...)
}
