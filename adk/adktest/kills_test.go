//go:build unix

package adktest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/internal/testsize"
)

// The environment can set how many processes are killed, and which trees they run.
const (
	killsWanted = "WEFT_KILLS"
	killsSeed   = "WEFT_KILLS_SEED"
)

// fromEnvironment returns a number, or another one if there is none.
func fromEnvironment(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// TestKills_AtAnyMoment: processes that run random trees of agents are killed at random moments, and others continue the
// runs. Each run ends as if it had not been disturbed: with the same answer, the same conversations, each call done once
// with its key, and nothing left in the store.
//
// Processes cannot be killed at the same moment twice: when a run fails, its ledger shows where it was.
func TestKills_AtAnyMoment(t *testing.T) {
	kills := 2000
	if !testsize.Full() {
		kills = 150
	}
	kills = fromEnvironment(t, killsWanted, kills)
	seed := fromEnvironment(t, killsSeed, 1)
	workers := 2 * runtime.GOMAXPROCS(0) // they sleep half of the time
	var group sync.WaitGroup
	defer group.Wait()
	for w := range workers {
		group.Go(func() {
			t.Run(fmt.Sprintf("seed=%d,worker=%d", seed, w), func(t *testing.T) {
				first := uint64(seed)*1_000_000_000 + uint64(w)*1_000_000
				k := &killer{t: t, dir: inMemory(t), tree: first, rnd: rand.New(rand.NewPCG(first, 3)), usual: 20 * shortest}
				k.work((kills + w) / workers)
			})
		})
	}
}

// inMemory makes a directory: in memory, if there is such a file system. The death of a process loses nothing that it
// has written.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "weft-kills-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A process lives that long at most, mostly.
const (
	shortest = time.Millisecond
	longest  = 200 * time.Millisecond
)

// killer kills processes that run trees.
type killer struct {
	t   *testing.T
	dir string
	// tree is the first tree that has not ended. moments are when the processes that ran it were killed.
	tree    uint64
	moments []time.Duration
	rnd     *rand.Rand
	// usual is the time for which a process lives, mostly at most. It is such that two die in a run on average.
	usual time.Duration
	// ended and deaths count the trees that have ended and the kills in the middle of a run.
	ended, deaths, most int
}

// work kills as many processes, and has a last one come to the end of its tree.
func (k *killer) work(kills int) {
	next := k.start()
	for range kills {
		victim := next
		next = k.start()
		k.kill(victim)
		k.check()
	}
	next.begin(k.tree, k.tree)
	next.requireEnd(k.t)
	k.check()
	k.t.Logf("%d kills, %d of them in the middle of a run, up to %d in one; %d runs; a process lives up to %v",
		kills, k.deaths, k.most, k.ended, k.usual)
}

// process is one that runs trees.
type process struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	output *bufio.Reader
	errors *bytes.Buffer
}

