//go:build unix

package adktest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// killsDir has the directory of the runs, in the environment of the processes that are killed.
const killsDir = "WEFT_KILLS_TEST_DIR"

// killedID is the checkpoint ID of the run of a tree.
func killedID(seed uint64) string { return fmt.Sprintf("tree %d", seed) }

// wideTree is the tree of a seed, with what only wide trees have.
func wideTree(t *testing.T, l *ledger, seed uint64) (adk.Agent, *tree) {
	g := newTree(t, &ledgerProbe{t: t, ledger: l}, new(made[*schema.Message]), seed)
	g.wide = rand.New(rand.NewPCG(seed, 2))
	return g.agentAt(randomDepth, once), g
}

// killedRun is the run of a tree in one process.
type killedRun struct {
	t      *testing.T
	seed   uint64
	ledger *ledger
	store  adk.CheckPointStore
	// cancels, if not nil, decides when the run is cancelled: at a safe point, where nothing is lost.
	cancels *rand.Rand
}

// live begins the run, or resumes it, and answers its questions until it has ended.
func (r *killedRun) live(ctx context.Context) (entry, error) {
	begun := r.saved(ctx)
	if !begun && r.ledger.last(modelAsked) != nil {
		return entry{Kind: runEnds, Died: true}, nil // it had succeeded: that is for the oracle to judge
	}
	started := time.Now()
	if err := r.ledger.add(entry{Kind: lifeBegins, Resumed: begun}); err != nil {
		return entry{}, err
	}
	end := entry{Kind: runEnds}
	for targets := map[string]any(nil); ; begun = true {
		points, err := r.ask(ctx, begun, targets, &end)
		var cancelled *adk.CancelError
		switch {
		case errors.As(err, &cancelled):
		case err != nil:
			return entry{}, err
		case points == nil:
			end.Took = time.Since(started)
			return end, nil
		}
		pause := entry{Kind: runPaused, Text: fmt.Sprintf("%d questions", len(points))}
		if cancelled != nil {
			pause.Text = "cancelled"
		}
		if err := r.ledger.add(pause); err != nil {
			return entry{}, err
		}
		targets = r.answers(points)
	}
}

// ask begins the run or resumes it, and reads its events. It returns the points of its interrupt, nil if it has ended.
func (r *killedRun) ask(
	ctx context.Context, begun bool, targets map[string]any, end *entry,
) (points []*adk.InterruptCtx, err error) {
	agent, _ := wideTree(r.t, r.ledger, r.seed)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{
		Agent: agent, EnableStreaming: r.seed&1 == 1, CheckPointStore: r.store, Durability: adk.EveryStep})
	opts, cleanup := r.cancelSometime()
	defer cleanup()
	var events *adk.AsyncIterator[*adk.AgentEvent]
	if begun {
		events, err = runner.ResumeWithParams(ctx, killedID(r.seed), &adk.ResumeParams{Targets: targets}, opts...)
		if err != nil {
			return nil, fmt.Errorf("the run cannot be resumed: %w", err)
		}
	} else {
		events = runner.Query(ctx, "Do it.", append(opts, adk.WithCheckPointID(killedID(r.seed)))...)
	}
	for e := range events.All() {
		if e.Action != nil && e.Action.Interrupted != nil {
			points = e.Action.Interrupted.InterruptContexts
		}
		err = errors.Join(err, e.Err, r.note(e, end))
	}
	return points, err
}

// cancelSometime has every fourth run cancelled.
func (r *killedRun) cancelSometime() (opts []adk.AgentRunOption, cleanup func()) {
	if r.cancels == nil || r.cancels.IntN(4) > 0 {
		return nil, func() {}
	}
	mode := cancelModes[r.cancels.IntN(len(cancelModes))]
	how := []adk.AgentCancelOption{adk.WithAgentCancelMode(mode)}
	if mode == adk.CancelImmediate || r.cancels.IntN(2) == 0 { // or an agent tool is given up with all that it has done
		how = append(how, adk.WithRecursive())
	}
	option, cancel := adk.WithCancel()
	asked := make(chan struct{})
	timer := time.AfterFunc(time.Duration(r.cancels.IntN(10_000))*time.Microsecond, func() {
		defer close(asked)
		_ = r.ledger.add(entry{Kind: cancelAsked, GivesUp: mode == adk.CancelImmediate, Text: mode.String()})
		cancel(how...)
	})
	return []adk.AgentRunOption{option}, func() {
		if !timer.Stop() {
			<-asked // so that nothing is written behind the end
		}
	}
}

