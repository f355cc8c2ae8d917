package mcptool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// linkState is the state of the connection of a server. The link is its only owner, and moves it so:
//
//	idle       --use------> connecting
//	connecting --success--> connected
//	connecting --failure--> idle
//	connected  --lost-----> idle
//	any        --Close----> closed
type linkState int

const (
	idle linkState = iota
	connecting
	connected
	closed
)

// Pauses between attempts to connect.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// mostAbandoned limits the attempts that are still running although no caller waits for them any more: while there are
// as many, no other attempt begins.
const mostAbandoned = 4

// longestClose limits how long close waits for what does not end: longer than a program may take to stop.
const longestClose = 2*patience + 2*time.Second

// session is one connection to the server.
type session struct {
	*mcp.ClientSession
	*wire
	// ended is closed by the link when the connection is lost.
	ended chan struct{}
	// report reports the end of the connection to handlers of callbacks. The link calls it once.
	report func(error)
	// listed: the SDK knows the tools of this connection.
	listed atomic.Bool
	// users counts the requests that use it. The link guards it.
	users int
}

// attempt is one attempt to connect, for all callers that wait for it. session and err are set before done is closed.
type attempt struct {
	done    chan struct{}
	session *session
	err     error
}

// link is the connection of a server, made again whenever it is needed and lost.
type link struct {
	connect func(ctx context.Context) (*session, error)
	timeout time.Duration
	// life ends with close. Everything that the link starts ends with it.
	life context.Context
	end  context.CancelCauseFunc
	// running counts the goroutines of the link, and abandoned those attempts that go on after their limit.
	running   sync.WaitGroup
	abandoned atomic.Int32

	// mu guards the fields below. It is held for moments only, and no other lock is taken under it.
	mu      sync.Mutex
	state   linkState
	attempt *attempt // of connecting
	session *session // of connected
	// retired are connections that were lost, but for the requests that still use them.
	retired map[*session]bool
	// failures are the attempts that failed since the last success, and notBefore is when the next one may begin.
	failures  int
	notBefore time.Time
	// generation counts the connections that there were.
	generation int
}

