package adk

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// logbook is a logger that keeps its records, without the time.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (l *logbook) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// Rule runtime/B15.14.
func TestDiagnostics_OptionsAndTargets(t *testing.T) {
	var log logbook
	ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
		if asked, _, _ := tool.GetInterruptState[any](ctx); asked {
			return "yes", nil
		}
		return "", tool.Interrupt(ctx, "why?")
	}}
	m := &replies{all: []*schema.Message{callOf("ask", "c", "x"), schema.AssistantMessage("done", nil)}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, ask), CheckPointStore: memory{},
		Logger: log.logger()})
	stop, _ := WithCancel()
	collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), stop.DesignateAgent("a"),
		WithSessionValues(nil).DesignateAgent("a", "b"),
		WithChatModelOptions(nil).DesignateAgent("a")))
	require.Equal(t, []string{
		`level=WARN msg="a run option names agents but acts on the whole run" agents=[a]`,
		`level=WARN msg="a run option names agents but acts on the whole run" agents="[a b]"`,
	}, log.all())

	log.lines = nil
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{"nowhere": 1}})
	require.NoError(t, err)
	require.Nil(t, collect(t, it).err)
	require.Equal(t, []string{
		`level=WARN msg="a resume target is none of the interrupt points of the saved run" checkpoint=1 target=nowhere`,
	}, log.all())
}

// Rule runtime/B15.10.
func TestDiagnostics_CallsLeftBehind(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log logbook
			release, entered := make(chan struct{}), make(chan struct{})
			deaf := &toolFunc{"deaf", func(context.Context, string) (string, error) {
				close(entered)
				<-release
				return "late", nil
			}}
			r := NewRunner(t.Context(), RunnerConfig{
				Agent:           newOrdinary(t, "a", &replies{all: []*schema.Message{callOf("deaf", "c1", "x")}}, deaf),
				EnableStreaming: streaming, Logger: log.logger(),
			})
			option, cancel := WithCancel()
			it := r.Query(t.Context(), "hi", option)
			<-entered
			handle, _ := cancel()
			require.NoError(t, handle.Wait())
			require.NotNil(t, collect(t, it).err)
			require.Equal(t,
				[]string{`level=WARN msg="a call was given up by a cancel and may still be running" agent=a tool=deaf call=c1`},
				log.all())
			close(release)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		m := newStuck(schema.AssistantMessage("late", nil))
		option, cancel := WithCancel()
		it := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m), Logger: log.logger()}).Query(t.Context(),
			"hi", option)
		<-m.entered
		handle, _ := cancel()
		require.NoError(t, handle.Wait())
		require.NotNil(t, collect(t, it).err)
		require.Equal(t,
			[]string{`level=WARN msg="a call was given up by a cancel and may still be running" agent=a model=stuck`}, log.all())
		close(m.release)
	})
}

// Rule runtime/B15.14.
func TestDiagnostics_ErrorsOfPreemptedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		first := newStuck(schema.AssistantMessage("late", nil))
		second := newOrdinary(t, "second", &replies{all: []*schema.Message{schema.AssistantMessage("done", nil)}})
		l := loopOf(func(items []string) Agent {
			if items[0] == "1" {
				return newOrdinary(t, "first", first)
			}
			return second
		}, func(c *TurnLoopConfig[string, Message]) {
			c.Logger = log.logger()
			c.OnAgentEvents = func(_ context.Context, tc *TurnContext[string, Message],
				events *AsyncIterator[*AgentEvent],
			) error {
				for range events.All() {
				}
				if tc.Consumed[0] == "1" {
					return errors.New("too late")
				}
				tc.Loop.Stop()
				return nil
			}
		})
		l.Push("1")
		l.Run(t.Context())
		<-first.entered
		l.Push("2", WithPreempt[string, Message](AnySafePoint))
		synctest.Wait()
		close(first.release)
		require.NoError(t, l.Wait().ExitReason)
		require.Equal(t, []string{`level=WARN msg="a turn that was preempted ended with an error" error="too late"`},
			log.all())
	})
}

type brokenHandler struct{ slog.Handler }

func (brokenHandler) Enabled(context.Context, slog.Level) bool { panic("broken") }

func TestDiagnostics_ABrokenLoggerHarmsNobody(t *testing.T) {
	m := &replies{all: []*schema.Message{schema.AssistantMessage("done", nil)}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m), Logger: slog.New(brokenHandler{})})
	require.Nil(t, collect(t, r.Query(t.Context(), "hi", WithSessionValues(nil).DesignateAgent("a"))).err)
}

// leaving is a store whose Set ends the goroutine, as a failing mock does.
type leaving struct{ memory }

func (leaving) Set(context.Context, string, []byte) error {
	runtime.Goexit()
	return nil
}

func TestRunner_GoexitInAStoreIsReported(t *testing.T) {
	ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) { return "", tool.Interrupt(ctx, "why?") }}
	m := &replies{all: []*schema.Message{callOf("ask", "c", "x")}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, ask), CheckPointStore: leaving{memory{}}})
	var last error
	for e := range r.Query(t.Context(), "hi", WithCheckPointID("1")).All() {
		last = e.Err
	}
	require.ErrorContains(t, last, "Goexit")
}

// Tools and agents that share a name: the logger gets both, once.
func TestDiagnostics_SharedNames(t *testing.T) {
	var log logbook
	m := &replies{all: []*schema.Message{schema.AssistantMessage("done", nil)}}
	first := &toolFunc{"same", nil}
	second := &enhancedToolFunc{named: "same"}
	a := newOrdinary(t, "a", m, first, echo("other"), second)
	worker := func() Agent { return newOrdinary(t, "worker", m) }
	r := NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, a, worker(), worker()), Logger: log.logger()})
	for range 2 {
		collect(t, r.Query(t.Context(), "hi"))
	}
	lines := log.all()
	require.Len(t, lines, 2)
	require.Contains(t, lines[0],
		`two agents have the same name: a transfer goes to the first one" agent=a name=worker first="*adk.TypedChatModelAgent`)
	require.Contains(t, lines[1],
		`agent=a tool=same ignored="tool 0, *adk.toolFunc: a tool" used="tool 2, *adk.enhancedToolFunc: a tool"`)
	collect(t, NewRunner(t.Context(), RunnerConfig{Agent: a}).Query(t.Context(), "hi")) // no logger to tell
}
