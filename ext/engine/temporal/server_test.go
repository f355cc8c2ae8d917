package temporalengine_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk/dispatch"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		stopServer()
		os.Exit(code)
	}))
}

// serverProgram is $WEFT_TEMPORAL_SERVER, or what make temporal-server builds. Who names one wants no test to skip.
func serverProgram() string {
	if program := os.Getenv("WEFT_TEMPORAL_SERVER"); program != "" {
		return program
	}
	return filepath.Join("..", "..", "..", "bin", "temporal-devserver")
}

// serverProcess is a Temporal server.
type serverProcess struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address string
}

var errNoServer = errors.New("there is no Temporal server: make temporal-server builds one")

// startServer starts a server that ends with this process at the latest.
func startServer(args ...string) (*serverProcess, error) {
	program, err := exec.LookPath(serverProgram())
	switch {
	case err != nil && os.Getenv("WEFT_TEMPORAL_SERVER") != "":
		return nil, fmt.Errorf("WEFT_TEMPORAL_SERVER: %w", err)
	case err != nil:
		return nil, errNoServer
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the server has no address: %w", errors.Join(err, cmd.Wait()))
	}
	return &serverProcess{cmd, stdin, strings.TrimSpace(line)}, nil
}

func (s *serverProcess) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// shared is the server of the tests that need one and leave it as it is.
var shared struct {
	once   sync.Once
	server *serverProcess
	err    error
}

func stopServer() {
	if shared.server != nil {
		shared.server.kill()
	}
}

// serverAddress returns the address of the shared server.
func serverAddress(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a Temporal server takes a while to start")
	}
	shared.once.Do(func() { shared.server, shared.err = startServer() })
	if errors.Is(shared.err, errNoServer) {
		t.Skip(shared.err)
	}
	require.NoError(t, shared.err)
	return shared.server.address
}

// silent is a logger for what tests cause on purpose.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var _ log.Logger = silent{}

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Logger: silent{}, Identity: "test"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// confs counts the configurations, so that a test can be run again.
var confs atomic.Int32

// confOf is a configuration of a test: with its own workflows and workers.
func confOf(t *testing.T) temporalengine.Config {
	name := fmt.Sprint(t.Name(), confs.Add(1))
	return temporalengine.Config{TaskQueue: name, IDPrefix: name + "/", Heartbeat: 2 * time.Second,
		StopGrace: 5 * time.Second}
}

// working is an engine with a worker.
func working(t *testing.T, c client.Client, d *dispatch.Dispatcher, conf temporalengine.Config) *temporalengine.Engine {
	t.Helper()
	e, err := temporalengine.New(c, d, conf)
	require.NoError(t, err)
	startWorker(t, c, e)
	return e
}

// startWorker starts a worker that ends with the test, or when it is stopped.
func startWorker(t *testing.T, c client.Client, e *temporalengine.Engine) (stop func()) {
	t.Helper()
	return startWorkerOf(t, c, e, "")
}

func startWorkerOf(t *testing.T, c client.Client, e *temporalengine.Engine, queue string) (stop func()) {
	t.Helper()
	w := worker.New(c, e.TaskQueue(queue), worker.Options{WorkerStopTimeout: 10 * time.Second})
	e.Register(w)
	require.NoError(t, w.Start())
	stop = sync.OnceFunc(w.Stop)
	t.Cleanup(stop)
	return stop
}

// countOf asks how many workflows match a query.
func countOf(query string) *workflowservice.CountWorkflowExecutionsRequest {
	return &workflowservice.CountWorkflowExecutionsRequest{Query: query}
}

// lazyClient is a client that has no server.
func lazyClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{Logger: silent{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}
