package runlogtest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// broken is a store that does something else in some calls.
type broken struct {
	runlog.Store
	append  func(ctx context.Context, run string, events []runlog.Event) error
	read    func(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error]
	wait    func(ctx context.Context, run string, after runs.Cursor) error
	inspect func(ctx context.Context, run string) (runlog.Info, bool, error)
	list    func(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Info, error]
	delete  func(ctx context.Context, run string) error
}

func (b *broken) Append(ctx context.Context, run string, events []runlog.Event) error {
	if b.append != nil {
		return b.append(ctx, run, events)
	}
	return b.Store.Append(ctx, run, events)
}

func (b *broken) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	if b.read != nil {
		return b.read(ctx, run, after)
	}
	return b.Store.Read(ctx, run, after)
}

func (b *broken) Wait(ctx context.Context, run string, after runs.Cursor) error {
	if b.wait != nil {
		return b.wait(ctx, run, after)
	}
	return b.Store.Wait(ctx, run, after)
}

func (b *broken) Inspect(ctx context.Context, run string) (runlog.Info, bool, error) {
	if b.inspect != nil {
		return b.inspect(ctx, run)
	}
	return b.Store.Inspect(ctx, run)
}

func (b *broken) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Info, error] {
	if b.list != nil {
		return b.list(ctx, q)
	}
	return b.Store.List(ctx, q)
}

func (b *broken) Delete(ctx context.Context, run string) error {
	if b.delete != nil {
		return b.delete(ctx, run)
	}
	return b.Store.Delete(ctx, run)
}

// faults are mistakes of stores, by the rule that must find each.
var faults = map[string]func(b *broken, s runlog.Store){
	"ReadsWhatWasAppended": func(b *broken, s runlog.Store) {
		b.append = func(ctx context.Context, run string, events []runlog.Event) error {
			for i := range events {
				events[i].Path = nil
			}
			return s.Append(ctx, run, events)
		}
	},
	"ReadsBehindACursor": func(b *broken, s runlog.Store) {
		b.read = func(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
			return s.Read(ctx, run, runs.Cursor{Seq: after.Seq})
		}
	},
	"ARunThatIsNotThereHasNoEvents": func(b *broken, s runlog.Store) {
		b.inspect = func(context.Context, string) (runlog.Info, bool, error) { return runlog.Info{}, true, nil }
	},
	"KeepsRunsApart": func(b *broken, s runlog.Store) {
		b.append = func(ctx context.Context, run string, events []runlog.Event) error { return s.Append(ctx, "a", events) }
		b.read = func(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
			return s.Read(ctx, "a", after)
		}
	},
	"AnAppendCanBeRepeated": func(b *broken, s runlog.Store) {
		seen := false
		b.append = func(ctx context.Context, run string, events []runlog.Event) error {
			if seen {
				return nil // it takes every later append for a repetition
			}
			seen = true
			return s.Append(ctx, run, events)
		}
	},
	"RefusesALowerToken": func(b *broken, s runlog.Store) {
		b.append = func(ctx context.Context, run string, events []runlog.Event) error {
			_ = s.Append(ctx, run, events)
			return nil
		}
	},
	"CountsOnWithAHigherToken": func(b *broken, s runlog.Store) {
		b.append = func(ctx context.Context, run string, events []runlog.Event) error {
			info, _, _ := s.Inspect(ctx, run)
			for len(events) > 0 && events[0].Seq <= info.Last.Seq { // by the number alone
				events = events[1:]
			}
			return s.Append(ctx, run, events)
		}
	},
	"WaitReturnsForWhatIsThere": func(b *broken, s runlog.Store) {
		b.wait = func(ctx context.Context, _ string, _ runs.Cursor) error {
			return context.DeadlineExceeded
		}
	},
	"WaitReturnsForWhatComes": func(b *broken, s runlog.Store) {
		b.wait = func(ctx context.Context, _ string, _ runs.Cursor) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(2100 * time.Millisecond):
				return nil
			}
		}
	},
	"WaitEndsWithItsContext": func(b *broken, s runlog.Store) {
		b.wait = func(ctx context.Context, run string, after runs.Cursor) error {
			_ = s.Wait(ctx, run, after)
			return context.Canceled
		}
	},
	"InspectSaysWhatIsThere": func(b *broken, s runlog.Store) {
		b.inspect = func(ctx context.Context, run string) (runlog.Info, bool, error) {
			info, exists, err := s.Inspect(ctx, run)
			info.First = runs.Cursor{}
			return info, exists, err
		}
	},
	"ListsByPrefixAndTime": func(b *broken, s runlog.Store) {
		b.list = func(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Info, error] {
			q.Prefix = ""
			return s.List(ctx, q)
		}
	},
	"DeletesOneRun": func(b *broken, s runlog.Store) {
		b.delete = func(ctx context.Context, run string) error { return nil }
	},
	"KeepsLongEvents": func(b *broken, s runlog.Store) {
		b.append = func(ctx context.Context, run string, events []runlog.Event) error {
			if len(line(events[0])) > 64<<10 {
				return fmt.Errorf("the event is too long")
			}
			return s.Append(ctx, run, events)
		}
	},
	"KeepsManyEvents": func(b *broken, s runlog.Store) {
		b.read = func(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
			return func(yield func(runlog.Event, error) bool) {
				n := 0
				for e, err := range s.Read(ctx, run, after) {
					if n++; n > 1000 || !yield(e, err) {
						return
					}
				}
			}
		}
	},
	"IsSafeForConcurrentUse": func(b *broken, s runlog.Store) {
		var at atomic.Int32
		b.append = func(ctx context.Context, run string, events []runlog.Event) error {
			if at.Add(1) > 1 {
				defer at.Add(-1)
				return fmt.Errorf("the store is busy")
			}
			defer at.Add(-1)
			time.Sleep(time.Millisecond)
			return s.Append(ctx, run, events)
		}
	},
	"RefusesContextsThatHaveEnded": func(b *broken, s runlog.Store) {
		b.append = func(ctx context.Context, run string, events []runlog.Event) error {
			return s.Append(context.WithoutCancel(ctx), run, events)
		}
	},
}

// recordingT notes whether a rule has failed.
type recordingT struct {
	t      *testing.T
	failed atomic.Bool
}

func (r *recordingT) Helper()                  {}
func (r *recordingT) Errorf(string, ...any)    { r.failed.Store(true) }
func (r *recordingT) Context() context.Context { return r.t.Context() }

// Every rule sees a store that breaks it, and none complains of a good one.
func TestRules_SeeBrokenStores(t *testing.T) {
	names := map[string]bool{}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			good := &recordingT{t: t}
			r.test(&subject{runlog.NewMemoryStore(), good})
			require.False(t, good.failed.Load(), "it complains of a good store")
			fault := faults[r.name]
			require.NotNil(t, fault, "no store breaks the rule")
			store := runlog.NewMemoryStore()
			b := &broken{Store: store}
			fault(b, store)
			bad := &recordingT{t: t}
			r.test(&subject{b, bad})
			require.True(t, bad.failed.Load(), "it does not see the broken store")
		})
		names[r.name] = true
	}
	for name := range maps.Keys(faults) {
		require.True(t, names[name], "%s is no rule", name)
	}
}
