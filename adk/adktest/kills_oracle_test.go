package adktest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

// account sums up a ledger.
type account struct {
	text string
	// died: the run had succeeded before its process died, and the text is not known.
	died bool
	// lives is the number of processes that ran it, pauses how often it was interrupted or cancelled, and givesUp how often
	// a cancel was asked for that gives calls up, which are made again without a question.
	lives, pauses, givesUp int
	// done counts how often each call was made, and keys are its idempotency keys.
	done map[string]int
	keys map[string][]string
	// repeatable are calls of tools that say that they may be called again.
	repeatable map[string]bool
	// asked are the messages of each model in all its calls.
	asked map[int][][]string
	// wrong are effects that no run has.
	wrong []string
}

// accountOf reads a ledger.
func accountOf(entries []entry) *account {
	a := &account{
		done: map[string]int{}, keys: map[string][]string{}, repeatable: map[string]bool{}, asked: map[int][][]string{},
	}
	seen, open, callOf := map[string]bool{}, map[string]string{}, map[string]string{}
	for _, e := range entries {
		switch e.Kind {
		case lifeBegins:
			a.lives++
		case runPaused:
			a.pauses++
		case cancelAsked:
			if e.GivesUp {
				a.givesUp++
			}
		case modelAsked:
			a.asked[e.Model] = append(a.asked[e.Model], e.Lines)
			for call, line := range open {
				if slices.Contains(e.Lines, line) {
					seen[call] = true
				}
			}
		case toolBegins:
			if seen[e.Call] && a.givesUp == 0 { // one that was given up may begin late
				a.wrong = append(a.wrong, fmt.Sprintf("%s was called again behind its result", e.Call))
			}
			if other, ok := callOf[e.Key]; ok && other != e.Call || e.Key == "" {
				a.wrong = append(a.wrong, fmt.Sprintf("%q is the idempotency key of %s and of %s", e.Key, other, e.Call))
			}
			callOf[e.Key], a.repeatable[e.Call] = e.Call, e.Repeatable
			if !slices.Contains(a.keys[e.Call], e.Key) {
				a.keys[e.Call] = append(a.keys[e.Call], e.Key)
			}
		case toolDid:
			a.done[e.Call]++
			open[e.Call] = e.Lines[0]
		case runEnds:
			a.text, a.died = e.Text, e.Died
		case runFails:
			a.wrong = append(a.wrong, "it failed: "+e.Text)
		}
	}
	return a
}

// compare finds what is wrong with a run that died, beside the undisturbed one.
func (a *account) compare(want *account, unordered bool) error {
	if len(a.wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(a.wrong, "; "))
	}
	if !a.died && a.text != want.text {
		return fmt.Errorf("the run ended with %q; want %q", a.text, want.text)
	}
	if err := a.compareCalls(want); err != nil {
		return err
	}
	return a.compareModels(want, unordered)
}

func (a *account) compareCalls(want *account) error {
	for call := range a.keys {
		if want.done[call] == 0 {
			return fmt.Errorf("%s was called, and should not have been", call)
		}
	}
	for call, n := range want.done {
		most := n + a.givesUp
		if want.repeatable[call] {
			most += a.lives - 1 + a.pauses
		}
		if got := a.done[call]; got < n || got > most {
			return fmt.Errorf("%s was done %d times; want %d", call, got, n)
		}
		if got, n := len(a.keys[call]), len(want.keys[call]); got != n {
			return fmt.Errorf("%s had %d idempotency keys; want %d", call, got, n)
		}
	}
	return nil
}

// compareModels: each model was asked the same in the end, and no answer that it has seen itself was asked for again.
func (a *account) compareModels(want *account, unordered bool) error {
	for model, undisturbed := range want.asked {
		asked := a.asked[model]
		if len(asked) == 0 {
			return fmt.Errorf("model %d was never asked", model)
		}
		got, want := asked[len(asked)-1], undisturbed[len(undisturbed)-1]
		if unordered {
			got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("model %d was asked other messages in the end:\n got: %q\nwant: %q", model, got, want)
		}
		if again(asked, unordered) && !again(undisturbed, unordered) {
			return fmt.Errorf("model %d was asked again for an answer that was saved", model)
		}
	}
	for model := range a.asked {
		if len(want.asked[model]) == 0 {
			return fmt.Errorf("model %d was asked, and should not have been", model)
		}
	}
	return nil
}

// again reports whether a question comes back behind another one.
func again(asked [][]string, unordered bool) bool {
	seen, last := map[string]bool{}, ""
	for _, lines := range asked {
		if unordered {
			lines = slices.Sorted(slices.Values(lines))
		}
		question := strings.Join(lines, "\n")
		if question != last && seen[question] {
			return true
		}
		seen[question], last = true, question
	}
	return false
}

// undisturbed runs the tree of a seed in this process.
func undisturbed(t *testing.T, seed uint64) (*account, *tree) {
	r := &killedRun{t: t, seed: seed, ledger: new(ledger), store: checkpoint.NewMemoryStore()}
	_, shape := wideTree(t, new(ledger), seed)
	end, err := r.live(t.Context())
	require.NoError(t, err, "the undisturbed run of tree %d: %s", seed, shape.shape)
	require.NoError(t, r.ledger.add(end))
	a := accountOf(r.ledger.entries)
	require.Empty(t, a.wrong, "tree %d: %s", seed, shape.shape)
	return a, shape
}

// TestKills_OracleFindsWhatIsWrong: it is no use otherwise.
func TestKills_OracleFindsWhatIsWrong(t *testing.T) {
	did := func(call, key string) []entry {
		return []entry{
			{Kind: toolBegins, Call: call, Key: key}, {Kind: toolDid, Call: call, Key: key, Lines: []string{"tool " + call}},
		}
	}
	asked := func(lines ...string) entry { return entry{Kind: modelAsked, Model: 1, Lines: lines} }
	life, end := entry{Kind: lifeBegins}, entry{Kind: runEnds, Text: "done"}
	good := slices.Concat([]entry{life, asked("hi")}, did("a", "1"), []entry{asked("hi", "tool a"), end})
	want := accountOf(good)
	require.NoError(t, accountOf(good).compare(want, false))
	first, second := []entry{life, asked("hi")}, asked("hi", "tool a")
	unsaved := slices.Concat(first, good)
	require.NoError(t, accountOf(unsaved).compare(want, false), "the first answer was not saved")
	for what, bad := range map[string][]entry{
		"done 2 times":      slices.Concat(first, did("a", "1"), good),
		"done 0 times":      slices.Concat(first, []entry{second, end}),
		"idempotency keys":  slices.Concat(first, []entry{{Kind: toolBegins, Call: "a", Key: "1"}}, did("a", "2"), []entry{second, end}),
		"of a and of b":     slices.Concat(first, did("a", "1"), did("b", "1"), []entry{end}),
		"should not":        slices.Concat(good, did("b", "2")),
		"behind its result": slices.Concat(first, did("a", "1"), []entry{second}, did("a", "1"), []entry{end}),
		"other messages":    slices.Concat(first, did("a", "1"), []entry{asked("hi"), end}),
		"asked again":       slices.Concat(first, did("a", "1"), []entry{second}, first, []entry{second, end}),
		"ended with":        slices.Concat(good[:len(good)-1], []entry{{Kind: runEnds, Text: "other"}}),
		"it failed":         slices.Concat(good[:len(good)-1], []entry{{Kind: runFails, Text: "no"}}),
	} {
		require.ErrorContains(t, accountOf(bad).compare(want, false), what)
	}
}
