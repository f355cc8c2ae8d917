package adktest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// The environment can set how many runs a soak has, how long it takes at least, in seconds, and its seed.
const (
	soakRuns    = "WEFT_SOAK_RUNS"
	soakSeconds = "WEFT_SOAK_SECONDS"
	soakSeed    = "WEFT_SOAK_SEED"
)

// How a soak runs: so many runs at a time, in so many intervals, the first of which warm up. Afterwards the heap may
// grow by so much, and by so much for each run: far less than what it takes to keep the runs of one agent.
const (
	soakWorkers   = 16
	soakIntervals = 20
	soakWarm      = 5
	soakGrowth    = 128 << 10
	soakRunGrowth = 4
)

// TestSoak_LeavesNothing: many runs of all kinds in one process, with user code that fails and readers that walk away,
// leave neither memory nor goroutines, and undisturbed runs end well.
func TestSoak_LeavesNothing(t *testing.T) {
	count := 3000
	if !testsize.Full() {
		count = 1000
	}
	s := &soak{t: t, builder: t, seed: fromEnvironment(t, soakSeed, 1)}
	count = fromEnvironment(t, soakRuns, count)
	s.prepare()
	until := time.Now().Add(time.Duration(fromEnvironment(t, soakSeconds, 0)) * time.Second)
	each := max(count/soakIntervals, 1)
	for n := 0; s.done < count || time.Now().Before(until); n++ {
		if !t.Run(fmt.Sprint("interval ", n), func(t *testing.T) { s.interval(t, each) }) {
			return
		}
		s.settle()
		if n == soakWarm-1 {
			s.warm, s.warmRuns = s.heap, s.done
		}
	}
	t.Logf("%d runs: the heap was %s after %d runs, and is %s; lives: %v",
		s.done, kib(s.warm), s.warmRuns, kib(s.heap), s.ends.n)
	if grown := s.heap - s.warm; grown > soakGrowth+soakRunGrowth*(s.done-s.warmRuns) {
		t.Errorf("the heap has grown by %s in %d runs", kib(grown), s.done-s.warmRuns)
	}
}

// soak is a soak at work.
type soak struct {
	t    *testing.T
	seed int
	// builder is the test that agents are made for; what is registered with it goes with it.
	builder *testing.T
	// kinds holds the kinds of runs, by their names in names.
	kinds map[string]func(*rand.Rand) error
	names []string
	// ends says how runs ended; goroutines is how many there were before the first run. done counts the runs, and speed
	// how many there were in a second; heap is how large it was after them, and warm after the first warmRuns.
	ends                 tally
	goroutines, done     int
	speed                float64
	heap, warm, warmRuns int
}

// prepare makes the agents.
func (s *soak) prepare() {
	s.kinds, s.ends.n = map[string]func(*rand.Rand) error{}, map[string]int{}
	soakAgents[*schema.Message](s, "ordinary")
	soakAgents[*schema.AgenticMessage](s, "agentic")
	for name, agent := range workflows() {
		soakAgent(s, name, agent)
	}
	for name, agent := range doubtful() {
		soakAgent(s, name, agent)
	}
	s.names = slices.Sorted(maps.Keys(s.kinds))
	runtime.GC()
	s.goroutines = runtime.NumGoroutine()
}

func soakAgents[M adk.MessageType](s *soak, kind string) {
	for name, agent := range map[string]func(explored[M]) adk.TypedAgent[M]{
		"react": explored[M].react, "eager": explored[M].eager, "return directly": explored[M].direct,
		"agent tools": explored[M].deep, "approval": explored[M].plan, "retry and failover": explored[M].shaky,
		"rejected answer": explored[M].judged, "hooks": explored[M].hooked,
	} {
		soakAgent(s, name+", "+kind, agent)
	}
}

// hooked has hooks.
func (x explored[M]) hooked() adk.TypedAgent[M] {
	script := []adktest.Answer{work("a", "b"), adktest.Streams("all ", "done")}
	return x.agent("hooked", script, func(conf *adk.TypedChatModelAgentConfig[M]) {
		conf.Handlers = append(conf.Handlers, x.p.Middleware())
	})
}

// soakAgent adds an agent, to be run by runners and in TurnLoops.
func soakAgent[M adk.MessageType](s *soak, name string, agent func(explored[M]) adk.TypedAgent[M]) {
	build := func() adk.TypedAgent[M] { return agent(explored[M]{s.builder, faultyProbe[M]{}, new(made[M])}) }
	one := &soaking[M]{name: name, build: build, shared: build(), tally: &s.ends}
	one.want = undisturbedText(s.t, one.shared)
	s.kinds[name] = one.run
	if _, ordinary := any(*new(M)).(*schema.Message); ordinary {
		s.kinds[name+" in a TurnLoop"] = one.loop
	}
}

// undisturbedText is the last message of an undisturbed run.
func undisturbedText[M adk.MessageType](t *testing.T, agent adk.TypedAgent[M]) string {
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()})
	rnd := rand.New(rand.NewPCG(1, 1))
	end := read(rnd, runner.Query(t.Context(), "Do it.", adk.WithCheckPointID("soak")), readAll)
	for range 9 {
		if end.points == nil {
			break
		}
		events, err := runner.ResumeWithParams(t.Context(), "soak", &adk.ResumeParams{Targets: answersTo(end.points)})
		require.NoError(t, err)
		end = read(rnd, events, readAll)
	}
	require.NoError(t, end.err)
	require.Nil(t, end.points)
	return end.text
}

// interval has so many runs.
func (s *soak) interval(t *testing.T, count int) {
	s.builder = t
	began := time.Now()
	var next atomic.Int64
	next.Store(int64(s.done))
	last := int64(s.done + count)
	var group sync.WaitGroup
	for range soakWorkers {
		group.Go(func() {
			for number := next.Add(1); number <= last; number = next.Add(1) {
				if err := s.one(number); err != nil {
					t.Errorf("run %d of seed %d: %v", number, s.seed, err)
				}
			}
		})
	}
	group.Wait()
	s.done += count
	s.speed = float64(count) / time.Since(began).Seconds()
	s.builder = nil
}

// one is one run, of a kind at random. One that hangs says so.
func (s *soak) one(number int64) error {
	rnd := rand.New(rand.NewPCG(uint64(s.seed), uint64(number)))
	name := s.names[rnd.IntN(len(s.names))]
	hangs := time.AfterFunc(time.Minute, func() {
		panic(fmt.Sprintf("run %d of seed %d hangs: %s", number, s.seed, name))
	})
	defer hangs.Stop()
	return s.kinds[name](rnd)
}

// settle waits for the end of runs without a reader, and measures the heap.
func (s *soak) settle() {
	for range 1000 {
		if runtime.NumGoroutine() <= s.goroutines {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if left := runtime.NumGoroutine() - s.goroutines; left > 0 {
		stacks := make([]byte, 1<<16)
		s.t.Errorf("%d goroutines are left:\n%s", left, stacks[:runtime.Stack(stacks, true)])
	}
	for range 3 { // pools forget in two collections
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heap = int(m.HeapAlloc)
	s.t.Logf("%8d runs, %5.0f a second, heap %s, %d goroutines", s.done, s.speed, kib(s.heap), runtime.NumGoroutine())
}

func kib(bytes int) string { return fmt.Sprintf("%d KiB", bytes>>10) }
