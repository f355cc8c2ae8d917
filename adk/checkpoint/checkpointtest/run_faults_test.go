package checkpointtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// runFaults are faults of a store that knows about runs, each with the rule that finds it.
var runFaults = map[string]string{
	"steals":        "Lease/exclusive",
	"nameless":      "Lease/busy",
	"endless":       "Lease/expiry",
	"unrenewed":     "Lease/kept",
	"unfenced":      "Lease/lost",
	"punctual":      "Lease/late",
	"one token":     "Lease/tokens",
	"untagged":      "Lease/made",
	"a minute":      "Lease/ttl",
	"starts afresh": "Lease/adopts",
	"uncounted":     "Lease/attempts",
	"runs at once":  "Lease/first_append",
	"any ID":        "Lease/other_id",
	"drops a tenth": "Lease/concurrent",

	"no address":        "Settle/waiting",
	"drops the journal": "Settle/failed",
	"no result":         "Settle/done",
	"at once":           "Settle/ready",
	"any status":        "Settle/refused",
	"in two steps":      "Settle/whole",
	"uses nothing":      "Settle/usage",
	"release settles":   "Settle/release",
	"no children":       "Settle/children",
	"no answer":         "Settle/parent",
	"asked once":        "Settle/asked_again",
	"shares points":     "Settle/isolated",

	"in any order":   "Due/order",
	"any queue":      "Due/filters",
	"too early":      "Due/time",
	"forgets deaths": "Due/lease_ended",
	"wakes failures": "Due/states",
	"no keys":        "Due/keys",
	"keys when due":  "Due/keys_and_leases",
	"twice":          "Due/once",
	"forgets keys":   "Due/keys_and_continued_runs",
	"looks at 256":   "Due/behind_many",

	"last answer":      "Inbox/one_answer",
	"one by one":       "Inbox/all_or_none",
	"any answer":       "Inbox/refused",
	"needs all":        "Inbox/optional",
	"answers once":     "Inbox/kept",
	"never late":       "Inbox/late",
	"busy when held":   "Inbox/while_held",
	"deaf":             "Inbox/stop_held",
	"stops nobody":     "Inbox/stop_unheld",
	"stops the dead":   "Inbox/stop_ended",
	"continues at all": "Inbox/continue",
	"submits again":    "Inbox/submit",
	"submits late":     "Inbox/submit_at_once",
	"looks, submits":   "Inbox/submit_alone",
	"unborn":           "Inbox/submit_in_order",

	"ignores tags":      "List/filters",
	"misses one":        "List/filters_beside_writers",
	"answered, too":     "List/questions",
	"oldest first":      "List/order",
	"skips ties":        "List/pages",
	"pages by number":   "List/pages_beside_writers",
	"any cursor":        "List/cursor",
	"locks while lists": "List/stopped",
	"lists its own":     "List/own",

	"for ever":          "Keep/expires",
	"sweeps one more":   "Keep/sweep",
	"sweeps the held":   "Keep/held",
	"expires anyway":    "Keep/resumed",
	"leaves checkpoint": "Keep/remove",
	"never by force":    "Keep/remove_by_force",
	"lower case":        "Keep/hostile_ids",
	"short answers":     "Keep/values",
	"cuts":              "Keep/too_long",
	"says it failed":    "Keep/context_ended",
}

// brokenRuns is a store with one fault and a clock.
type brokenRuns struct {
	*checkpoint.MemoryStore
	fault  string
	passed atomic.Int64 // nanoseconds
	calls  atomic.Int64
	shared atomic.Pointer[runs.Info]
	// listing: a loop over a list runs.
	listing atomic.Bool
}

func newBrokenRuns(fault string) *brokenRuns {
	b, began := &brokenRuns{MemoryStore: checkpoint.NewMemoryStore(), fault: fault}, time.Now()
	b.Clock = func() time.Time { return began.Add(time.Duration(b.passed.Load())) }
	return b
}

// has reports whether the store has a fault.
func (b *brokenRuns) has(fault string) bool { return b.fault == fault }

