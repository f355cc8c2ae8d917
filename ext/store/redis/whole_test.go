package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// disturbed is a hook of a client: one command or pipeline goes wrong, as the test says.
type disturbed struct {
	// isDone: the server does what it is asked for before that.
	isDone bool
	err    error

	mu sync.Mutex // guards the fields below
	// at is the command that goes wrong, 0 for none, and commands how many there were since that was set.
	at, commands int
}

func (d *disturbed) fail(step int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.commands = step, 0
}

func (d *disturbed) mend() (bool, runs.Store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reached := d.at > 0 && d.commands >= d.at
	d.at = 0
	return reached, nil
}

func (d *disturbed) do(do func() error, all ...redis.Cmder) error {
	d.mu.Lock()
	d.commands++
	isDue := d.commands == d.at
	d.mu.Unlock()
	if !isDue {
		return do()
	}
	if d.isDone {
		if err := do(); err != nil {
			return err
		}
	}
	for _, c := range all {
		c.SetErr(d.err)
	}
	return d.err
}

func (d *disturbed) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (d *disturbed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		return d.do(func() error { return next(ctx, c) }, c)
	}
}

func (d *disturbed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		return d.do(func() error { return next(ctx, all) }, all...)
	}
}

// TestStore_IsWholeWhateverCommandFails, and whatever answer is lost.
// Rule distributed/K2.
func TestStore_IsWholeWhateverCommandFails(t *testing.T) {
	errServer := errors.New("ERR the server is made to fail")
	for name, d := range map[string]*disturbed{
		"fails":            {err: errServer},
		"fails afterwards": {err: errServer, isDone: true},
		"is not asked":     {err: io.EOF},
		"answer is lost":   {err: io.EOF, isDone: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, nil)
			s.client.AddHook(d)
			checkpointtest.EveryStep(t, checkpointtest.Steps{Store: s, Fail: d.fail, Mend: d.mend})
		})
	}
}

// TestStore_RunsContinueWhenThereIsRoom: the server has as much in memory as it may.
// Rule distributed/K2.
func TestStore_RunsContinueWhenThereIsRoom(t *testing.T) {
	own, err := startServer("--appendonly", "no")
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer os.RemoveAll(own.dir)
	defer own.kill()
	s := newStore(t, own)
	adktest.OutOfRoom(t, s, func(full bool) {
		most := map[bool]string{true: "1", false: "0"}[full]
		require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", most).Err())
	})
}
