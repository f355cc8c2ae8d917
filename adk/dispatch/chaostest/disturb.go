package chaostest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

// crowd is the worker processes. One that ends is replaced.
type crowd struct {
	start func(number int) (process, error)
	story *story
	proxy *checkpointtest.Proxy

	mu sync.Mutex // guards the fields below
	// at are the processes at work, one at each place.
	at []*member
	// started numbers the processes.
	started int
	// hurried has the processes that were ended in a hurry.
	hurried map[int]bool
	// errs has the errors of processes that were to end by themselves.
	errs []error
	// calm says that nothing is disturbed any more.
	calm bool
	// later has the goroutines that thaw processes, and wait for them.
	later  sync.WaitGroup
	counts map[string]int
}

// process is a worker process.
type process interface {
	// kill ends it at once, and freeze has it stand still until it is thawed. They are false if that cannot be done to it.
	kill() bool
	freeze() bool
	thaw()
	// drain asks it to end, in a hurry or not.
	drain(hurry bool)
	// wait returns when it has ended, with the error if it was to end well.
	wait() error
}

// state is the state of a process. The crowd owns it.
//
//	from    to      when
//	works   frozen  it is frozen
//	frozen  works   its time is over
//	works   killed  it is killed
//	works   drains  it is asked to end
type state int

const (
	works state = iota
	frozen
	killed
	drains
)

// member is a process of a crowd. The crowd's mutex guards it.
type member struct {
	process
	number int
	state  state
}

func newCrowd(n int, s *story, proxy *checkpointtest.Proxy, start func(number int) (process, error)) *crowd {
	return &crowd{start: start, story: s, proxy: proxy, at: make([]*member, n), hurried: map[int]bool{}, counts: map[string]int{}}
}

// fill starts the processes.
func (c *crowd) fill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for place := range c.at {
		if err := c.begin(place); err != nil {
			return err
		}
	}
	return nil
}

// abandon ends what is left of the processes of a test that has failed.
func (c *crowd) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
	for _, m := range c.at {
		if m != nil {
			_ = m.kill()
		}
	}
}

// begin starts a process at a place, with mu locked.
func (c *crowd) begin(place int) error {
	c.started++
	p, err := c.start(c.started)
	if err != nil {
		return err
	}
	c.at[place] = &member{process: p, number: c.started}
	c.story.add(runID{}, fmt.Sprint("worker ", c.started), "begins")
	return nil
}

// replace has another process take a place, and waits for the one that ends.
func (c *crowd) replace(place int) {
	m := c.at[place]
	c.later.Go(func() {
		err := m.wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.story.add(runID{}, fmt.Sprint("worker ", m.number), "has ended: %v", err)
		if err != nil && m.state == drains {
			c.errs = append(c.errs, fmt.Errorf("worker %d was to end by itself: %w", m.number, err))
		}
	})
	if err := c.begin(place); err != nil {
		c.errs = append(c.errs, err)
	}
}

// place is the place where a process is that works, -1 if it does not.
func (c *crowd) place(number int) int {
	for i, m := range c.at {
		if m.number == number && m.state == works {
			return i
		}
	}
	return -1
}

// kill ends the process with a number.
func (c *crowd) kill(number int, why string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.place(number)
	if i < 0 || c.calm || !c.at[i].kill() {
		return false
	}
	c.at[i].state = killed
	c.did(number, "killed", why)
	c.replace(i)
	return true
}

func (c *crowd) did(number int, what, why string) {
	c.counts[what]++
	c.story.add(runID{}, fmt.Sprint("worker ", number), "is %s: %s", what, why)
}

// freeze has a process stand still for a time. One that has a place stays there.
func (c *crowd) freeze(number int, d time.Duration, why string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.place(number)
	if i < 0 || c.calm || !c.at[i].freeze() {
		return false
	}
	m := c.at[i]
	m.state = frozen
	c.did(number, "frozen", why)
	c.later.Go(func() {
		time.Sleep(d)
		c.mu.Lock()
		defer c.mu.Unlock()
		if m.state == frozen {
			m.state = works
			m.thaw()
			c.story.add(runID{}, fmt.Sprint("worker ", number), "is thawed")
		}
	})
	return true
}

