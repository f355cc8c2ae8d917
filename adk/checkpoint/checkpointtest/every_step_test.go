package checkpointtest_test

import (
	"context"
	"os"
	"testing"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// clumsy is a store whose calls take two steps, the second of which can fail, with a fault.
type clumsy struct {
	runs.Store
	fault     string
	at, steps int
}

func (c *clumsy) step(do func() error) error {
	if c.steps++; c.steps == c.at {
		return checkpointtest.ErrFault
	}
	return do()
}

func (c *clumsy) Submit(ctx context.Context, id string, run runs.Spec) (info runs.Info, err error) {
	err = c.step(func() (err error) {
		info, err = c.Store.Submit(ctx, id, run)
		return err
	})
	if c.fault == "silent" {
		err = nil
	}
	return info, err
}

func (c *clumsy) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	if c.fault != "one by one" {
		return c.step(func() error { return c.Store.Reply(ctx, id, answers...) })
	}
	for _, a := range answers {
		if err := c.step(func() error { return c.Store.Reply(ctx, id, a) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *clumsy) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (l runs.Lease, err error) {
	err = c.step(func() (err error) {
		l, err = c.Store.Acquire(ctx, id, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &clumsyLease{l, c}, nil
}

func (c *clumsy) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (l runs.Lease, err error) {
	err = c.step(func() (err error) {
		l, err = c.Store.AcquireDue(ctx, req, due)
		return err
	})
	return l, err
}

func (c *clumsy) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	return c.step(func() error { return c.Store.Stop(ctx, id, how) })
}

func (c *clumsy) Continue(ctx context.Context, id string) error {
	return c.step(func() error { return c.Store.Continue(ctx, id) })
}

func (c *clumsy) Remove(ctx context.Context, id string, force bool) error {
	return c.step(func() error { return c.Store.Remove(ctx, id, force) })
}

type clumsyLease struct {
	runs.Lease
	c *clumsy
}

func (l *clumsyLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	if l.c.fault == "half a record" && l.c.at > 0 {
		_ = l.Lease.AppendRecord(ctx, id, append([]byte("half "), record...))
	}
	return l.c.step(func() error { return l.Lease.AppendRecord(ctx, id, record) })
}

func (l *clumsyLease) Set(ctx context.Context, id string, data []byte) error {
	return l.c.step(func() error { return l.Lease.Set(ctx, id, data) })
}

func (l *clumsyLease) Settle(ctx context.Context, s runs.Settlement) error {
	id := l.Info().ID
	switch l.c.fault {
	case "checkpoint first":
		if s.Checkpoint != nil {
			_ = l.Lease.Set(ctx, id, s.Checkpoint)
		}
	case "journal first":
		if s.DropRecords {
			_ = l.Lease.RemoveRecords(ctx, id)
		}
	case "children first":
		for _, child := range s.Children {
			_, _ = l.c.Store.Submit(ctx, child.ID, child.Run)
		}
	}
	return l.c.step(func() error { return l.Lease.Settle(ctx, s) })
}

// TestClumsyStore runs the rules on a store with the fault that the environment names. Alone, on a good one.
func TestClumsyStore(t *testing.T) {
	c := &clumsy{Store: checkpoint.NewMemoryStore(), fault: os.Getenv("WEFT_FAULT")}
	checkpointtest.EveryStep(t, checkpointtest.Steps{Store: c,
		Fail: func(step int) { c.at, c.steps = step, 0 },
		Mend: func() (bool, runs.Store) {
			reached := c.at > 0 && c.steps >= c.at
			c.at = 0
			return reached, nil
		}})
}

// TestEveryStep_FindsFaults: the rules fail for each fault, where they should.
// Rule distributed/K2.
func TestEveryStep_FindsFaults(t *testing.T) {
	for fault, where := range map[string]string{
		"checkpoint first": "settle_as_waiting",
		"journal first":    "settle_as_done",
		"children first":   "settle_as_waiting",
		"one by one":       "answer",
		"silent":           "submit",
		"half a record":    "append",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Setenv("WEFT_THOROUGH", "1")
			findsFault(t, "TestClumsyStore", fault, where)
		})
	}
}
