// Package runlogtest tests stores of events of runs.
//
//	func TestStore(t *testing.T) {
//		runlogtest.Run(t, func(t *testing.T) runlog.Store { return mystore.New(t.TempDir()) })
//	}
package runlogtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Run checks that stores keep what [runlog.Store] promises. open makes an empty store for each rule, and may use t to
// clean up after it.
func Run(t *testing.T, open func(t *testing.T) runlog.Store) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			s := &subject{Store: open(t), t: t}
			r.test(s)
		})
	}
}

// subject is the store that a rule is about.
type subject struct {
	runlog.Store
	t interface {
		Helper()
		Errorf(format string, args ...any)
		Context() context.Context
	}
}

type rule struct {
	name string
	test func(s *subject)
}

var rules = []rule{
	{"ReadsWhatWasAppended", readsBack},
	{"ReadsBehindACursor", readsBehind},
	{"ARunThatIsNotThereHasNoEvents", readsNothing},
	{"KeepsRunsApart", keepsApart},
	{"AnAppendCanBeRepeated", repeats},
	{"RefusesALowerToken", refusesLower},
	{"CountsOnWithAHigherToken", takesHigher},
	{"WaitReturnsForWhatIsThere", waitsNot},
	{"WaitReturnsForWhatComes", waits},
	{"WaitEndsWithItsContext", waitEnds},
	{"InspectSaysWhatIsThere", inspects},
	{"ListsByPrefixAndTime", lists},
	{"DeletesOneRun", deletes},
	{"KeepsLongEvents", keepsLong},
	{"KeepsManyEvents", keepsMany},
	{"IsSafeForConcurrentUse", concurrent},
	{"RefusesContextsThatHaveEnded", refusesEnded},
}

// event makes an event.
func event(run string, token, seq uint64, text string) runlog.Event {
	return runlog.Event{V: runlog.Version, Run: run, Token: token, Seq: seq, T: 1_795_357_643_000_000 + int64(seq),
		Type: runlog.ModelEnd, Span: runlog.SpanID(seq), Parent: 1, Agent: "desk", Path: []string{"desk"},
		Data: &runlog.ModelEndData{Message: &runlog.Message{Chat: schema.AssistantMessage(text, nil)}}}
}

func events(run string, token, from, to uint64) (all []runlog.Event) {
	for seq := from; seq <= to; seq++ {
		all = append(all, event(run, token, seq, fmt.Sprint("message ", seq)))
	}
	return all
}

func (s *subject) append(run string, all ...runlog.Event) {
	s.t.Helper()
	if err := s.Append(s.t.Context(), run, all); err != nil {
		s.t.Errorf("Append: %v", err)
	}
}

// read reads a run as lines of JSON.
func (s *subject) read(run string, after runs.Cursor) (lines []string) {
	s.t.Helper()
	for e, err := range s.Read(s.t.Context(), run, after) {
		if err != nil {
			s.t.Errorf("Read: %v", err)
			return lines
		}
		lines = append(lines, line(e))
	}
	return lines
}