// drain asks a process to end.
func (c *crowd) drain(number int, hurry bool, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.place(number)
	if i < 0 {
		return
	}
	what := "drained"
	if hurry {
		c.hurried[number] = true
		what = "drained in a hurry"
	}
	c.did(number, what, why)
	c.at[i].state = drains
	c.at[i].drain(hurry)
	if !c.calm {
		c.replace(i)
	}
}

// numbers are the numbers of the processes that work.
func (c *crowd) numbers() (all []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.at {
		if m.state == works {
			all = append(all, m.number)
		}
	}
	return all
}

// disturb does something to the processes or to their network.
func (c *crowd) disturb(r *rand.Rand) {
	all := c.numbers()
	if len(all) == 0 {
		return
	}
	number := all[r.IntN(len(all))]
	what := r.IntN(12)
	if c.proxy == nil {
		what = r.IntN(8)
	}
	switch what {
	case 0, 1, 2:
		c.kill(number, "at random")
	case 3, 4:
		c.freeze(number, leaseTime+upTo(r, leaseTime), "at random")
	case 5:
		c.drain(number, false, "at random")
	case 6:
		c.drain(number, true, "at random")
	case 7: // a rolling restart
		for _, number := range all {
			c.drain(number, false, "all are restarted")
		}
	case 8, 9:
		c.story.add(runID{}, "network", "every connection is cut")
		c.proxy.Cut()
		c.count("cut")
	case 10:
		c.story.add(runID{}, "network", "answers are lost and late for a while")
		c.proxy.Lose(true)
		c.later.Go(func() {
			time.Sleep(leaseTime)
			c.proxy.Lose(false)
		})
		c.count("lossy")
	case 11:
		d := leaseTime/2 + upTo(r, 2*leaseTime)
		c.story.add(runID{}, "network", "nothing passes for %s", d)
		c.proxy.Stall(d)
		if r.IntN(2) == 0 { // what was sent meanwhile never arrives
			c.later.Go(func() {
				time.Sleep(d * 9 / 10)
				c.proxy.Cut()
			})
		}
		c.count("stalled")
	}
}

// upTo is a random time.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

func (c *crowd) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

// meets decides what happens to a request on its way to the bank, and to the process that sent it.
func (c *crowd) meets(r *rand.Rand) func(*request) (chance, time.Duration) {
	var mu sync.Mutex // guards r
	return func(q *request) (chance, time.Duration) {
		mu.Lock()
		what, late := r.IntN(60), upTo(r, 2*leaseTime)
		mu.Unlock()
		why := fmt.Sprintf("while it calls the bank for %s", q.Name)
		switch what {
		case 0:
			if c.kill(q.Worker, why) {
				return drops, 0
			}
		case 1:
			if c.kill(q.Worker, why) {
				return isCutof, 0
			}
		case 2:
			if c.kill(q.Worker, why) {
				return isLate, late
			}
		case 3:
			if c.freeze(q.Worker, leaseTime+late, why) {
				return passes, 0
			}
		case 4:
			if c.freeze(q.Worker, leaseTime+late, why) {
				return isLate, late
			}
		}
		return passes, 0
	}
}

// run disturbs until ctx ends. Then nothing is disturbed any more.
func (c *crowd) run(ctx context.Context, r *rand.Rand) {
	for pause(ctx, 800*time.Millisecond) == nil {
		c.disturb(r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
}

// end drains all processes and waits for them.
func (c *crowd) end() (errs []error) {
	c.mu.Lock()
	c.calm = true
	c.mu.Unlock()
	c.later.Wait() // those that are frozen are thawed
	for _, number := range c.numbers() {
		c.drain(number, false, "the round has ended")
	}
	c.mu.Lock()
	all := c.at
	c.mu.Unlock()
	for _, m := range all {
		if m == nil {
			continue
		}
		if err := m.wait(); err != nil {
			errs = append(errs, fmt.Errorf("worker %d was to end by itself: %w", m.number, err))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(errs, c.errs...)
}
