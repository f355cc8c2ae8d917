package checkpointtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/runs"
)

// A Cell is a value as a store keeps it: a column, a field, a file, the content of a message.
type Cell struct {
	// Name is the name of the cell, the same for cells that hold the same of other runs, and Of the run.
	Name, Of string
	Value    []byte
	// Set replaces the value. An error says that the database takes no such value, which is then not tried.
	Set func(value []byte) error
	// Torn is for records or events in one value, whose end a crash can cut off: what cannot be read at the end was never
	// written then, and what is known of the run counts what is read.
	Torn bool
}

// Damages tests that a store takes no damaged value for another one: bits of every cell are flipped, it is cut off, emptied,
// and swapped with the cell of another run. Reads of the runs then return what was written, or an error. cells returns what
// the store has of two runs, "left" and "right", and events is nil for a store without events. Rule distributed/B23.
func Damages(t *testing.T, s runs.Store, events runlog.Store, cells func() []Cell) {
	t.Helper()
	for i, id := range []string{"left", "right"} {
		run := runs.Spec{Agent: "agent of " + id, Queue: "queue of " + id, Key: "key of " + id, Priority: i + 1,
			Tags: map[string]string{"side": id}}
		lease, err := s.Acquire(background, id, runs.LeaseRequest{Owner: "worker", TTL: long, Create: &run})
		noError(t, err)
		for n := range 3 {
			noError(t, lease.AppendRecord(background, id, fmt.Appendf(nil, "record %d of %s", n, id)))
		}
		noError(t, lease.Settle(background, runs.Settlement{Status: runs.Waiting, Checkpoint: []byte("checkpoint of " + id),
			Waiting: []runs.Question{{ID: "q", Kind: "question", Text: "may " + id + "?"}}}))
		if events != nil {
			noError(t, events.Append(background, id, []runlog.Event{
				{V: runlog.Version, Run: id, Seq: 1, Token: lease.Token(), Type: runlog.Action, Data: &runlog.ActionData{}},
				{V: runlog.Version, Run: id, Seq: 2, Token: lease.Token(), Type: runlog.Restarted, Data: &runlog.RestartedData{}},
			}))
		}
	}
	known := map[string][]seen{"left": look(s, events, "left"), "right": look(s, events, "right")}
	all := cells()
	if len(all) == 0 {
		t.Fatal("the store has no cells")
	}
	tried, refused := 0, 0
	for _, c := range all {
		for what, value := range damagesOf(c, all) {
			if c.Set(value) != nil {
				continue
			}
			tried++
			for id, want := range known {
				for i, got := range look(s, events, id) {
					want := want[i]
					if c.Torn && id == c.Of && (want.of == "the row" || strings.HasPrefix(want.text, got.text)) {
						continue
					}
					if got.err != nil {
						refused++
					} else if got.text != want.text {
						t.Errorf("%s of %s %s: %s of %s is read as\n%s\nand was\n%s", c.Name, c.Of, what, want.of, id, got.text, want.text)
					}
				}
			}
			noError(t, c.Set(c.Value))
		}
	}
	for id, want := range known {
		for i, got := range look(s, events, id) {
			if got.err != nil || got.text != want[i].text {
				t.Fatalf("after all was put back, %s of %s is %v %s", want[i].of, id, got.err, got.text)
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was refused")
	}
	t.Logf("%d damages of %d cells, %d reads refused", tried, len(all), refused)
}

// damagesOf are values that a cell may have after damage, by what was done.
func damagesOf(c Cell, all []Cell) map[string][]byte {
	damages := map[string][]byte{}
	stride := 1
	if !testsize.Full() {
		stride = 7
	}
	for i := 0; i < len(c.Value); i += stride {
		for bit := i % 3; bit < 8; bit += 3 {
			b := bytes.Clone(c.Value)
			b[i] ^= 1 << bit
			damages[fmt.Sprintf("with bit %d of byte %d flipped", bit, i)] = b
		}
	}
	if n := len(c.Value); n > 0 {
		damages["cut off"] = c.Value[:n-1]
		damages["cut in half"] = c.Value[:n/2]
		damages["emptied"] = []byte{}
		damages["set to zero"] = make([]byte, n)
	}
	for _, other := range all {
		if other.Name == c.Name && other.Of != c.Of && !bytes.Equal(other.Value, c.Value) {
			damages["swapped with that of "+other.Of] = other.Value
		}
	}
	return damages
}

// seen is a part of a run as it was read, or the error of reading it.
type seen struct {
	of, text string
	err      error
}

func look(s runs.Store, events runlog.Store, id string) []seen {
	run, found, err := s.Inspect(background, id)
	if err == nil && !found {
		err = runs.ErrNotFound
	}
	if run.Error != "" {
		err = runs.ErrUnreadable
	}
	gone := errors.Is(err, runs.ErrNotFound) // and all of it: no worker continues from a part
	looks := []seen{{of: "the row", text: shownRun(run), err: err}}
	data, found, err := s.(checkpoint.Store).Get(background, id)
	if err == nil && !found {
		err = runs.ErrNotFound
	}
	looks = append(looks, seen{of: "the checkpoint", text: string(data), err: err})
	records, err := s.(runs.Journal).ReadRecords(background, id)
	if gone && len(records) == 0 {
		err = runs.ErrNotFound
	}
	looks = append(looks, seen{of: "the journal", text: string(bytes.Join(records, []byte{'\n'})), err: err})
	if events != nil {
		text := ""
		for e, cause := range events.Read(background, id, runs.Cursor{}) {
			if err = cause; err != nil {
				break
			}
			e.T = 0
			line, _ := e.MarshalJSON()
			text += string(line) + "\n"
		}
		looks = append(looks, seen{of: "the events", text: text, err: err})
	}
	return looks
}

// shownRun is a run without what a damaged clock or count of bytes shows wrongly, and does nothing else.
func shownRun(run runs.Info) string {
	run.LeaseUntil, run.Updated, run.Bytes = time.Time{}, time.Time{}, 0
	return fmt.Sprintf("%+v", run)
}
