package serve

import (
	"context"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// starts counts the runs that principals start, minute by minute.
type starts struct {
	mu     sync.Mutex // guards the fields below
	minute time.Time
	counts map[string]int
}

// allow counts one more, or returns when the next one is allowed.
func (s *starts) allow(owner string, most int) (after time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if since := now.Sub(s.minute); since >= time.Minute || since < 0 {
		s.minute, s.counts = now, map[string]int{}
	}
	if s.counts[owner] >= most {
		return time.Minute - now.Sub(s.minute), false
	}
	s.counts[owner]++
	return 0, true
}

// load counts the runs that are executed or due, of all processes. It asks the store now and then, and counts what is
// started here in between. While the store is asked, other requests go by what is known. It does not learn of runs that
// end, so none is refused before the store was asked about the runs that were started here.
type load struct {
	mu    sync.Mutex // guards the fields below; it is not held while the store is asked
	asked time.Time
	// answered is closed when the store has been asked, nil while no request asks.
	answered chan struct{}
	runs     int
	// begun counts the runs that were started here since the store was asked: its answer may lack them, and they may have
	// ended since.
	begun int
}

// askLoad is the interval at which the store is asked.
const askLoad = 250 * time.Millisecond

// add counts a run that is about to be started, and reports whether there is room for it.
func (l *load) add(ctx context.Context, store executor, most int) (bool, error) {
	if answered, mine := l.begin(false); mine {
		if err := l.ask(ctx, store, most, answered); err != nil {
			return false, err
		}
	}
	if room, known := l.take(most); room || known {
		return room, nil
	}
	answered, mine := l.begin(true)
	if mine {
		if err := l.ask(ctx, store, most, answered); err != nil {
			return false, err
		}
	} else {
		select {
		case <-answered:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	room, _ := l.take(most)
	return room, nil
}

// take counts a run if there is room for it. It reports whether that is known: there may be room all the same if runs that
// were started here are counted.
func (l *load) take(most int) (room, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs >= most {
		return false, l.begun == 0 && l.answered == nil
	}
	l.runs++
	l.begun++
	return true, true
}

// begin reports whether the caller has to ask the store: no other request does, and what is known is old or in doubt. While
// a request asks, it returns the channel that is closed when there is an answer.
func (l *load) begin(doubt bool) (answered chan struct{}, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered != nil || !doubt && time.Since(l.asked) <= askLoad {
		return l.answered, false
	}
	l.answered, l.begun = make(chan struct{}), 0
	return l.answered, true
}

// ask asks the store. The next request asks again if that fails.
func (l *load) ask(ctx context.Context, store executor, most int, answered chan struct{}) error {
	n := -1
	defer func() { // also if the store panics
		l.mu.Lock()
		defer l.mu.Unlock()
		l.answered = nil
		close(answered)
		if n >= 0 {
			l.asked, l.runs = time.Now(), n+l.begun
		} else {
			l.asked = time.Time{}
		}
	}()
	counted, err := store.count(ctx, runs.Query{Status: executedOrDue, Limit: most})
	if err == nil {
		n = counted
	}
	return err
}

// executedOrDue are the statuses of runs that cost something now, waiting the statuses of runs that wait for answers.
var (
	executedOrDue = []runs.Status{runs.Ready, runs.Running}
	waiting       = []runs.Status{runs.Waiting}
)

// reservations are runs of principals that are being submitted, and may not be in the store yet. Principals do not wait for
// each other.
type reservations struct {
	mu     sync.Mutex // guards owners, and the users of each
	owners map[string]*reserved
}

// reserved are the runs of one principal. It exists while a caller uses it.
type reserved struct {
	users int
	mu    sync.Mutex // guards runs; it is held while the principal's runs are counted, so that two do not take one place
	runs  int
}

// take takes a place for a run of a principal, of whose runs others are counted, unless there are as many as there may be.
// release gives it back, when the run is in the store or is not made.
func (r *reservations) take(owner string, most int, others func() (int, error)) (release func(), ok bool, err error) {
	p := r.of(owner)
	if ok, err = p.take(most, others); !ok {
		r.leave(owner, p)
		return nil, false, err
	}
	return func() {
		p.mu.Lock()
		p.runs--
		p.mu.Unlock()
		r.leave(owner, p)
	}, true, nil
}

func (p *reserved) take(most int, others func() (int, error)) (ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := others()
	if err != nil || n+p.runs >= most {
		return false, err
	}
	p.runs++
	return true, nil
}

func (r *reservations) of(owner string) *reserved {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.owners[owner]
	if p == nil {
		p = new(reserved)
		if r.owners == nil {
			r.owners = map[string]*reserved{}
		}
		r.owners[owner] = p
	}
	p.users++
	return p
}

func (r *reservations) leave(owner string, p *reserved) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(r.owners, owner)
	}
}