// line is an event as JSON, as a store gives it back.
func line(e runlog.Event) string {
	data, err := json.Marshal(e)
	var again runlog.Event
	if err == nil {
		err = json.Unmarshal(data, &again)
	}
	if err == nil {
		data, err = json.Marshal(again)
	}
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (s *subject) expect(run string, after runs.Cursor, want ...runlog.Event) {
	s.t.Helper()
	var lines []string
	for _, e := range want {
		lines = append(lines, line(e))
	}
	if got := s.read(run, after); !slices.Equal(got, lines) {
		s.t.Errorf("run %q behind %v has\n\t%s\nwant\n\t%s", run, after, strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

func readsBack(s *subject) {
	all := events("a", 0, 1, 3)
	all[1].Type, all[1].Data = runlog.RunEnd, &runlog.RunEndData{Status: runs.Waiting, ModelCalls: 2}
	all[2].Type, all[2].Data = "of.another.version", json.RawMessage(`{"x":1}`)
	s.append("a", all[:2]...)
	s.append("a", all[2])
	s.expect("a", runs.Cursor{}, all...)
}

func readsBehind(s *subject) {
	all := append(events("a", 1, 1, 4), events("a", 2, 5, 6)...)
	s.append("a", all...)
	for i, e := range all {
		s.expect("a", e.Cursor(), all[i+1:]...)
	}
	s.expect("a", runs.Cursor{Token: 1, Seq: 99}, all[4:]...) // of a process that was overtaken
	s.expect("a", runs.Cursor{Token: 9, Seq: 1})
}

func readsNothing(s *subject) {
	s.expect("nobody", runs.Cursor{})
	if _, exists, err := s.Inspect(s.t.Context(), "nobody"); exists || err != nil {
		s.t.Errorf("Inspect of a run that is not there: %v, %v", exists, err)
	}
}

// strange are IDs that files and databases may not like.
var strange = []string{"a", "A", "a/../b", "ü ", "", "x\x00y", "\xff", strings.Repeat("long", 1000)}

func keepsApart(s *subject) {
	for i, run := range strange {
		s.append(run, event(run, 0, 1, fmt.Sprint("of run ", i)))
	}
	for i, run := range strange {
		s.expect(run, runs.Cursor{}, event(run, 0, 1, fmt.Sprint("of run ", i)))
	}
}

func repeats(s *subject) {
	all := events("a", 1, 1, 4)
	s.append("a", all[:2]...)
	s.append("a", all[:3]...)
	s.append("a", all[:3]...)
	s.append("a", all...)
	s.expect("a", runs.Cursor{}, all...)
}

func refusesLower(s *subject) {
	all := append(events("a", 1, 1, 2), events("a", 3, 3, 3)...)
	s.append("a", all...)
	err := s.Append(s.t.Context(), "a", events("a", 2, 4, 4))
	if !errors.Is(err, runlog.ErrOvertaken) {
		s.t.Errorf("Append with a lower token: %v; want ErrOvertaken", err)
	}
	s.expect("a", runs.Cursor{}, all...)
}

func takesHigher(s *subject) {
	s.append("a", events("a", 1, 1, 5)...)
	next := events("a", 0xffff_ffff_ff, 4, 6) // the process before has recorded more than the new one has read
	s.append("a", next...)
	s.expect("a", runs.Cursor{Token: 1, Seq: 5}, next...)
}

func waitsNot(s *subject) {
	s.append("a", events("a", 1, 1, 2)...)
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, "a", runs.Cursor{Token: 1, Seq: 1}); err != nil {
		s.t.Errorf("Wait for an event that is there: %v", err)
	}
}

// await waits until there is an event behind a cursor.
func (s *subject) await(ctx context.Context, run string, after runs.Cursor) error {
	for {
		for _, err := range s.Read(ctx, run, after) {
			return err
		}
		if err := s.Wait(ctx, run, after); err != nil {
			return err
		}
	}
}

func waits(s *subject) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	for seq := uint64(1); seq <= 3; seq++ { // the run is not there at first
		var done sync.WaitGroup
		var err error
		done.Go(func() { err = s.await(ctx, "a", runs.Cursor{Seq: seq - 1}) })
		time.Sleep(20 * time.Millisecond)
		begun := time.Now()
		s.append("a", event("a", 0, seq, ""))
		done.Wait()
		if took := time.Since(begun); err != nil || took > 2*time.Second {
			s.t.Errorf("Wait for event %d: %v after %v", seq, err, took)
		}
	}
}

func waitEnds(s *subject) {
	s.append("a", events("a", 1, 1, 2)...)
	for _, run := range []string{"a", "nobody"} {
		ctx, cancel := context.WithTimeout(s.t.Context(), 50*time.Millisecond)
		begun := time.Now()
		err := s.await(ctx, run, runs.Cursor{Token: 1, Seq: 2})
		cancel()
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took > 5*time.Second {
			s.t.Errorf("Wait of a context that ends: %v after %v", err, took)
		}
	}
}

func inspects(s *subject) {
	all := events("a", 7, 1, 3)
	s.append("a", all...)
	info, exists, err := s.Inspect(s.t.Context(), "a")
	if err != nil || !exists || info.Run != "a" || info.First != all[0].Cursor() || info.Last != all[2].Cursor() || info.End != "" {
		s.t.Errorf("Inspect: %+v, %v, %v", info, exists, err)
	}
	end := event("a", 8, 4, "")
	end.Type, end.Data = runlog.RunEnd, &runlog.RunEndData{Status: runs.Done}
	s.append("a", end)
	if info, _, err = s.Inspect(s.t.Context(), "a"); err != nil || info.Last != end.Cursor() || info.End != runs.Done {
		s.t.Errorf("Inspect of a run that has ended: %+v, %v", info, err)
	}
	if age := time.Since(info.Updated).Abs(); age > time.Hour {
		s.t.Errorf("Inspect: the run was written %v ago", age)
	}
}

func (s *subject) list(q runlog.Query) (all []string) {
	s.t.Helper()
	for info, err := range s.List(s.t.Context(), q) {
		if err != nil {
			s.t.Errorf("List: %v", err)
			return all
		}
		all = append(all, info.Run)
	}
	return all
}

func lists(s *subject) {
	for _, run := range []string{"b%2", "b%1", "c_1", "B%1"} {
		s.append(run, event(run, 0, 1, ""))
		time.Sleep(20 * time.Millisecond) // clocks of file systems are coarse
	}
	for _, c := range []struct {
		q    runlog.Query
		want []string
	}{
		{runlog.Query{}, []string{"B%1", "c_1", "b%1", "b%2"}},
		{runlog.Query{Prefix: "b%"}, []string{"b%1", "b%2"}},
		{runlog.Query{Prefix: "c_"}, []string{"c_1"}},
		{runlog.Query{Prefix: "_"}, nil},
		{runlog.Query{Limit: 2}, []string{"B%1", "c_1"}},
		{runlog.Query{UpdatedBefore: time.Now().Add(-time.Hour)}, nil},
		{runlog.Query{UpdatedBefore: time.Now().Add(time.Hour), Prefix: "B"}, []string{"B%1"}},
	} {
		if got := s.list(c.q); !slices.Equal(got, c.want) {
			s.t.Errorf("List(%+v) = %q; want %q", c.q, got, c.want)
		}
	}
}

func deletes(s *subject) {
	s.append("a", events("a", 1, 1, 3)...)
	s.append("b", event("b", 0, 1, ""))
	for range 2 {
		if err := s.Delete(s.t.Context(), "a"); err != nil {
			s.t.Errorf("Delete: %v", err)
		}
	}
	s.expect("a", runs.Cursor{})
	if got := s.list(runlog.Query{}); !slices.Equal(got, []string{"b"}) {
		s.t.Errorf("List after Delete = %q; want only run b", got)
	}
	s.append("a", event("a", 0, 1, "anew"))
	s.expect("a", runs.Cursor{}, event("a", 0, 1, "anew"))
}

func keepsLong(s *subject) {
	all := []runlog.Event{event("a", 0, 1, strings.Repeat("long ", 100_000)), event("a", 0, 2, "line\nline\u2028\x00")}
	s.append("a", all...)
	s.append("a", event("a", 0, 3, "short"))
	s.expect("a", runs.Cursor{}, append(all, event("a", 0, 3, "short"))...)
}

func keepsMany(s *subject) {
	all := events("a", 1, 1, 2000)
	for page := range slices.Chunk(all, 250) {
		s.append("a", page...)
	}
	for _, behind := range []int{0, 1, 999, 1500, 1999} {
		if got := s.read("a", runs.Cursor{Token: 1, Seq: uint64(behind)}); len(got) != 2000-behind || got[0] != line(all[behind]) {
			s.t.Errorf("behind event %d there are %d events; want %d", behind, len(got), 2000-behind)
		}
	}
}

func concurrent(s *subject) {
	var all sync.WaitGroup
	for i := range 8 {
		run := fmt.Sprint("run ", i%4)
		token := uint64(i / 4)
		all.Go(func() {
			for seq := uint64(1); seq <= 20; seq++ {
				err := s.Append(s.t.Context(), run, []runlog.Event{event(run, token, seq, "")})
				if err != nil && !errors.Is(err, runlog.ErrOvertaken) {
					s.t.Errorf("Append: %v", err)
				}
				for _, err := range s.Read(s.t.Context(), run, runs.Cursor{}) {
					if err != nil {
						s.t.Errorf("Read: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range 4 {
		if got := s.read(fmt.Sprint("run ", i), runs.Cursor{Token: 1}); len(got) != 20 {
			s.t.Errorf("there are %d events of the process that has the run; want 20", len(got))
		}
	}
}

func refusesEnded(s *subject) {
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel()
	if err := s.Append(ctx, "a", events("a", 0, 1, 1)); err == nil {
		s.t.Errorf("Append has no error although its context has ended")
	}
	s.expect("a", runs.Cursor{})
	read := func() (err error) {
		for _, err = range s.Read(ctx, "a", runs.Cursor{}) {
			return err
		}
		return nil
	}
	if read() == nil {
		s.t.Errorf("Read has no error although its context has ended")
	}
}
