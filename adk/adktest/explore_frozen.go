package adktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/runs"
)

// leaseTime is the TTL of the leases of explored runs.
const leaseTime = time.Second

// takenOver is a life that stands still, as a process does that is suspended, while another one takes its run over. Then it
// is thawed, does not know what has happened, and must find out before it does anything.
func takenOver[M adk.MessageType]() way[M] {
	return way[M]{name: "another process that takes it over", durable: true, givesUp: true, freezes: true,
		stop: func(l *life[M], ctx context.Context) error {
			thaw := l.probe.freeze(l.number)
			close(l.frozen)
			<-thaw
			return ctx.Err()
		}}
}

// awaitEndOfLease waits until the lease of a life that is frozen is over. A renewal that was under way may still arrive.
func awaitEndOfLease(ctx context.Context, store adk.CheckPointStore) {
	time.Sleep(leaseTime + leaseTime/10)
	runStore, ok := store.(interface {
		Inspect(ctx context.Context, id string) (runs.Info, bool, error)
	})
	for range 10 {
		if !ok {
			return
		}
		info, exists, err := runStore.Inspect(ctx, checkPointID)
		if err != nil || !exists || !time.Now().Before(info.LeaseUntil) {
			return
		}
		time.Sleep(time.Until(info.LeaseUntil) + leaseTime/10)
	}
}

// zombie is a life that is frozen.
type zombie[M adk.MessageType] struct {
	*life[M]
	// done is closed when it has ended, as end and err say.
	done <-chan struct{}
	end  *lifeEnd
	err  *error
	stop context.CancelFunc
}

// thaw has the frozen lives continue, now that others have ended their run, and checks that they come to nothing.
func (c *career[M]) thaw() error {
	for _, z := range c.zombies {
		c.probe.thaw(z.number)
		<-z.done
		z.stop()
		for _, err := range []error{*z.err, z.end.err} {
			if err != nil && !isTakenOver(err) {
				return fmt.Errorf("life %d ended with another error than that its run was taken over: %w", z.number, err)
			}
		}
	}
	if late := c.probe.begunByZombies(); len(late) > 0 {
		return fmt.Errorf("the call %s was begun by a life whose run another one had taken over", late[0])
	}
	return nil
}

func isTakenOver(err error) bool {
	for _, target := range []error{runs.ErrLeaseLost, runs.ErrBusy, runs.ErrEnded, runs.ErrExists} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// freeze has everything that a life does from now on wait, and returns what it waits for.
func (p *Probe[M]) freeze(life int) (thaw <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen, p.thawed = map[int]chan struct{}{}, map[int]bool{}
	}
	ch := make(chan struct{})
	p.frozen[life] = ch
	return ch
}

func (p *Probe[M]) thaw(life int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.frozen[life])
	delete(p.frozen, life)
	p.thawed[life] = true
}

// pause waits while a life is frozen.
func (p *Probe[M]) pause(life int) {
	p.mu.Lock()
	thaw := p.frozen[life]
	p.mu.Unlock()
	if thaw != nil {
		<-thaw
	}
}

func (p *Probe[M]) begunByZombies() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late
}

// runs has the methods of a store that a runner needs to hold its runs.
type runStores interface {
	runs.Leaser
	runs.Inspector
	runs.Janitor
}

// leasing is a mortal store that hands out leases.
type leasing struct {
	runStores
	mortalJournal
	// pause is called before what is no boundary.
	pause func()
}

func (s leasing) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	s.pause()
	return s.held(s.runStores.Acquire(ctx, id, req))
}

func (s leasing) held(l runs.Lease, err error) (runs.Lease, error) {
	if err != nil {
		return nil, err
	}
	return &mortalLease{Lease: l, mortalJournal: mortalJournal{mortalStore{l, s.at}, l}, pause: s.pause}, nil
}

// mortalLease is one whose writes are boundaries.
type mortalLease struct {
	runs.Lease
	mortalJournal
	pause func()
}

func (l *mortalLease) Get(ctx context.Context, id string) ([]byte, bool, error) {
	return l.Lease.Get(ctx, id)
}

func (l *mortalLease) Set(ctx context.Context, id string, data []byte) error {
	return l.mortalJournal.Set(ctx, id, data)
}

func (l *mortalLease) Delete(ctx context.Context, id string) error {
	return l.mortalJournal.Delete(ctx, id)
}

func (l *mortalLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.mortalJournal.AppendRecord(ctx, id, record)
}

func (l *mortalLease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	return l.Lease.ReadRecords(ctx, id)
}

func (l *mortalLease) RemoveRecords(ctx context.Context, id string) error {
	return l.mortalJournal.RemoveRecords(ctx, id)
}

func (l *mortalLease) Renew(ctx context.Context) error {
	l.pause()
	return l.Lease.Renew(ctx)
}

func (l *mortalLease) Settle(ctx context.Context, s runs.Settlement) error {
	return l.write(ctx, s.Status != runs.Done, func() error { return l.Lease.Settle(ctx, s) })
}
