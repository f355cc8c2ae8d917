package nats

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weftgo/weft/runs"
)

// woken says which runs have become due. A name may be any bytes, which JSON has as base64.
type woken struct{ Queue, Agent []byte }

// wakeFor wakes the workers of all processes if a run has become due, or those behind it may have.
func (s *Store) wakeFor(st *state, now time.Time) {
	if !st.IsRun {
		return
	}
	var data []byte
	if _, isDue := st.Row.DueAt(now); isDue {
		data, _ = json.Marshal(woken{[]byte(st.Row.Run.Queue), []byte(st.Row.Run.Agent)})
	} else if st.Row.Run.Key == "" || st.Row.BlocksKey() {
		return
	}
	_ = s.wire.conn.Publish(s.wakes(), data)
}

// Wake returns a channel that receives when runs that AcquireDue would find may have become due, in any process.
func (s *Store) Wake(ctx context.Context, due runs.Due) <-chan struct{} {
	woke := make(chan struct{}, 1)
	sub, err := s.wire.conn.Subscribe(s.wakes(), func(m *nats.Msg) {
		var w woken
		if len(m.Data) > 0 && json.Unmarshal(m.Data, &w) == nil &&
			(!isAmong(due.Queues, string(w.Queue)) || !isAmong(due.Agents, string(w.Agent))) {
			return
		}
		select {
		case woke <- struct{}{}:
		default:
		}
	})
	if err == nil { // otherwise the connection is closed, and the worker hears of that when it looks
		context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	}
	return woke
}

// isAmong reports whether a list has a name, as an empty one does.
func isAmong(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