func newLink(timeout time.Duration, connect func(context.Context) (*session, error)) *link {
	l := &link{connect: connect, timeout: timeout, retired: map[*session]bool{}}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

// use returns the connection, and makes it if there is none. It must be released. Callers at the same time share one
// attempt, which has the values of the first one's context and outlives it.
func (l *link) use(ctx context.Context) (*session, error) {
	l.mu.Lock()
	switch l.state {
	case closed:
		l.mu.Unlock()
		return nil, errClosed
	case connected:
		defer l.mu.Unlock()
		l.session.users++
		return l.session, nil
	case idle:
		l.state = connecting
		l.attempt = &attempt{done: make(chan struct{})}
		pause := time.Until(l.notBefore)
		l.running.Add(1)
		go l.try(context.WithoutCancel(ctx), l.attempt, pause)
	}
	a := l.attempt
	l.mu.Unlock()
	select {
	case <-a.done:
		if a.err == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			a.session.users++
		}
		return a.session, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// release ends what use began.
func (l *link) release(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 && l.retired[s] {
		delete(l.retired, s)
		l.closeLater(s)
	}
}

// closeLater closes a connection. l.mu is held, so that close waits for it.
func (l *link) closeLater(s *session) {
	l.running.Add(1)
	go func() {
		defer l.running.Done()
		_ = s.Close()
	}()
}

// try makes one attempt, after a pause.
func (l *link) try(ctx context.Context, a *attempt, pause time.Duration) {
	defer l.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	ctx, stop := context.WithTimeoutCause(ctx, l.timeout, fmt.Errorf("no connection within %v", l.timeout))
	defer stop()
	var made *session
	err := context.Cause(ctx)
	if err == nil {
		made, err = l.connectWithin(ctx)
		if cause := context.Cause(ctx); err != nil && cause != nil && l.life.Err() == nil {
			err = cause
		}
	}
	l.settle(a, made, err)
}

// connectWithin connects, and returns when the context has ended, whatever the attempt does: it is abandoned then, and
// what it connects is closed.
func (l *link) connectWithin(ctx context.Context) (*session, error) {
	if n := l.abandoned.Load(); n >= mostAbandoned {
		return nil, fmt.Errorf("%d attempts to connect were given up and have not ended", n)
	}
	var made *session
	var err error
	done := make(chan struct{}) // is closed when made and err are set
	l.running.Add(1)
	go func() {
		defer l.running.Done()
		defer close(done)
		made, err = l.protectedConnect(ctx)
	}()
	select {
	case <-done:
		return made, err
	case <-ctx.Done():
	}
	l.abandoned.Add(1)
	l.running.Add(1)
	go func() {
		defer l.running.Done()
		defer l.abandoned.Add(-1)
		<-done
		if made != nil {
			_ = made.Close()
			made.report(nil)
		}
	}()
	return nil, context.Cause(ctx)
}

func (l *link) protectedConnect(ctx context.Context) (s *session, err error) {
	defer recovered("Transport", &err)
	return l.connect(ctx)
}

// settle ends an attempt.
func (l *link) settle(a *attempt, made *session, err error) {
	l.mu.Lock()
	switch {
	case l.state == closed:
		a.err = errClosed
	case err != nil:
		l.state, l.attempt, a.err = idle, nil, err
		l.failures++
		l.notBefore = time.Now().Add(pauseAfter(l.failures))
	default:
		l.state, l.attempt, l.session, a.session = connected, nil, made, made
		l.failures = 0
		l.generation++
		l.running.Add(1)
		go l.watch(made)
		made = nil
	}
	l.mu.Unlock()
	close(a.done)
	if made != nil {
		_ = made.Close()
		made.report(nil)
	}
}

// pauseAfter is the time to wait after some failures in a row: half of it is by chance, so that many clients of a
// server that comes back do not come at once.
func pauseAfter(failures int) time.Duration {
	pause := min(firstPause<<min(failures-1, 10), longestPause)
	return pause/2 + rand.N(pause/2+1)
}

// watch waits for the end of a connection, or of the notices that come over it.
func (l *link) watch(s *session) {
	defer l.running.Done()
	over := make(chan struct{})
	var why error // set before over is closed
	go func() {
		defer close(over)
		why = s.Wait()
	}()
	select {
	case <-over:
	case <-s.silent:
	}
	l.lost(s)
	<-over
	_ = s.Close()
	s.report(why)
}

// lost says that a connection is of no use any more. Requests that have a connection of their own are not disturbed.
func (l *link) lost(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != connected || l.session != s {
		return
	}
	l.state, l.session = idle, nil
	close(s.ended)
	if s.apart && s.users > 0 {
		l.retired[s] = true
		return
	}
	l.closeLater(s)
}

// current is the number of connections made so far. What was read from the server belongs to one of them.
func (l *link) current() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}

// close ends the connection and whatever uses it, and waits for that, but not longer than longestClose.
func (l *link) close() error {
	l.mu.Lock()
	s := l.session
	l.state, l.session = closed, nil
	for old := range l.retired {
		l.closeLater(old)
	}
	clear(l.retired)
	l.mu.Unlock()
	l.end(errClosed)
	done := make(chan error, 1)
	go func() {
		var err error
		if s != nil {
			err = s.Close()
		}
		l.running.Wait()
		done <- err
	}()
	timer := time.NewTimer(longestClose)
	defer timer.Stop()
	select {
	case err := <-done:
		if errors.Is(err, mcp.ErrConnectionClosed) {
			return nil
		}
		return err
	case <-timer.C:
		return fmt.Errorf("the connection has not ended within %v, and is abandoned", longestClose)
	}
}
