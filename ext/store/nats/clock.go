package nats

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// clockAge is the time for which the clock is believed without asking the server again.
const clockAge = 10 * time.Second

// clock is the clock of the server. It asks for the time now and then and counts on from there, by the monotonic clock
// of this process: nothing depends on what time it is here. It is late by less than the answer took to come, and so two
// processes agree on when a lease ends up to that.
type clock struct {
	wire *wire

	mu sync.Mutex // guards the fields below
	// server is the time that the server said, here the time when that was heard.
	server, here time.Time
}

// now is the time of the server, in whole microseconds.
func (c *clock) now(ctx context.Context) (time.Time, error) {
	c.mu.Lock()
	server, here := c.server, c.here
	c.mu.Unlock()
	if !here.IsZero() {
		passed, wall := time.Since(here), time.Now().Round(0).Sub(here.Round(0))
		if passed < clockAge && wall < clockAge { // a machine that sleeps counts by the latter alone
			return server.Add(passed).Truncate(time.Microsecond), nil
		}
	}
	asked := time.Now()
	server, err := c.ask(ctx)
	if err != nil {
		return time.Time{}, err
	}
	heard := time.Now()
	if !here.IsZero() { // an answer that took longer than the last one must not set the clock back
		if counted := c.counted(heard); counted.Sub(server) <= heard.Sub(asked) && counted.After(server) {
			server = counted
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.here = server, heard
	return server.Truncate(time.Microsecond), nil
}

// counted is the time that the clock would show, counted on from the last answer of the server.
func (c *clock) counted(heard time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.Add(heard.Sub(c.here))
}

// reached moves the clock on to a time that the server has put on a message: it is that late at least. An answer that
// was long on its way leaves the clock behind, and what was written meanwhile would be of the future.
func (c *clock) reached(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); !c.here.IsZero() && c.server.Add(now.Sub(c.here)).Before(at) {
		c.server, c.here = at, now
	}
}

// ask has the server say what time it is, as part of what it knows of the stream.
func (c *clock) ask(ctx context.Context) (time.Time, error) {
	var answer struct {
		Error *jetstream.APIError
		TS    time.Time `json:"ts"`
	}
	err := c.wire.request(ctx, "STREAM.INFO", nil, &answer)
	if err == nil && answer.Error != nil {
		err = answer.Error
	}
	return answer.TS, err
}