func (b *brokenRuns) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	_, exists, _ := b.MemoryStore.Inspect(ctx, id)
	switch b.fault {
	case "lower case":
		id = strings.ToLower(id)
	case "locks while lists":
		if b.listing.Load() {
			return nil, runs.ErrBusy
		}
	case "steals":
		req.Steal = true
	case "endless":
		req.TTL = time.Hour
	case "untagged":
		if req.Create != nil {
			made := *req.Create
			made.Tags, req.Create = nil, &made
		}
	case "a minute":
		if req.TTL == 0 {
			req.TTL = time.Minute
		}
	case "no keys":
		if req.Create != nil {
			made := *req.Create
			made.Key, req.Create = "", &made
		}
	case "starts afresh":
		if !exists && req.Create != nil {
			_ = b.MemoryStore.Remove(ctx, id, true)
		}
	}
	l, err := b.MemoryStore.Acquire(ctx, id, req)
	if b.has("keys when due") && errors.Is(err, runs.ErrBusy) && req.Create != nil {
		made := *req.Create
		made.Key, req.Create = "", &made
		l, err = b.MemoryStore.Acquire(ctx, id, req)
	}
	if err != nil {
		if b.has("nameless") {
			err = fmt.Errorf("%w: %s", runs.ErrBusy, id)
		}
		return nil, err
	}
	return &brokenLease{Lease: l, b: b, id: id}, nil
}

func (b *brokenRuns) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	info, ok, err := b.MemoryStore.Inspect(ctx, id)
	switch {
	case b.has("uncounted"):
		info.Attempts = 1
	case b.has("runs at once") && info.Owner != "":
		info.Status = runs.Running
	case b.has("no address") && len(info.Waiting) > 0:
		info.Waiting[0].Address = ""
	case b.has("shares points"):
		b.shared.CompareAndSwap(nil, &info)
		if shared := b.shared.Load(); len(shared.Waiting) > 0 {
			info.Waiting = shared.Waiting
		} else {
			b.shared.Store(nil)
		}
	}
	return info, ok, err
}

func (b *brokenRuns) Result(ctx context.Context, id string) ([]byte, error) {
	if b.has("no result") {
		return nil, nil
	}
	return b.MemoryStore.Result(ctx, id)
}

func (b *brokenRuns) Submit(ctx context.Context, id string, run runs.Spec) (runs.Info, error) {
	switch b.fault {
	case "no keys":
		run.Key = ""
	case "looks, submits":
		for info := range b.MemoryStore.List(ctx, runs.Query{Key: run.Key,
			Status: []runs.Status{runs.Ready}}) {
			if run.Alone && info.ID != id {
				return runs.Info{}, &runs.BusyError{ID: info.ID}
			}
		}
		run.Alone = false
		time.Sleep(time.Millisecond)
	case "submits again":
		_ = b.MemoryStore.Remove(ctx, id, true)
	case "cuts":
		for i, r := range run.Records {
			run.Records[i] = r[:min(len(r), 1<<20)]
		}
	case "submits late":
		if _, exists, _ := b.MemoryStore.Inspect(ctx, id); exists {
			return runs.Info{}, runs.ErrExists
		}
	case "in any order":
		run.Priority = 0
	case "too early":
		run.NotBefore = time.Time{}
	}
	info, err := b.MemoryStore.Submit(ctx, id, run)
	if b.has("unborn") {
		info.Born = 0
	}
	return info, err
}

func (b *brokenRuns) AcquireDue(ctx context.Context, req runs.LeaseRequest,
	d runs.Due) (runs.Lease, error) {
	switch b.fault {
	case "any queue":
		d.Queues = nil
	case "looks at 256":
		if counts, _ := b.Count(ctx, runs.Query{Status: []runs.Status{runs.Ready}}); counts[runs.Ready] > 256 {
			return nil, runs.ErrNothingDue
		}
	case "forgets deaths", "wakes failures":
		for info := range b.List(ctx, runs.Query{Status: []runs.Status{runs.Running,
			runs.Failed}}) {
			switch {
			case b.has("forgets deaths") && info.Status == runs.Running && !b.Clock().Before(info.LeaseUntil):
				return nil, runs.ErrNothingDue
			case b.has("wakes failures") && info.Status == runs.Failed:
				return b.Acquire(ctx, info.ID, req)
			}
		}
	}
	l, err := b.MemoryStore.AcquireDue(ctx, req, d)
	if err != nil {
		return nil, err
	}
	return &brokenLease{Lease: l, b: b, id: l.Info().ID}, nil
}