// note notes the message of an event, if it has a whole one: an attempt of the model may have broken off.
func (r *killedRun) note(e *adk.AgentEvent, end *entry) error {
	if e.Output == nil || e.Output.MessageOutput == nil {
		return nil
	}
	m, err := e.Output.MessageOutput.GetMessage()
	if err != nil {
		return nil
	}
	end.Text = adktest.Line(m)
	return r.ledger.add(entry{Kind: eventRead, Text: end.Text})
}

func (r *killedRun) answers(points []*adk.InterruptCtx) map[string]any {
	targets := map[string]any{}
	for _, point := range points {
		switch info := point.Info.(type) {
		case *adk.OutcomeUnknown:
			targets[point.ID] = r.ledger.outcomeOf(info.IdempotencyKey)
		case string:
			targets[point.ID] = "yes"
		default:
			targets[point.ID] = approve(point)
		}
	}
	return targets
}

// saved reports whether there is something to go on with.
func (r *killedRun) saved(ctx context.Context) bool {
	if _, ok, err := r.store.Get(ctx, killedID(r.seed)); ok && err == nil {
		return true
	}
	journal, ok := r.store.(runs.Journal)
	if !ok {
		return false
	}
	records, err := journal.ReadRecords(ctx, killedID(r.seed))
	return err == nil && len(records) > 0
}

// plainStore is a store that cannot append: each step is saved with all before it.
type plainStore struct {
	checkpoint.Store
	checkpoint.Deleter
}

// TestKills_Child runs in the processes that are killed: they run one tree after the other, beginning with the one whose
// process was killed before. They wait for the order to begin, so that starting a process takes no time.
func TestKills_Child(t *testing.T) {
	dir := os.Getenv(killsDir)
	if dir == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	warmUp(t)
	fmt.Println("ready")
	var first, last uint64
	order, err := bufio.NewReader(os.Stdin).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(order, &first, &last)
	require.NoError(t, err)
	for seed := first; seed <= last; seed++ {
		runKilled(t, filepath.Join(dir, fmt.Sprint(seed)), seed)
	}
}

// runKilled runs the tree of a seed in a directory, unless that was done.
func runKilled(t *testing.T, dir string, seed uint64) {
	require.NoError(t, os.MkdirAll(dir, 0o700))
	l, err := openLedger(filepath.Join(dir, ledgerFile))
	require.NoError(t, err)
	defer l.file.Close()
	if l.last(runEnds) != nil || l.last(runFails) != nil {
		return
	}
	files, err := checkpoint.NewFileStore(filepath.Join(dir, storeDir))
	require.NoError(t, err)
	store := adk.CheckPointStore(files)
	if seed/2%4 == 3 {
		store = plainStore{files, files}
	}
	cancels := rand.New(rand.NewPCG(seed, uint64(len(l.entries))))
	end, err := (&killedRun{t: t, seed: seed, ledger: l, store: store, cancels: cancels}).live(t.Context())
	if err != nil {
		end = entry{Kind: runFails, Text: err.Error()}
	}
	require.NoError(t, l.add(end))
}

// The files in the directory of a run.
const (
	ledgerFile = "ledger"
	storeDir   = "store"
)

// warmUp has everything initialised that is so with the first run of a process.
func warmUp(t *testing.T) {
	r := &killedRun{t: t, seed: 1, ledger: new(ledger), store: checkpoint.NewMemoryStore()}
	_, err := r.live(t.Context())
	require.NoError(t, err)
}
