package turnqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQueue_ItemsKeepTheirOrder(t *testing.T) {
	q := newQueue()
	q.Push(1)
	q.start()
	q.Push(2)
	items, ok := q.Next(false)
	require.True(t, ok)
	require.Equal(t, []int{1, 2}, items)
	q.Push(3)
	require.True(t, q.Begin())
	q.PutBack([]int{2})
	q.PutBack(nil)
	q.Over()
	items, ok = q.Next(false)
	require.True(t, ok)
	require.Equal(t, []int{2, 3}, items)
	require.Equal(t, 2, q.Turn())
	q.Stop()
	require.False(t, q.Push(4))
	require.True(t, q.PushLate(4))
	require.False(t, q.Begin(), "the loop was stopped while the turn was planned")
	q.PutBack(items)
	q.Over()
	require.Equal(t, []int{2, 3}, q.End())
	require.Equal(t, []int{4}, q.Seal())
	require.False(t, q.PushLate(5))
	require.Equal(t, []int{4}, q.Seal())
}

func TestQueue_NoTurnIsChosenWhileItIsHeld(t *testing.T) {
	q := newQueue()
	q.start()
	q.Hold()
	q.Hold()
	q.Push(1)
	_, ok := q.Next(true)
	require.False(t, ok)
	for range 2 {
		require.Equal(t, Idle, q.Phase())
		q.Release()
		require.Equal(t, Choosing, q.Phase())
		_, ok = q.Next(true)
	}
	require.True(t, ok)
	require.Equal(t, 3, q.awake)
}

func closed(ack <-chan struct{}) bool {
	select {
	case <-ack:
		return true
	default:
		return false
	}
}

func TestPreempt_IsDeliveredWhenTheTurnRuns(t *testing.T) {
	q := inPhase(t, Planning)
	var delivered []string
	deliver := func(name string) func() { return func() { delivered = append(delivered, name) } }
	planned := q.Preempt(q.Turn(), 0, deliver("planned"))
	second := q.Preempt(q.Turn(), 0, deliver("second"))
	require.False(t, closed(planned))
	require.Equal(t, 2, q.Pending())
	q.begin()
	require.True(t, closed(planned) && closed(second))
	require.True(t, closed(q.Preempt(q.Turn(), 0, deliver("running"))))
	require.Equal(t, []string{"planned", "second", "running"}, delivered)
	require.Zero(t, q.Pending())
}

func TestPreempt_OfATurnThatIsOverIsVoid(t *testing.T) {
	never := func() { t.Error("there is nothing to end") }
	q := inPhase(t, Planning)
	turn := q.Turn()
	waiting := q.Preempt(turn, 0, never)
	delayed := q.Preempt(turn, time.Hour, never)
	q.Over()
	require.True(t, closed(waiting) && closed(delayed))
	require.True(t, closed(q.Preempt(turn, 0, never)))
	require.True(t, closed(q.Preempt(0, 0, never)))
	q.plan()
	q.begin()
	require.True(t, closed(q.Preempt(turn, time.Hour, never)), "another turn runs")
	require.Zero(t, q.Pending())
}

func TestPreempt_Delay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := inPhase(t, Planning)
		delivered := 0
		deliver := func() { delivered++ }
		q.Lock()
		first := q.Preempt(q.Turn(), time.Second, deliver)
		second := q.Preempt(q.Turn(), time.Minute, deliver)
		third := q.Preempt(q.Turn(), time.Hour, func() { t.Error("the turn is over") })
		q.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		require.False(t, closed(first), "the turn has not begun")
		q.Lock()
		q.begin()
		require.Equal(t, 1, delivered)
		q.Unlock()
		require.True(t, closed(first))
		<-second
		require.Equal(t, 2, delivered)
		q.Lock()
		q.Over()
		q.Unlock()
		require.True(t, closed(third))
		time.Sleep(2 * time.Hour)
	})
}

func TestQueue_StopsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		locked := func(do func()) Phase {
			q.Lock()
			defer q.Unlock()
			do()
			return q.Phase()
		}
		q.StopWhenIdleFor(time.Minute)
		q.StopWhenIdleFor(time.Second) // the first one counts
		q.start()
		time.Sleep(time.Hour)
		require.Equal(t, Choosing, locked(func() {}), "it has never been idle")

		locked(q.next)
		time.Sleep(time.Minute - 1)
		require.Equal(t, Choosing, locked(q.push))
		locked(q.next)
		locked(q.begin)
		time.Sleep(time.Hour)
		require.Equal(t, Choosing, locked(q.Over), "a turn takes its time")

		locked(q.next)
		time.Sleep(time.Minute - 1)
		locked(q.Wake) // for nothing: that is no reason to wait longer
		locked(q.next)
		locked(q.Hold)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, Idle, locked(func() {}), "somebody is about to push")
		locked(q.Release)
		locked(q.next)
		awake := q.awake
		time.Sleep(time.Minute - 2)
		require.Equal(t, Idle, locked(func() {}))
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		require.Equal(t, Closing, locked(func() {}))
		require.Equal(t, awake+1, q.awake)
		locked(q.end)
	})
}

func TestQueue_IdleLimitOfAnIdleLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := inPhase(t, Idle)
		q.Lock()
		q.StopWhenIdleFor(time.Second)
		q.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		q.Lock()
		defer q.Unlock()
		require.Equal(t, Closing, q.Phase())
	})
}

// A timer that fires while an item is pushed belongs to an idle time that is over: it does not end the next one.
func TestQueue_ALimitThatPassesBesideAPushEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := inPhase(t, Idle)
		q.Lock()
		q.StopWhenIdleFor(time.Minute)
		time.Sleep(time.Minute) // the timer fires, and waits for the lock
		q.push()
		q.next()
		q.begin()
		q.Over()
		q.next()
		require.Equal(t, Idle, q.Phase())
		q.Unlock()
		synctest.Wait()
		q.Lock()
		require.Equal(t, Idle, q.Phase(), "the loop has been idle for no time")
		q.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		q.Lock()
		defer q.Unlock()
		require.Equal(t, Closing, q.Phase())
	})
}