func (b *brokenRuns) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	info, _, _ := b.MemoryStore.Inspect(ctx, id)
	switch {
	case b.has("one by one"):
		for _, a := range answers {
			if err := b.MemoryStore.Reply(ctx, id, a); err != nil {
				return err
			}
		}
		return nil
	case b.has("busy when held") && info.Owner != "":
		return runs.ErrBusy
	case b.has("needs all"):
		for _, p := range info.Waiting {
			if p.Optional {
				answers = append(answers, runs.Reply{To: p.ID})
			}
		}
	}
	if b.has("short answers") {
		answers = slices.Clone(answers)
		for i := range answers {
			answers[i].Data = answers[i].Data[:min(len(answers[i].Data), 1<<16)]
		}
	}
	err := b.MemoryStore.Reply(ctx, id, answers...)
	if b.has("last answer") && errors.Is(err, runs.ErrReplied) || b.has("any answer") && errors.Is(err,
		runs.ErrNotWaiting) || b.has("never late") && errors.Is(err, runs.ErrReplyLate) {
		return nil
	}
	return err
}

func (b *brokenRuns) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	info, _, _ := b.MemoryStore.Inspect(ctx, id)
	if b.has("deaf") && info.Owner != "" || b.has("stops nobody") && info.Owner == "" {
		return nil
	}
	err := b.MemoryStore.Stop(ctx, id, how)
	if b.has("stops the dead") && errors.Is(err, runs.ErrEnded) {
		return nil
	}
	return err
}

func (b *brokenRuns) Remove(ctx context.Context, id string, force bool) error {
	checkPoint, ok, _ := b.MemoryStore.Get(ctx, id)
	err := b.MemoryStore.Remove(ctx, id, force && !b.has("never by force"))
	if b.has("leaves checkpoint") && ok && err == nil {
		_ = b.MemoryStore.Set(ctx, id, checkPoint)
	}
	return err
}

func (b *brokenRuns) Sweep(ctx context.Context, limit int) (runs.Swept, error) {
	for info := range b.MemoryStore.List(ctx, runs.Query{Status: []runs.Status{runs.Failed,
		runs.Running}}) {
		if b.has("sweeps the held") && info.Owner != "" || b.has("expires anyway") && info.Status == runs.Running {
			_ = b.MemoryStore.Remove(ctx, info.ID, true)
		}
	}
	if b.has("sweeps one more") {
		limit++
	}
	return b.MemoryStore.Sweep(ctx, limit)
}

