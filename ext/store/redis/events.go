package redis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// Events is a runlog.Store on the server of a store, for one tenant: a stream for each run, whose entries have the
// position of their event as ID. Deltas are removed when what they are pieces of has ended, and a run as long after its
// end as Retention.Events says. A process needs one: it hears through one connection, which is open while a reader
// waits, of what others write.
type Events struct {
	store *Store
	keys  storekit.Waiters

	mu      sync.Mutex // guards the fields below
	waiting int
	// ear is the connection that hears of events, nil while no reader waits.
	ear *ear
}

// ear is a connection that hears of events.
type ear struct {
	hears *redis.PubSub
	// open is closed when it hears, or could not be opened.
	open chan struct{}
	ends sync.WaitGroup
}

var _ runlog.Store = (*Events)(nil)

const (
	// longestStream is about how many events a run may have. Beyond that the oldest are removed.
	longestStream = 50_000
	// lookAgain is after how long a reader asks although it has heard nothing: the connection may have been broken.
	lookAgain = 5 * time.Second
)

// OpenEvents opens the events of runs, for runlog.Config.
func (s *Store) OpenEvents() *Events { return &Events{store: s} }

func (s *Store) streamKey(id string) string { return s.prefix + "events:" + hashed(id) }
func (s *Store) logsKey() string            { return s.prefix + "logs" }
func (s *Store) saidKey() string            { return s.prefix + "said" }

// addEvents adds events to a stream.
//
//	KEYS  stream, the list of runs with events
//	ARGV  run, time, token, the longest stream, for how many milliseconds it stays (0 for ever), and of each event: token,
//	      number, "d" for a delta, "e" for an end, or "", span, event
//
// It returns 0 if the stream has events of a higher token. Events that it has are skipped. An end removes the deltas of
// its span, whose IDs are in a list.
var addEvents = redis.NewScript(`
local top, token, seq = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1), 0, 0
if #top > 0 then
  local t, s = string.match(top[1][1], '(%d+)-(%d+)')
  token, seq = tonumber(t), tonumber(s)
end
if tonumber(ARGV[3]) < token then return 0 end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
for i = 6, #ARGV, 5 do
  local t, s, deltas = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), KEYS[1] .. ':' .. ARGV[i + 3]
  if t > token or t == token and s > seq then
    local id = ARGV[i] .. '-' .. ARGV[i + 1]
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], id, 'e', ARGV[i + 4])
    if ARGV[i + 2] == 'd' then
      redis.call('RPUSH', deltas, id)
      redis.call('EXPIRE', deltas, 3600)
    end
    token, seq = t, s
  end
  if ARGV[i + 2] == 'e' then
    for _, id in ipairs(redis.call('LRANGE', deltas, 0, -1)) do redis.call('XDEL', KEYS[1], id) end
    redis.call('DEL', deltas)
  end
end
if ARGV[5] == '0' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
return 1`)

