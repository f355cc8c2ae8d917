//go:build unix

package chaostest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// Opened is a store that a process has opened.
type Opened struct {
	// Tenant returns the part of a tenant, and where its events are.
	Tenant func(name string) (runs.Store, runlog.Store, error)
	// Close closes it, if there is something to close.
	Close func() error
}

func (o *Opened) close() error {
	if o.Close == nil {
		return nil
	}
	return o.Close()
}

// Open opens a store, in the process of the test and in each worker process.
type Open func(ctx context.Context, where string) (Opened, error)

// Place is a new store.
type Place struct {
	// Where is the place where it is, as Open understands it: for the process of the test, which submits and answers. Of a
	// store on a server that is better a millisecond away (checkpointtest.Proxy.Lag), so that workers look while it writes.
	Where string
	// Proxy stands between the workers and the server of the store, and Proxied is where they find it then. Without a
	// network there is none.
	Proxy   *checkpointtest.Proxy
	Proxied string
	// Inside has the workers be in the process of the test, where they can be drained, and not killed: for a store that
	// processes cannot share.
	Inside bool
}

// How much there is in a round that is not told how long it is to last, and in one of several.
const (
	smallRound = 8
	fullRound  = 48
)

// SkipUnlessAsked skips a test where WEFT_CHAOS does not say for how long it is to be run.
func SkipUnlessAsked(t *testing.T) {
	t.Helper()
	if os.Getenv(timeVariable) == "" {
		t.Skip("WEFT_CHAOS is not set: make chaos sets it")
	}
}

// How the environment says how much there is.
const (
	timeVariable = "WEFT_CHAOS"
	seedVariable = "WEFT_CHAOS_SEED"
)

// Run tests a store, in rounds, each in a new place. It must be called by a test of its own, which does nothing else: worker
// processes are the same test once more, where Run does not return.
func Run(t *testing.T, open Open, place func(t *testing.T) Place) {
	t.Helper()
	if encoded := os.Getenv(settingsVariable); encoded != "" {
		if err := runProcess(encoded, open); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	lasts, seed := time.Duration(0), uint64(1)
	var err error
	if text := os.Getenv(timeVariable); text != "" {
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatalf("WEFT_CHAOS is a time, such as 2m: %v", err)
		}
	}
	if text := os.Getenv(seedVariable); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WEFT_CHAOS_SEED is a number: %v", err)
		}
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	for end := time.Now().Add(lasts); ; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &round{test: test, seed: seed, open: open, place: place(t), runs: smallRound}
			if lasts > 0 {
				r.runs = fullRound
			}
			r.run(t)
		})
		if t.Failed() || time.Now().After(end) {
			return
		}
	}
}

// round is one round.
type round struct {
	test  string
	seed  uint64
	open  Open
	place Place
	runs  int

	story  *story
	bank   *bank
	broken findings
	crowd  *crowd
}

// standstill is for how long nothing may happen at all while nothing is disturbed.
const standstill = 40 * time.Second

func (r *round) random(of uint64) *rand.Rand { return rand.New(rand.NewPCG(r.seed, of)) }

func (r *round) run(t *testing.T) {
	begun := time.Now()
	r.story = &story{}
	r.bank = newBank(r.story)
	opened, err := r.open(t.Context(), r.place.Where)
	must(t, err)
	t.Cleanup(func() { must(t, opened.close()) })
	var calm atomic.Bool
	said := newSaid()
	var offices []*oracle
	for i, tenant := range tenants {
		store, events, err := opened.Tenant(tenant)
		must(t, err)
		log := runlog.New(runlog.Config{Store: events})
		t.Cleanup(func() { must(t, log.Close(context.Background())) })
		p := &people{tenant: tenant, d: dispatch.New(store, dispatch.Config{Secret: secret, Log: log}),
			r: r.random(uint64(100 + i)), bank: r.bank, story: r.story, said: said, broken: &r.broken, calm: &calm,
			late: map[string]time.Time{}}
		offices = append(offices, &oracle{load: newLoad(r.random(uint64(200+i)), tenant, r.runs), runs: store, people: p,
			broken: &r.broken, lateEvents: r.place.Proxy != nil})
	}
	server := httptest.NewUnstartedServer(r.bank)
	r.crowd = newCrowd(3, r.story, r.place.Proxy, func(number int) (process, error) {
		return r.startWorker(opened, number, server.URL)
	})
	r.bank.meets = r.crowd.meets(r.random(1))
	server.Start()
	defer server.Close()
	t.Cleanup(r.crowd.abandon)
	must(t, r.crowd.fill())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	disturbing, quiet := context.WithTimeout(ctx, time.Duration(r.runs)*longestDisturbed/fullRound)
	defer quiet()
	var busy sync.WaitGroup
	busy.Go(func() {
		r.crowd.run(disturbing, r.random(2))
		calm.Store(true)
	})
	errs := make([]error, len(offices))
	for i, o := range offices {
		busy.Go(func() { errs[i] = r.serve(ctx, o, uint64(300+i)) })
	}
	busy.Wait()
	for _, err := range errs {
		if err != nil {
			t.Errorf("seed %d: %v", r.seed, err)
		}
	}
	for _, err := range r.crowd.end() {
		t.Errorf("seed %d: %v", r.seed, err)
	}
	took := time.Since(begun)
	bookings := r.bank.all()
	for _, o := range offices {
		o.bank, o.hurried = bookings, r.crowd.hurried
		if err := o.check(t.Context()); err != nil {
			t.Errorf("seed %d: %v", r.seed, err)
		}
	}
	r.tell(t, offices)
	all := 0
	for _, o := range offices {
		all += len(o.infos)
	}
	t.Logf("seed %d: %d runs in %s, %d bookings, %d requests refused, workers: %v", r.seed, all, took.Round(100*time.Millisecond),
		len(bookings), r.bank.refused, r.crowd.counts)
}

