// Package checkpointtest tests stores for checkpoints: what a runner, a graph or a loop relies on, each rule a subtest.
//
//	func TestMyStore(t *testing.T) {
//		checkpointtest.Run(t, func(t *testing.T) checkpoint.Store { return mystore.New(t.TempDir()) })
//	}
//
// What a store may also offer ([checkpoint.Deleter], [runs.Lister], [runs.Journal], and all of
// [runs.Store]) is tested if it offers it. What a crash leaves cannot be tested from outside: [EveryStep] tests a
// store whose steps can be made to fail.
//
// With WEFT_THOROUGH in the environment lists have 10,000 runs, values 16 MiB, and every step fails: that takes minutes.
package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/weftgo/weft/adk/checkpoint"
)

// isThorough reports whether there is time for tests that take minutes.
func isThorough() bool { return os.Getenv("WEFT_THOROUGH") != "" }

// Run tests a store. newStore makes an empty one for each subtest, and may use t to clean up after it.
func Run(t *testing.T, newStore func(t *testing.T) checkpoint.Store) {
	t.Helper()
	RunWith(t, Options{New: newStore})
}

// RunWith tests a store as [Run] does, with a clock that the rules move, if the store has one.
func RunWith(t *testing.T, o Options) {
	t.Helper()
	newStore := o.New
	for _, rule := range []struct {
		name string
		test func(*testing.T, checkpoint.Store)
	}{
		{"Get/missing", missing},
		{"Set/get", setGet},
		{"Set/replaces", replaces},
		{"Set/large", large},
		{"Bytes/isolated", isolated},
		{"IDs/hostile", hostileIDs},
		{"Context/ended", contextEnded},
		{"Concurrent/ids", concurrentIDs},
		{"Concurrent/whole", concurrentWhole},
	} {
		t.Run(rule.name, func(t *testing.T) { rule.test(t, newStore(t)) })
	}
	t.Run("Delete", func(t *testing.T) { runDelete(t, newStore) })
	t.Run("List", func(t *testing.T) { runList(t, newStore) })
	t.Run("Journal", func(t *testing.T) { runJournal(t, newStore) })
	t.Run("Runs", func(t *testing.T) { runRuns(t, o) })
}

// runDelete tests the deleting part of a store.
func runDelete(t *testing.T, newStore func(t *testing.T) checkpoint.Store) {
	if _, ok := newStore(t).(checkpoint.Deleter); !ok {
		t.Skip("the store is no checkpoint.Deleter")
	}
	ctx := context.Background()
	t.Run("removes", func(t *testing.T) {
		store := newStore(t)
		set(t, store, "gone", []byte("x"))
		set(t, store, "stays", []byte("y"))
		noError(t, store.(checkpoint.Deleter).Delete(ctx, "gone"))
		absent(t, store, "gone")
		holds(t, store, "stays", []byte("y"))
		set(t, store, "gone", []byte("back"))
		holds(t, store, "gone", []byte("back"))
	})
	t.Run("missing", func(t *testing.T) {
		noError(t, newStore(t).(checkpoint.Deleter).Delete(ctx, "never set"))
	})
}

func missing(t *testing.T, store checkpoint.Store) {
	absent(t, store, "never set")
	set(t, store, "other", []byte("x"))
	absent(t, store, "never set")
}

func setGet(t *testing.T, store checkpoint.Store) {
	values := map[string][]byte{
		"text":   []byte("checkpoint"),
		"binary": {0, 1, 0xff, '\n', '\r', 0},
		"empty":  {},
		"nil":    nil,
		"":       []byte("the empty ID is one like any other"),
	}
	for id, v := range values {
		set(t, store, id, v)
	}
	for id, v := range values {
		holds(t, store, id, v)
	}
}

func replaces(t *testing.T, store checkpoint.Store) {
	for _, v := range []string{"first", "the second is longer", "3rd", ""} {
		set(t, store, "id", []byte(v))
		holds(t, store, "id", []byte(v))
	}
}

func large(t *testing.T, store checkpoint.Store) {
	value := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
	set(t, store, "large", value)
	holds(t, store, "large", value)
	set(t, store, "large", value[:100])
	holds(t, store, "large", value[:100])
}

// isolated: neither the bytes that were given nor those that were got are the store's.
func isolated(t *testing.T, store checkpoint.Store) {
	given := []byte("original")
	set(t, store, "id", given)
	copy(given, "changed!")
	holds(t, store, "id", []byte("original"))

	got, _, err := store.Get(context.Background(), "id")
	noError(t, err)
	copy(got, "changed!")
	_ = append(got[:0], "appended"...)
	holds(t, store, "id", []byte("original"))
}

