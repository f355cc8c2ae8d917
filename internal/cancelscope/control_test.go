package cancelscope

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Rule runtime/C3.
func TestAsk_MergesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Control
		v := c.Root()
		require.False(t, v.Requested())
		require.True(t, c.Ask(Request{Mode: 2, Timeout: time.Minute}))
		require.True(t, c.Ask(Request{Mode: 4, Timeout: time.Second}))
		require.True(t, c.Ask(Request{Mode: 4, Recursive: true, Timeout: time.Hour}))
		require.True(t, v.At(2) && v.At(4) && !v.Now())
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, v.Now(), "the earliest deadline wins")
		info, stopped := c.Decide()
		require.True(t, stopped)
		require.Equal(t, Info{Mode: 6, Recursive: true, Immediate: true, Escalated: true, TimedOut: true}, info)
		require.False(t, c.Ask(Request{}))
	})
}

// Rule runtime/C5.
func TestAsk_ImmediateAbsorbs(t *testing.T) {
	var c Control
	c.Ask(Request{Mode: 2})
	c.Ask(Request{Timeout: time.Nanosecond})
	info, _, _ := c.State()
	require.Equal(t, Info{Immediate: true, Escalated: true}, info)

	var plain Control
	plain.Ask(Request{})
	plain.Ask(Request{Mode: 2})
	info, _, _ = plain.State()
	require.Equal(t, Info{Immediate: true}, info)
}

func TestViews(t *testing.T) {
	var c Control
	root, nested := c.Root(), c.Root().Nested()
	var called []string
	on := func(v *View, what string) { v.OnNow(StopFunc(func() { called = append(called, what) })) }
	on(root, "root")
	on(nested, "nested")
	taken := &stopper{}
	root.OnNow(taken)
	root.Forget(taken)
	c.Ask(Request{})
	require.Equal(t, []string{"root"}, called)
	require.False(t, nested.Now())
	c.Ask(Request{Recursive: true})
	require.Equal(t, []string{"root", "nested"}, called)
	require.True(t, nested.Now())
	on(nested, "late")
	require.Equal(t, "late", called[2])
	require.False(t, taken.stopped)

	var none *View
	require.False(t, none.Requested() || none.Now() || none.At(2))
	on(none, "none")
	none.Forget(taken)
	require.Len(t, called, 3)
	require.Nil(t, none.Nested())
}

type stopper struct{ stopped bool }

func (s *stopper) StopNow() { s.stopped = true }

func TestSettle(t *testing.T) {
	var c Control
	require.True(t, c.Use())
	require.False(t, c.Use())
	_, stopped := c.Decide()
	require.False(t, stopped, "nobody asked")
	require.False(t, c.Ask(Request{}))
	_, stopped = c.Decide()
	require.False(t, stopped)
	select {
	case <-c.Done():
		t.Fatal("what follows from the outcome is not done")
	default:
	}
	c.Settle()
	c.Settle()
	<-c.Done()
}

// TestAsk_AcceptedBeforeAnythingStops: Accepted is closed before anything stops, and only if the request is not too
// late.
func TestAsk_AcceptedBeforeAnythingStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Control
		accepted, late := make(chan struct{}), make(chan struct{})
		c.Root().OnNow(StopFunc(func() { <-accepted }))
		require.True(t, c.Ask(Request{Accepted: accepted}))
		c.Settle()
		require.False(t, c.Ask(Request{Accepted: late}))
		select {
		case <-late:
			t.Fatal("it is too late")
		default:
		}
	})
}

// A cancel at once after one with a time limit has not timed out, also when the limit passes before the run decides.
// Rule runtime/C3.
func TestAsk_ALimitThatPassesAfterAnImmediateRequestIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Control
		c.Ask(Request{Mode: 1, Timeout: time.Minute})
		c.Ask(Request{})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		info, stopped := c.Decide()
		require.True(t, stopped)
		require.Equal(t, Info{Immediate: true, Escalated: true}, info)
	})
}

// What began last stops first: something outside that stops must find nothing running inside.
func TestAsk_StopsTheNewestFirst(t *testing.T) {
	var c Control
	var stopped []string
	for _, name := range []string{"outer", "middle", "inner"} {
		c.Root().OnNow(StopFunc(func() { stopped = append(stopped, name) }))
	}
	c.Ask(Request{})
	require.Equal(t, []string{"inner", "middle", "outer"}, stopped)
}

// A request without a limit waits for its safe point for ever.
// Rule runtime/C3.
func TestAsk_WithoutALimitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Control
		c.Ask(Request{Mode: 1})
		c.Ask(Request{Mode: 1, Timeout: -time.Second})
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		require.False(t, c.Root().Now())
	})
}

// Each part obeys the requests that reach it. A view within another one obeys no more than both.
func TestViews_ObeyWhatReachesThem(t *testing.T) {
	views := func(c *Control) map[string]*View {
		return map[string]*View{"outermost": c.Root(), "nested": c.Root().Nested(), "abort only": c.Root().AbortOnly(),
			"nested in abort only": c.Root().AbortOnly().Nested(), "abort only in nested": c.Root().Nested().AbortOnly()}
	}
	for name, row := range map[string]struct {
		request Request
		obey    []string
	}{
		"at a safe point":            {Request{Mode: 2}, []string{"outermost"}},
		"at once":                    {Request{}, []string{"outermost"}},
		"recursive, at a safe point": {Request{Mode: 2, Recursive: true}, []string{"outermost", "nested"}},
		"recursive, at once": {Request{Recursive: true}, []string{"outermost", "nested", "abort only", "nested in abort only",
			"abort only in nested"}},
	} {
		var c Control
		c.Ask(row.request)
		for view, v := range views(&c) {
			want := slices.Contains(row.obey, view)
			require.Equal(t, want, v.Requested(), "%s: %s", name, view)
			require.Equal(t, want, v.At(2), "%s: %s", name, view)
			require.Equal(t, want && row.request.Mode == 0, v.At(4), "%s: %s", name, view)
			require.Equal(t, want && row.request.Mode == 0, v.Now(), "%s: %s", name, view)
			require.Equal(t, view != "outermost" && view != "nested", v.IsAbortOnly(), view)
		}
		c.Settle() // nothing stopped: the requests came too late
		for _, v := range views(&c) {
			require.False(t, v.Requested())
		}
	}
}
