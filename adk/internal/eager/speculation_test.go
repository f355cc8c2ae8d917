package eager

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errStopped = errors.New("stopped")

// slow makes a speculation whose calls take a second and answer with their ID.
func slow(ctx context.Context, limit int) (s *Speculation, began *atomic.Int32) {
	began = new(atomic.Int32)
	call := func(ctx context.Context, call schema.ToolCall,
		_ []tool.Option,
	) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
		began.Add(1)
		select {
		case <-time.After(time.Second):
			return schema.StreamReaderFromArray([]string{call.ID}), nil, nil
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	tools := &Tools{Call: call, Limit: limit, IsFinal: func(err error) bool { return errors.Is(err, errStopped) },
		Stopped: errStopped}
	return &Speculation{Run: "run", Tools: tools, Context: ctx}, began
}

func calls(ids ...string) (all []schema.ToolCall) {
	for i, id := range ids {
		all = append(all, schema.ToolCall{Index: &i, ID: id, Function: schema.FunctionCall{Name: "f", Arguments: "{}"}})
	}
	return all
}

// results awaits what was adopted: the answers, "given up", "not early", or the error.
func results(t *testing.T, into []compose.EarlyToolCall) (all []string) {
	t.Helper()
	for _, await := range into {
		if await == nil {
			all = append(all, "not early")
			continue
		}
		text, _, err := await(t.Context())
		switch {
		case errors.Is(err, compose.ErrToolCallGivenUp):
			all = append(all, "given up")
		case err != nil:
			all = append(all, err.Error())
		default:
			answer, err := text.Recv()
			require.NoError(t, err)
			text.Close()
			all = append(all, answer)
		}
	}
	return all
}

func TestSpeculation_RunsCallsBesideEachOtherAsTheyCome(t *testing.T) {
	for limit, takes := range map[int]time.Duration{0: time.Second, 1: 3 * time.Second, 2: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := slow(t.Context(), limit)
			defer s.Close()
			start := time.Now()
			s.Feed(calls("a", "b"))
			s.Feed(calls("a", "b", "c"))
			into, err := s.AdoptInto(t.Context(), calls("a", "b", "c", "d"))
			require.NoError(t, err)
			require.NoError(t, s.Publish())
			require.Equal(t, []string{"a", "b", "c", "not early"}, results(t, into))
			require.Equal(t, takes, time.Since(start))
			require.False(t, s.StopsRun())
		})
	}
}

// TestSpeculation_Phases is the table at speculationPhase: how the calls end, by what happens first.
func TestSpeculation_Phases(t *testing.T) {
	for name, c := range map[string]struct {
		first, then func(*Speculation)
		phase       speculationPhase
		adopts      bool
		want        []string
	}{
		"adopted": {nil, nil, adopted, true, []string{"a", "b"}},
		"adopted once": {func(s *Speculation) { _, _ = s.AdoptInto(context.Background(), calls("a", "b")) }, nil,
			adopted, false, nil},
		"adopted, then aborted": {nil, func(s *Speculation) { s.Abort(errors.New("too late")) }, adopted, true,
			[]string{"a", "b"}},
		"adopted, then drained": {nil, func(s *Speculation) { s.Drain() }, adopted, true, []string{"a", "b"}},
		"aborted":               {func(s *Speculation) { s.Abort(nil) }, nil, aborted, false, nil},
		"drained":               {func(s *Speculation) { s.Drain() }, nil, drained, true, []string{"a", "given up"}},
		"drained, then aborted": {func(s *Speculation) { s.Drain(); s.Abort(nil) }, nil, aborted, false, nil},
		"aborted, then drained": {func(s *Speculation) { s.Abort(nil); s.Drain() }, nil, aborted, false, nil},
		"drained while it adopts": {nil, func(s *Speculation) { s.Drain(); s.Feed(calls("a", "b", "late")) }, adopted, true,
			[]string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := slow(t.Context(), 1)
				defer s.Close()
				s.Feed(calls("a", "b")) // b waits for a
				synctest.Wait()
				require.EqualValues(t, 1, began.Load())
				if c.first != nil {
					c.first(s)
				}
				into, err := s.AdoptInto(t.Context(), calls("a", "b"))
				require.NoError(t, err)
				if c.then != nil {
					c.then(s)
				}
				require.Equal(t, c.adopts, into != nil)
				require.Equal(t, c.want, results(t, into))
				require.Equal(t, c.phase, s.phase)
				require.Equal(t, c.phase == drained, s.StopsRun())
			})
		})
	}
}

func TestSpeculation_GivesUpCallsThatTheMessageDoesNotMake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := slow(t.Context(), 0)
		defer s.Close()
		s.Feed(calls("a", "b"))
		changed := calls("a")
		changed[0].Function.Arguments = `{"other":1}`
		into, err := s.AdoptInto(t.Context(), changed)
		require.NoError(t, err)
		require.Equal(t, []string{"not early"}, results(t, into))
		for _, c := range s.order {
			require.ErrorIs(t, context.Cause(c.ctx), errMessageChanged)
		}
	})
}

func TestSpeculation_StartsOnlyWhatIsAllowed(t *testing.T) {
	s, began := slow(t.Context(), 0)
	s.Allowed = func(name string) bool { return name != "f" }
	s.Feed(calls("a"))
	s.Close()
	require.Zero(t, began.Load())
}

func TestSpeculation_ReportsWhichCallFailed(t *testing.T) {
	for err, want := range map[error]string{errors.New("no"): "eager tool call a failed: no", errStopped: "stopped"} {
		s, _ := slow(t.Context(), 0)
		s.Tools.Call = func(context.Context, schema.ToolCall,
			[]tool.Option,
		) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
			return nil, nil, fmt.Errorf("%w", err)
		}
		s.Feed(calls("a"))
		into, err := s.AdoptInto(t.Context(), calls("a"))
		require.NoError(t, err)
		require.Equal(t, []string{want}, results(t, into))
		s.Close()
	}
}

func TestSpeculation_OfNilDoesNothing(t *testing.T) {
	var s *Speculation
	s.Feed(calls("a"))
	s.Abort(nil)
	require.False(t, s.Drain())
	require.False(t, s.StopsRun())
	require.NoError(t, s.Publish())
	s.Close()
}