// hostile are IDs that break stores which make paths, queries or keys of them carelessly. All differ.
func hostile() []string {
	ids := []string{
		"", " ", "  ", ".", "..", "../up", "../../etc/passwd", "/", "/absolute", `\`, `C:\windows`, "a/b", "a//b", `a\b`,
		"a:b",
		"case", "CASE", "Case", "cAsE", "con", "CON", "nul", "aux.txt", "trailing.", "trailing ", "trailing",
		"a\x00b", "a\x00", "a", "\x00", "\n", "a\nb", "a\r\nb", "\xff\xfe", "\xff", "%", "%s%n", "%00", "%2e%2e", "*", "?",
		"[a]",
		"'; DROP TABLE checkpoints; --", `"quoted"`, "{hash}tag", "é", "e\u0301", "ÿ", "日本語", "🧵", "\u202e", "-rf", "~",
		"$HOME",
		"x.checkpoint", "x.journal", "x.tmp", "x",
	}
	long := strings.Repeat("long", 1000)
	return append(ids, long, long+"!", strings.Repeat("🧵", 300), strings.Repeat("../", 100), strings.Repeat("a", 255),
		strings.Repeat("a", 256))
}

func hostileIDs(t *testing.T, store checkpoint.Store) {
	for i, id := range hostile() {
		absent(t, store, id)
		set(t, store, id, fmt.Appendf(nil, "value %d", i))
	}
	for i, id := range hostile() {
		holds(t, store, id, fmt.Appendf(nil, "value %d", i))
	}
	deleter, ok := store.(checkpoint.Deleter)
	if !ok {
		return
	}
	for i, id := range hostile() {
		holds(t, store, id, fmt.Appendf(nil, "value %d", i)) // no earlier deletion took it along
		noError(t, deleter.Delete(context.Background(), id))
		absent(t, store, id)
	}
}

// contextEnded: a store may continue or give up, but it does what it says, whole.
func contextEnded(t *testing.T, store checkpoint.Store) {
	set(t, store, "id", []byte("old"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, ok, err := store.Get(ctx, "id"); err == nil && (!ok || string(got) != "old") {
		t.Errorf("Get with a context that has ended returned %q, %v and no error; want %q, true, or an error", got, ok, "old")
	} else if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Get with a context that has ended: %v; want an error that wraps context.Canceled", err)
	}
	switch err := store.Set(ctx, "id", []byte("new")); {
	case err == nil:
		holds(t, store, "id", []byte("new"))
	case !errors.Is(err, context.Canceled):
		t.Errorf("Set with a context that has ended: %v; want an error that wraps context.Canceled", err)
	default:
		holds(t, store, "id", []byte("old"))
	}
	set(t, store, "id", []byte("later"))
	holds(t, store, "id", []byte("later"))
}

// concurrentIDs: goroutines with IDs of their own do not see each other.
func concurrentIDs(t *testing.T, store checkpoint.Store) {
	together(8, func(g int) {
		id := fmt.Sprintf("run %d", g)
		for i := range 20 {
			v := fmt.Appendf(nil, "%d of %d", i, g)
			set(t, store, id, v)
			holds(t, store, id, v)
		}
	})
}

// concurrentWhole: who reads while others write gets one of the values, whole.
func concurrentWhole(t *testing.T, store checkpoint.Store) {
	const size = 64 << 10
	value := func(c byte) []byte { return bytes.Repeat([]byte{c}, size+int(c)) }
	set(t, store, "id", value('a'))
	together(6, func(g int) {
		for i := range 10 {
			if g%2 == 0 {
				set(t, store, "id", value('a'+byte(g+i)))
				continue
			}
			got, ok, err := store.Get(context.Background(), "id")
			if err != nil || !ok || len(got) == 0 || !bytes.Equal(got, value(got[0])) {
				t.Errorf("Get beside Set: %d bytes, %v, %v; want one of the values that were set, whole", len(got), ok, err)
			}
		}
	})
}

// together runs goroutines and waits for them.
func together(n int, do func(g int)) {
	var all sync.WaitGroup
	for g := range n {
		all.Go(func() { do(g) })
	}
	all.Wait()
}

// The checks report with Errorf, as they also run in goroutines of their own.

func set(t *testing.T, store checkpoint.Store, id string, value []byte) {
	t.Helper()
	if err := store.Set(context.Background(), id, value); err != nil {
		t.Errorf("Set(%s): %v", short(id), err)
	}
}

func holds(t *testing.T, store checkpoint.Store, id string, want []byte) {
	t.Helper()
	got, ok, err := store.Get(context.Background(), id)
	switch {
	case err != nil:
		t.Errorf("Get(%s): %v", short(id), err)
	case !ok:
		t.Errorf("Get(%s): there is none; want %s", short(id), short(string(want)))
	case !bytes.Equal(got, want):
		t.Errorf("Get(%s) = %s; want %s", short(id), short(string(got)), short(string(want)))
	}
}

func absent(t *testing.T, store checkpoint.Store, id string) {
	t.Helper()
	if got, ok, err := store.Get(context.Background(), id); err != nil {
		t.Errorf("Get(%s), which is not there: %v; want false and no error", short(id), err)
	} else if ok {
		t.Errorf("Get(%s) = %s; want none", short(id), short(string(got)))
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// short is a value as a failure shows it.
func short(v string) string {
	const most = 60
	if len(v) > most {
		return fmt.Sprintf("%q… (%d bytes)", v[:most], len(v))
	}
	return fmt.Sprintf("%q", v)
}