func (b *brokenRuns) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	after, skip := q.After, 0
	switch b.fault {
	case "ignores tags":
		q.Tags = nil
	case "any cursor":
		if !strings.Contains(q.After, ".run ") {
			q.After = ""
		}
	case "pages by number":
		q.After, skip = "", int(b.calls.Load())
		q.Limit += skip
	case "answered, too":
		if q.WaitingFor == "ana" {
			q = runs.Query{}
		}
	}
	all := slices.Collect(func(yield func(runs.Info) bool) {
		for info, err := range b.MemoryStore.List(ctx, q) {
			if err != nil || !yield(info) {
				return
			}
		}
	})
	switch {
	case b.has("lists its own") && q.Queue == "":
		for info := range b.MemoryStore.List(ctx, runs.Query{Queue: storekit.OwnQueue}) {
			all = append(all, info)
		}
	case b.has("misses one") && len(all) > 2 && strings.HasPrefix(all[0].ID, "busy"):
		all = all[:len(all)-1]
	case b.has("oldest first"):
		slices.Reverse(all)
	case b.has("pages by number"):
		all = all[min(skip, len(all)):]
		b.calls.Add(int64(len(all)))
	case b.has("skips ties") && after != "":
		all = slices.DeleteFunc(all, func(i runs.Info) bool {
			return strings.HasPrefix(after, strings.TrimSuffix(i.Page(), i.ID))
		})
	}
	return func(yield func(runs.Info, error) bool) {
		if q.After != "" && len(all) == 0 {
			for info, err := range b.MemoryStore.List(ctx, q) {
				yield(info, err)
				return
			}
		}
		b.listing.Store(true)
		defer b.listing.Store(false)
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (b *brokenRuns) Continue(ctx context.Context, id string) error {
	switch b.fault {
	case "continues at all":
		return nil
	case "forgets keys":
		_ = b.Remove(ctx, id, true)
		_, err := b.Submit(ctx, id, runs.Spec{})
		return err
	}
	return b.MemoryStore.Continue(ctx, id)
}

// brokenLease is a lease of such a store.
type brokenLease struct {
	runs.Lease
	b  *brokenRuns
	id string
}

func (l *brokenLease) Token() uint64 {
	if l.b.has("one token") {
		return 1
	}
	return l.Lease.Token()
}

func (l *brokenLease) Renew(ctx context.Context) error {
	if l.b.has("unrenewed") {
		return nil
	}
	return l.Lease.Renew(ctx)
}

func (l *brokenLease) Set(ctx context.Context, id string, v []byte) error {
	info, _, _ := l.b.Inspect(ctx, l.id)
	switch {
	case l.b.has("unfenced"), l.b.has("any ID") && id != l.id:
		return l.b.Set(ctx, id, v)
	case l.b.has("punctual") && !l.b.Clock().Before(info.LeaseUntil):
		return runs.ErrLeaseLost
	}
	return l.Lease.Set(ctx, id, v)
}

func (l *brokenLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	if l.b.has("drops a tenth") && l.b.calls.Add(1)%10 == 0 {
		return nil
	}
	return l.Lease.AppendRecord(ctx, id, record)
}

func (l *brokenLease) Settle(ctx context.Context, end runs.Settlement) error {
	switch l.b.fault {
	case "drops the journal":
		end.DropRecords = true
	case "for ever":
		end.Keep = -1
	case "says it failed":
		if ctx.Err() != nil {
			_ = l.Lease.Settle(context.WithoutCancel(ctx), end)
		}
	case "at once":
		end.WakeAt = time.Time{}
	case "any status":
		if end.Status == runs.Running {
			end.Status = runs.Ready
		}
	case "in two steps":
		if end.DropRecords {
			_ = l.Lease.RemoveRecords(ctx, l.id)
			time.Sleep(5 * time.Millisecond)
		}
	case "release settles":
		if end.Status == "" {
			end.Status = l.Info().Status
		}
	case "uses nothing":
		end.Usage = runs.Usage{}
	case "no children":
		end.Children = nil
	case "no answer":
		end.Answer = nil
	case "asked once":
		end.Children = slices.DeleteFunc(slices.Clone(end.Children), func(c runs.Child) bool {
			_, exists, _ := l.b.Inspect(ctx, c.ID)
			return exists
		})
	case "twice":
		if l.b.calls.Add(1) == 10 {
			end.Status = runs.Ready
		}
	}
	return l.Lease.Settle(ctx, end)
}

func (l *brokenLease) Replies(ctx context.Context) ([]runs.Reply, error) {
	if l.b.has("answers once") && l.b.calls.Add(1) > 1 {
		return nil, nil
	}
	return l.Lease.Replies(ctx)
}

// TestBrokenRuns runs the suite on a store with the fault that the environment names. Alone, on a good one.
func TestBrokenRuns(t *testing.T) {
	checkpointtest.RunWith(t, checkpointtest.Options{
		New:     func(*testing.T) checkpoint.Store { return newBrokenRuns(os.Getenv("WEFT_FAULT")) },
		Advance: func(s checkpoint.Store, d time.Duration) { s.(*brokenRuns).passed.Add(int64(d)) },
	})
}

// TestRunWith_FindsFaultsOfRuns: the suite fails for each fault, where it should.
func TestRunWith_FindsFaultsOfRuns(t *testing.T) {
	for fault, where := range runFaults {
		t.Run(fault, func(t *testing.T) { findsFault(t, "TestBrokenRuns", fault, "Runs/"+where) })
	}
}