// mostTold is the number of runs that have their stories told.
const mostTold = 3

// tell fails the test with what was found, and the stories of the runs.
func (r *round) tell(t *testing.T, offices []*oracle) {
	told := map[runID]bool{}
	for _, f := range r.broken.take() {
		if told[f.run] || len(told) == mostTold {
			t.Errorf("seed %d, run %v: %s", r.seed, f.run, f.what)
			continue
		}
		told[f.run] = true
		family := []runID{f.run}
		for _, o := range offices {
			if o.load.tenant == f.run.tenant {
				family = o.family(f.run)
				o.recorded(t.Context(), f.run, r.story)
			}
		}
		t.Errorf("seed %d, run %v: %s\n%s", r.seed, f.run, f.what, r.story.of(family...))
	}
}

// longestDisturbed is for how long a full round is disturbed.
const longestDisturbed = 25 * time.Second

func (r *round) startWorker(opened Opened, number int, bank string) (process, error) {
	s := settings{Number: number, Where: r.place.Where, Bank: bank}
	if r.place.Proxy != nil {
		s.Where = r.place.Proxied
	}
	logs := &lines{story: r.story, who: fmt.Sprint("worker ", number)}
	if r.place.Inside {
		return startInside(newWorker(opened, s, logs)), nil
	}
	return startProcess(r.test, s, logs)
}

// serve submits the load of a tenant and has its people look until all of it has ended, or nothing happens any more.
func (r *round) serve(ctx context.Context, o *oracle, seed uint64) error {
	random := r.random(seed)
	submitted := make(chan error, 1)
	go func() {
		submitted <- o.load.submit(ctx, random, o.people.d, r.story, time.Duration(r.runs)*longestDisturbed/fullRound/2)
	}()
	jobs := o.load.jobs()
	last, since := "", time.Now()
	for {
		if err := o.people.look(ctx, jobs); err != nil {
			return err
		}
		now, ended, err := r.progress(ctx, o.people.d, jobs)
		switch {
		case err != nil:
			return err
		case ended:
			return <-submitted
		case now != last || !o.people.calm.Load():
			last, since = now, time.Now()
		case time.Since(since) > standstill:
			for _, j := range jobs {
				if info, _, err := o.people.d.Inspect(ctx, j.run.id); err == nil && info.Status != runs.Done {
					r.broken.add(j.run, "nothing has happened for %s, and it is %s, with %d questions", standstill, info.Status, len(info.Waiting))
				}
			}
			return <-submitted
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// progress is a text that changes with what runs do, and whether all have ended.
func (r *round) progress(ctx context.Context, d *dispatch.Dispatcher, jobs []*job) (text string, ended bool, err error) {
	var seen strings.Builder
	fmt.Fprint(&seen, len(r.bank.all()))
	ended = true
	for _, j := range jobs {
		info, exists, err := d.Inspect(ctx, j.run.id)
		if err != nil {
			return "", false, err
		}
		fmt.Fprint(&seen, " ", info.Status, info.Token, info.Steps)
		ended = ended && exists && (info.Status == runs.Done || info.Status == runs.Failed)
	}
	return seen.String(), ended, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
