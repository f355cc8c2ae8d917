package checkpointtest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// oldAndNew are two keys, of which the second is written with. Without the first, it alone is there.
type oldAndNew struct{ old, now checkpoint.Keys }

func (k oldAndNew) Current() (string, []byte, error) { return k.now.Current() }

func (k oldAndNew) Key(name string) ([]byte, error) {
	if key, err := k.now.Key(name); err == nil || k.old == nil {
		return key, err
	}
	return k.old.Key(name)
}

// Reseal checks that a store is a checkpoint.Rewriter: that everything that was sealed with an old key, in runs of every
// state, can be read without that key when it was sealed again, also while a run is executed.
func Reseal(t *testing.T, store runs.Store) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	old := checkpoint.OneKey("old", bytes.Repeat([]byte{1}, 32))
	now := checkpoint.OneKey("the new one", bytes.Repeat([]byte{2}, 32))
	before := checkpoint.Seal(store, old)
	hold := func(id string) runs.Lease {
		t.Helper()
		_, err := before.Submit(ctx, id, runs.Spec{Records: [][]byte{[]byte("begin of " + id)}})
		must(err)
		l, err := before.Acquire(ctx, id, runs.LeaseRequest{})
		must(err)
		return l
	}
	point := runs.Question{ID: "q", Text: "may I?", Info: []byte(`{"amount":3}`)}
	must(hold("done").Settle(ctx, runs.Settlement{Status: runs.Done, Result: []byte("paid"), DropRecords: true}))
	for _, id := range []string{"waiting", "answered"} {
		must(hold(id).Settle(ctx, runs.Settlement{Status: runs.Waiting, Checkpoint: []byte("at " + id),
			DropRecords: true, Waiting: []runs.Question{point}}))
	}
	must(before.Reply(ctx, "answered", runs.Reply{To: "q", Data: []byte("yes")}))
	running := hold("running")
	must(running.AppendRecord(ctx, "running", []byte("step 1")))
	must(before.Set(ctx, "plain", []byte("no run")))

	sealed := checkpoint.Seal(store, oldAndNew{old, now})
	n, err := checkpoint.Reseal(ctx, sealed)
	must(err)
	if n != 5 {
		t.Errorf("Reseal has rewritten %d IDs; want 5", n)
	}
	must(running.AppendRecord(ctx, "running", []byte("step 2"))) // by a process that has the old key, and its lease
	for range 2 {
		_, err = checkpoint.Reseal(ctx, sealed)
		must(err)
	}
	if n, err = checkpoint.Reseal(ctx, sealed); n != 0 || err != nil {
		t.Errorf("Reseal of what is sealed with the current key has rewritten %d IDs, %v", n, err)
	}

	alone := checkpoint.Seal(store, oldAndNew{nil, now})
	expect := func(what string, got any, want string) {
		t.Helper()
		if fmt.Sprintf("%s", got) != want {
			t.Errorf("%s is %q without the old key; want %q", what, got, want)
		}
	}
	result, err := alone.Result(ctx, "done")
	must(err)
	expect("the result", result, "paid")
	records, err := alone.ReadRecords(ctx, "running")
	must(err)
	expect("the journal", records, "[begin of running step 1 step 2]")
	data, _, err := alone.Get(ctx, "plain")
	must(err)
	expect("a checkpoint without a run", data, "no run")
	info, _, err := alone.Inspect(ctx, "waiting")
	must(err)
	if len(info.Waiting) != 1 || info.Status != runs.Waiting {
		t.Fatalf("the run that waits is %+v", info)
	}
	expect("the summary", info.Waiting[0].Text, "may I?")
	expect("the info", info.Waiting[0].Info, `{"amount":3}`)
	l, err := alone.Acquire(ctx, "answered", runs.LeaseRequest{})
	must(err)
	answers, err := l.Replies(ctx)
	must(err)
	if len(answers) != 1 {
		t.Fatalf("the answers are %+v", answers)
	}
	expect("the answer", answers[0].Data, "yes")
	data, _, err = l.Get(ctx, "answered")
	must(err)
	expect("the checkpoint", data, "at answered")
	must(running.Settle(ctx, runs.Settlement{Status: runs.Paused, Checkpoint: []byte("here"), DropRecords: true}))
}
