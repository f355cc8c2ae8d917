//go:build unix

package adktest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// The tests of several processes run this test binary again, with the directory and the boundary in its environment.
const (
	childDir       = "WEFT_EXPLORE_TEST_DIR"
	childBoundary  = "WEFT_EXPLORE_TEST_BOUNDARY"
	childStreaming = "WEFT_EXPLORE_TEST_STREAMING"
)

// lastingEffects records what tools have done outside of the process: a file with a line for each call.
type lastingEffects struct{ path string }

func (l lastingEffects) add(line string) error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

func (l lastingEffects) lines() []string {
	data, _ := os.ReadFile(l.path) // none yet
	return strings.Fields(string(data))
}

// processAgent works with a tool and an agent, one after the other and side by side.
func processAgent(t *testing.T, p *Probe[*schema.Message], effects lastingEffects) adk.Agent {
	work := func() tool.BaseTool {
		return p.Tool(NewTool("work", Does(func(ctx context.Context, arguments string) (string, error) {
			return "did " + arguments, effects.add(arguments + "=" + adk.GetIdempotencyKey(ctx))
		})))
	}
	agent := func(name string, tools []tool.BaseTool, script ...Answer) *adk.ChatModelAgent {
		a, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
			Name: name, Description: "an agent of a test", ToolsConfig: Tools(append(tools, work())...),
			Model: p.Model(NewRecallingModel[*schema.Message](t, script...)),
		})
		require.NoError(t, err)
		return a
	}
	inner := adk.NewAgentTool(t.Context(), agent("inner", nil, Calls(Call("work", "1")), Says("inner done")))
	first := agent("first", []tool.BaseTool{inner},
		Calls(Call("work", "2"), Call("work", "3")), Calls(Call("inner", `{"request":"do it"}`)), Says("first done"))
	a, err := adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "both", SubAgents: []adk.Agent{
		first, agent("last", nil, Calls(Call("work", "4")), Streams("all ", "done"))}})
	require.NoError(t, err)
	return a
}

// TestExploreProcess_Child runs in the other processes: they begin or continue the run, and kill themselves at a
// boundary.
func TestExploreProcess_Child(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	effects := lastingEffects{filepath.Join(dir, "effects")}
	files, err := checkpoint.NewFileStore(filepath.Join(dir, "store"))
	require.NoError(t, err)
	p := newProbe[*schema.Message]()
	boundary, err := strconv.Atoi(os.Getenv(childBoundary))
	require.NoError(t, err)
	if boundary > 0 {
		p.live(&stopper{at: boundary, usable: func(boundaryKind) bool { return true }, stop: func(context.Context) error {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing that comes after it
		}})
	}
	for _, line := range effects.lines() {
		arguments, key, _ := strings.Cut(line, "=")
		p.results[key] = "did " + arguments
	}
	x := &explorer[*schema.Message]{Exploration: Exploration[*schema.Message]{
		Agent: func(p *Probe[*schema.Message]) adk.TypedAgent[*schema.Message] { return processAgent(t, p, effects) },
		Query: "Do it.", Streaming: os.Getenv(childStreaming) == "true", Durability: adk.EveryStep,
	}}
	c := career[*schema.Message]{explorer: x, probe: p, store: files}
	l := c.newLife()
	targets := map[string]any(nil)
	for {
		end, err := l.ask(t.Context(), isSaved(t.Context(), files), targets)
		require.NoError(t, err)
		require.NoError(t, end.err)
		if end.over() {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "answer"), []byte(end.text), 0o600))
			return
		}
		targets = x.answers(end.points, p)
	}
}

// child runs the agent in a process, and reports whether that was killed.
func child(t *testing.T, dir string, boundary int, streaming bool) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestExploreProcess_Child$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childBoundary+"="+strconv.Itoa(boundary),
		childStreaming+"="+strconv.FormatBool(streaming))
	out, err := cmd.CombinedOutput()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() && status.Signal() == syscall.SIGKILL {
		return true
	}
	require.NoError(t, err, "%s", out)
	return false
}

// TestExploreProcess_Killed: a process that is killed at any boundary leaves a run that another process can continue.
// No call of a tool is made twice.
func TestExploreProcess_Killed(t *testing.T) {
	next := 2
	if !testsize.Full() {
		next = 7
	}
	for first, streaming := range []bool{false, true} { // the odd boundaries of the one, the even ones of the other
		boundary := 1 + first
		for killedAt(t, boundary, streaming) {
			boundary += next
		}
		require.Greater(t, boundary, 30)
	}
}

// killedAt kills a process at a boundary and has another one continue the run. It reports false if the run ended
// before.
func killedAt(t *testing.T, boundary int, streaming bool) bool {
	t.Helper()
	dir := t.TempDir()
	killed := child(t, dir, boundary, streaming)
	effects := lastingEffects{filepath.Join(dir, "effects")}
	files, err := checkpoint.NewFileStore(filepath.Join(dir, "store"))
	require.NoError(t, err)
	// What was saved is gone when the run has succeeded: the process was killed when it only had to tell.
	if succeeded := len(effects.lines()) == 4 && !isSaved(t.Context(), files); killed && !succeeded {
		require.False(t, child(t, dir, 0, streaming), "boundary %d", boundary)
		text, err := os.ReadFile(filepath.Join(dir, "answer"))
		require.NoError(t, err, "boundary %d", boundary)
		require.Equal(t, "all done", string(text), "boundary %d", boundary)
	}
	var done []string
	for _, line := range effects.lines() {
		arguments, _, _ := strings.Cut(line, "=")
		done = append(done, arguments)
	}
	slices.Sort(done)
	require.Equal(t, []string{"1", "2", "3", "4"}, done, "boundary %d, streaming=%v", boundary, streaming)
	return killed
}
