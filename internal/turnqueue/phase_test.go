package turnqueue

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// queue is a queue of a test, with the number of goroutines that it has asked for.
type queue struct {
	*Queue[int]
	sync.Mutex
	awake int
}

func newQueue() *queue {
	q := &queue{}
	q.Queue = New[int](q, func() { q.awake++ })
	return q
}

// inPhase returns a queue in a phase.
func inPhase(t *testing.T, p Phase) *queue {
	t.Helper()
	q := newQueue()
	for _, step := range map[Phase][]func(){
		Unstarted:   nil,
		Unwanted:    {q.Stop},
		Idle:        {q.start, q.next},
		Choosing:    {q.start},
		Planning:    {q.start, q.plan},
		Withdrawing: {q.start, q.plan, q.Stop},
		Running:     {q.start, q.plan, q.begin},
		Finishing:   {q.start, q.plan, q.begin, q.Stop},
		Closing:     {q.start, q.Stop},
		Ended:       {q.start, q.end},
		Sealed:      {q.start, q.end, q.seal},
	}[p] {
		step()
	}
	require.Equal(t, p, q.Phase())
	return q
}

func (q *queue) start() { q.Start() }
func (q *queue) next()  { q.Next(false) }
func (q *queue) plan()  { q.Next(true) }
func (q *queue) begin() { q.Begin() }
func (q *queue) end()   { q.End() }
func (q *queue) seal()  { q.Seal() }
func (q *queue) push()  { q.Push(1) }
func (q *queue) free()  { q.Hold(); q.Release() }

// Every pair of phases is either a legal transition, or a panic.
func TestPhase_EveryTransitionIsLegalOrPanics(t *testing.T) {
	const legal = `unstarted → unwanted, choosing
unwanted → closing
idle → choosing, closing
choosing → idle, planning, closing, ended
planning → choosing, withdrawing, running
withdrawing → closing
running → choosing, finishing
finishing → closing
closing → ended
ended → sealed
sealed →
`
	var got string
	for from := range phases {
		got += from.String() + " →"
		separator := " "
		for to := range phases {
			q := inPhase(t, from)
			move := func() { q.move(to) }
			if !from.precedes(to) {
				require.PanicsWithValue(t, fmt.Sprintf("turnqueue: a loop that is %s cannot become %s", from, to), move)
				require.Equal(t, from, q.Phase())
				continue
			}
			move()
			require.Equal(t, to, q.Phase())
			got += separator + to.String()
			separator = ", "
		}
		got += "\n"
	}
	require.Equal(t, legal, got)
}

// What each method does in each phase: the phase that follows, "-" if it stays, "!" for a panic.
func TestPhase_EveryMethodInEveryPhase(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(q *queue)
		// in the order of the phases
		want [phases]string
	}{
		{"Start", (*queue).start, [phases]string{"choosing", "closing", "-", "-", "-", "-", "-", "-", "-", "-", "-"}},
		{"Wake", func(q *queue) { q.Wake() }, [phases]string{"-", "-", "choosing", "-", "-", "-", "-", "-", "-", "-", "-"}},
		{"Push", (*queue).push, [phases]string{"-", "-", "choosing", "-", "-", "-", "-", "-", "-", "-", "-"}},
		{"Release", (*queue).free, [phases]string{"-", "-", "choosing", "-", "-", "-", "-", "-", "-", "-", "-"}},
		{"Next without items", (*queue).next, [phases]string{"!", "!", "!", "idle", "!", "!", "!", "!", "!", "!", "!"}},
		{"Next with more", (*queue).plan, [phases]string{"!", "!", "!", "planning", "!", "!", "!", "!", "!", "!", "!"}},
		{"Begin", (*queue).begin, [phases]string{"-", "-", "-", "-", "running", "-", "-", "-", "-", "-", "-"}},
		{"Over", func(q *queue) { q.Over() },
			[phases]string{"!", "!", "!", "!", "choosing", "closing", "choosing", "closing", "!", "!", "!"}},
		{"Stop", func(q *queue) { q.Stop() },
			[phases]string{"unwanted", "-", "closing", "closing", "withdrawing", "-", "finishing", "-", "-", "-", "-"}},
		{"End", (*queue).end, [phases]string{"!", "!", "!", "ended", "!", "!", "!", "!", "ended", "!", "!"}},
		{"Seal", (*queue).seal, [phases]string{"!", "!", "!", "!", "!", "!", "!", "!", "!", "sealed", "-"}},
	} {
		for p := range phases {
			q := inPhase(t, p)
			before := q.awake
			switch want := test.want[p]; want {
			case "!":
				require.Panics(t, func() { test.do(q) }, "%s while %s", test.name, p)
			case "-":
				test.do(q)
				require.Equal(t, p, q.Phase(), "%s while %s", test.name, p)
				require.Equal(t, before, q.awake)
			default:
				test.do(q)
				require.Equal(t, want, q.Phase().String(), "%s while %s", test.name, p)
				if hasGoroutine(p) == hasGoroutine(q.Phase()) {
					require.Equal(t, before, q.awake, "%s while %s", test.name, p)
				} else if hasGoroutine(q.Phase()) {
					require.Equal(t, before+1, q.awake, "%s while %s", test.name, p)
				}
			}
		}
	}
}

// hasGoroutine is the second column of the table at Phase.
func hasGoroutine(p Phase) bool { return p >= Choosing && p <= Closing }

func TestPhase_ItemsAndTurns(t *testing.T) {
	for p := range phases {
		q := inPhase(t, p)
		taken := q.Push(7)
		require.Equal(t, p.TakesItems(), taken, p)
		if !taken {
			require.Equal(t, p != Sealed, q.PushLate(7), p)
		}
		q = inPhase(t, p)
		require.Equal(t, p.HasTurn(), q.Turn() != 0, p)
		require.Equal(t, p == Planning || p == Withdrawing, p.IsPlanned())
		require.Equal(t, p == Running || p == Finishing, p.HasBegun())
	}
}