func (k *killer) start() *process {
	cmd := exec.CommandContext(k.t.Context(), os.Args[0], "-test.run=^TestKills_Child$", "-test.timeout=60s")
	p := &process{cmd: cmd, errors: new(bytes.Buffer)}
	p.cmd.Env = append(os.Environ(), killsDir+"="+k.dir)
	p.cmd.Stderr = p.errors
	var err error
	p.orders, err = p.cmd.StdinPipe()
	require.NoError(k.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(k.t, err)
	p.output = bufio.NewReader(out)
	require.NoError(k.t, p.cmd.Start())
	return p
}

// begin waits until the process is ready, and has it run trees.
func (p *process) begin(first, last uint64) bool {
	for {
		line, err := p.output.ReadString('\n')
		if err != nil {
			return false
		}
		if line == "ready\n" {
			_, err := fmt.Fprintln(p.orders, first, last)
			return err == nil
		}
	}
}

// end waits for the end of the process, and reports whether it was killed.
func (p *process) end() (killed bool, said string) {
	out, _ := io.ReadAll(p.output)
	_ = p.cmd.Wait()
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == syscall.SIGKILL, string(out) + p.errors.String()
}

func (p *process) requireEnd(t *testing.T) {
	killed, said := p.end()
	require.False(t, killed)
	require.True(t, p.cmd.ProcessState.Success(), said)
}

// kill has a process run trees, and kills it.
func (k *killer) kill(p *process) {
	begun := p.begin(k.tree, math.MaxUint64)
	moment := k.moment()
	k.moments = append(k.moments, moment)
	time.Sleep(moment)
	_ = p.cmd.Process.Kill()
	killed, said := p.end()
	require.True(k.t, begun && killed, "a process ended by itself while it ran tree %d: %s", k.tree, said)
}

// moment is the time at which to kill a process: mostly in its first run, sometimes as it begins, and sometimes much later,
// so that also a run that takes long comes to its end.
func (k *killer) moment() time.Duration {
	within := k.usual
	switch k.rnd.IntN(8) {
	case 0:
		within /= 20
	case 1:
		within *= 4
	}
	return time.Duration(k.rnd.Int64N(int64(within)) + 1)
}

// check judges the trees that have ended.
func (k *killer) check() {
	for {
		dir := filepath.Join(k.dir, fmt.Sprint(k.tree))
		data, err := os.ReadFile(filepath.Join(dir, ledgerFile))
		if err != nil {
			return // it has not begun
		}
		entries, err := decodeEntries(data[:bytes.LastIndexByte(data, '\n')+1])
		require.NoError(k.t, err)
		if len(entries) == 0 {
			return
		}
		last := entries[len(entries)-1]
		if last.Kind != runEnds && last.Kind != runFails {
			k.requireProgress(entries)
			k.usual = min(k.usual*21/20, longest)
			return
		}
		k.judge(dir, entries)
		k.usual = max(k.usual*9/10, shortest)
		require.NoError(k.t, os.RemoveAll(dir))
		k.ended++
		k.tree++
		k.moments = nil
	}
}

// requireProgress fails if a run does not come to its end, however often it is resumed.
func (k *killer) requireProgress(entries []entry) {
	if len(k.moments) > 300 {
		require.Fail(k.t, "a run does not come to its end", "tree %d\n%s", k.tree, shown(entries))
	}
}

// judge compares a run with the undisturbed one.
func (k *killer) judge(dir string, entries []entry) {
	want, shape := undisturbed(k.t, k.tree)
	a := accountOf(entries)
	k.deaths += a.lives - 1
	k.most = max(k.most, a.lives-1)
	err := a.compare(want, shape.unordered)
	require.NoError(k.t, err, "tree %d:%s\nkilled after %v\n%s", k.tree, shape.shape, k.moments, shown(entries))
	left := filesLeft(k.t, filepath.Join(dir, storeDir))
	require.Empty(k.t, left, "tree %d:%s\nkilled after %v\n%s", k.tree, shape.shape, k.moments, shown(entries))
}

// filesLeft returns what is left in the directory of a store, after it has swept up what crashes leave, without what it
// keeps: the end of the run, with the file of its last lease, and the files of locks and tokens.
func filesLeft(t *testing.T, dir string) (left []string) {
	age(t, dir)
	_, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	kept := func(name string) bool {
		ending := filepath.Ext(name)
		return ending == ".run" || ending == ".lease" || name == "tokens" || strings.HasPrefix(name, "lock-")
	}
	for _, f := range files {
		if !kept(f.Name()) {
			left = append(left, f.Name())
		}
	}
	return left
}

// age makes all files in a directory a day old.
func age(t *testing.T, dir string) {
	yesterday := time.Now().Add(-24 * time.Hour)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, f := range files {
		require.NoError(t, os.Chtimes(f, yesterday, yesterday))
	}
}

// shown is a ledger to read.
func shown(entries []entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "  %-7s", e.Kind)
		switch e.Kind {
		case lifeBegins:
			fmt.Fprintf(&b, "---- resumed=%v", e.Resumed)
		case modelAsked:
			fmt.Fprintf(&b, "model %d: %q", e.Model, e.Lines)
		case toolBegins, toolDid:
			fmt.Fprintf(&b, "%s key %.8s", e.Call, e.Key)
		default:
			fmt.Fprintf(&b, "%s", e.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}