// forgetEvents takes a run out of the list of those with events if it has none.
//
//	KEYS  stream, the list of runs with events
//	ARGV  run
var forgetEvents = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end
return 1`)

// Append adds events.
func (e *Events) Append(ctx context.Context, run string, events []runlog.Event) error {
	if err := ctx.Err(); err != nil || len(events) == 0 {
		return err
	}
	s := e.store
	keep := int64(0)
	if end, ok := events[len(events)-1].Data.(*runlog.RunEndData); ok && end.Status.HasEnded() {
		keep = s.keepEvents().Milliseconds()
	}
	args := []any{run, time.Now().UnixMicro(), events[0].Token, longestStream, keep}
	for i := range events {
		event, kind := &events[i], ""
		switch {
		case event.Type.IsDelta():
			kind = "d"
		case event.Type == runlog.ModelEnd || event.Type == runlog.ToolEnd:
			kind = "e"
		}
		data, err := event.AppendStored(nil)
		if err != nil {
			return storekit.Failed("add events to", run, err)
		}
		args = append(args, event.Token, event.Seq, kind, uint64(event.Span), data)
	}
	added, err := s.run(ctx, addEvents, []string{s.streamKey(run), s.logsKey()}, args...).Int64()
	switch {
	case err != nil:
		return storekit.Failed("add events to", run, err)
	case added == 0:
		return runlog.ErrOvertaken
	}
	e.keys.Wake(hashed(run))
	return storekit.Failed("add events to", run, s.client.Publish(ctx, s.saidKey(), hashed(run)).Err())
}

// keepEvents is for how long events of a run that has ended are kept, 0 for ever.
func (s *Store) keepEvents() time.Duration {
	return max(0, s.retention.ForEvents())
}

// eventPage is the number of events that are read at a time.
const eventPage = 256

// Read yields events.
func (e *Events) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	return func(yield func(runlog.Event, error) bool) {
		for {
			from := fmt.Sprintf("(%d-%d", after.Token, after.Seq)
			entries, err := try(ctx, e.store, func() *redis.XMessageSliceCmd {
				return e.store.client.XRangeN(ctx, e.store.streamKey(run), from, "+", eventPage)
			})
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(runlog.Event{}, storekit.Failed("read the events of", run, err))
				return
			}
			for _, entry := range entries {
				event, err := decodeEvent(entry, run)
				if !yield(event, storekit.Failed("read the events of", run, err)) || err != nil {
					return
				}
				after = event.Cursor()
			}
			if len(entries) < eventPage {
				return
			}
		}
	}
}

func decodeEvent(entry redis.XMessage, run string) (event runlog.Event, err error) {
	text, _ := entry.Values["e"].(string)
	event, err = runlog.DecodeStored([]byte(text), run)
	if is := event.Cursor(); err == nil && is != cursorOf(entry.ID) {
		err = fmt.Errorf("%w: event %v is at another place", runlog.ErrDamaged, is)
	}
	return event, err
}

// Wait blocks until there may be an event behind the cursor.
func (e *Events) Wait(ctx context.Context, run string, after runs.Cursor) error {
	changed, leave := e.keys.Watch(hashed(run))
	defer leave()
	select {
	case <-e.listen(ctx):
	case <-ctx.Done():
	}
	defer e.unlisten()
	for event, err := range e.Read(ctx, run, after) {
		_ = event
		return err
	}
	return storekit.Await(ctx, changed, lookAgain)
}

// listen opens the ear, if it is the first one that waits. The channel is closed when it hears.
func (e *Events) listen(ctx context.Context) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting++; e.ear != nil {
		return e.ear.open
	}
	a := &ear{hears: e.store.client.Subscribe(context.WithoutCancel(ctx), e.store.saidKey()), open: make(chan struct{})}
	e.ear = a
	a.ends.Go(func() {
		_, _ = a.hears.ReceiveTimeout(context.Background(), lookAgain)
		close(a.open)
		for message := range a.hears.Channel() {
			e.keys.Wake(message.Payload)
		}
	})
	return a.open
}

// unlisten closes the ear after the last one that waits.
func (e *Events) unlisten() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting--; e.waiting > 0 {
		return
	}
	_ = e.ear.hears.Close()
	e.ear = nil
}

// Inspect returns what there is of a run.
func (e *Events) Inspect(ctx context.Context, run string) (info runlog.Info, exists bool, err error) {
	s := e.store
	first, err := s.client.XRangeN(ctx, s.streamKey(run), "-", "+", 1).Result()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil || len(first) == 0 {
		return info, false, storekit.Failed("inspect the events of", run, err)
	}
	last, err := s.client.XRevRangeN(ctx, s.streamKey(run), "+", "-", 1).Result()
	if err != nil || len(last) == 0 {
		return info, false, storekit.Failed("inspect the events of", run, err)
	}
	updated, err := s.client.ZScore(ctx, s.logsKey(), run).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	event, decodeErr := decodeEvent(last[0], run)
	info = runlog.Info{Run: run, First: cursorOf(first[0].ID), Last: cursorOf(last[0].ID), Updated: time.UnixMicro(int64(updated))}
	if end, ok := event.Data.(*runlog.RunEndData); ok {
		info.End = end.Status
	}
	err = errors.Join(err, decodeErr)
	return info, err == nil, storekit.Failed("inspect the events of", run, err)
}

// cursorOf is the position that the ID of an entry says.
func cursorOf(id string) (c runs.Cursor) {
	token, seq, _ := strings.Cut(id, "-")
	c.Token, _ = strconv.ParseUint(token, 10, 64)
	c.Seq, _ = strconv.ParseUint(seq, 10, 64)
	return c
}

// List yields runs, and forgets those whose events have expired.
func (e *Events) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Info, error] {
	return func(yield func(runlog.Info, error) bool) {
		s := e.store
		all, err := s.client.ZRevRange(ctx, s.logsKey(), 0, -1).Result()
		var infos []runlog.Info
		for i := 0; i < len(all) && err == nil; i++ {
			if !strings.HasPrefix(all[i], q.Prefix) {
				continue
			}
			var info runlog.Info
			var exists bool
			if info, exists, err = e.Inspect(ctx, all[i]); exists {
				infos = append(infos, info)
			} else if err == nil {
				err = s.run(ctx, forgetEvents, []string{s.streamKey(all[i]), s.logsKey()}, all[i]).Err()
			}
		}
		if err != nil {
			yield(runlog.Info{}, fmt.Errorf("redis: list the runs with events: %w", err))
			return
		}
		q.Of(ctx, infos)(yield)
	}
}

// Delete removes the events of a run.
func (e *Events) Delete(ctx context.Context, run string) error {
	s := e.store
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, s.streamKey(run))
		p.ZRem(ctx, s.logsKey(), run)
		return nil
	})
	return storekit.Failed("delete the events of", run, err)
}
