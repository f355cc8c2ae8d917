package nats

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// clockAge is how long the clock is believed without asking the server again.
const clockAge = 10 * time.Second

// clock is that of the server. It asks for the time now and then and counts on from there, by the monotonic clock of
// this process: nothing depends on what time it is here. It is late by less than the answer took to come, and so two
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
	server, err := c.ask(ctx)
	if err != nil {
		return time.Time{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.here = server, time.Now()
	return server.Truncate(time.Microsecond), nil
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
