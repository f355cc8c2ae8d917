package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// server is a PostgreSQL on a folder and a port of its own, which the test binary has started.
type server struct {
	bin, dir, port string
	as             *syscall.SysProcAttr
	process        *exec.Cmd
	// durable servers wait for the disk.
	durable bool
}

// shared is the server of the tests that do not disturb theirs; the first that asks starts it.
var shared = sync.OnceValues(func() (*server, error) { return startServer(false) })

func TestMain(m *testing.M) {
	code := m.Run()
	if started() {
		if s, err := shared(); err == nil {
			s.stop(syscall.SIGQUIT)
			os.RemoveAll(s.dir)
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var asked sync.Once

// started reports whether a test has asked for the shared server.
func started() (yes bool) {
	yes = true
	asked.Do(func() { yes = false })
	return yes
}

var errNoServer = errors.New("PostgreSQL is not installed: install the package postgresql")

// binaries is the place where the server's programs are: Debian keeps them in a folder of their own, which is not in the PATH.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNoServer
	}
	return filepath.Dir(initdb), nil
}

// startServer makes a database, as the user postgres if the tests run as root, which PostgreSQL refuses.
func startServer(durable bool) (s *server, err error) {
	s = &server{durable: durable}
	if s.bin, err = binaries(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "weft-postgres"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if err := s.becomeUser(); err != nil {
			return nil, err
		}
	}
	initdb := s.command("initdb", "-D", s.data(), "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, s.port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	return s, s.start()
}

// becomeUser has the server's programs run as postgres, or as nobody where there is no such user.
func (s *server) becomeUser() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(s.dir, uid, gid)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.as
	return cmd
}

func (s *server) start() error {
	s.process = s.command("postgres", "-D", s.data(), "-h", "127.0.0.1", "-p", s.port, "-k", s.dir, "-c", "max_connections=200",
		"-c", "log_min_messages=fatal", "-c", fmt.Sprint("fsync=", s.durable))
	if err := s.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			err = conn.Close(ctx)
		}
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// stop stops the server: by SIGQUIT at once, without a checkpoint, as a crash would.
func (s *server) stop(how syscall.Signal) {
	_ = s.process.Process.Signal(how)
	_ = s.process.Wait()
}

func (s *server) url(database string) string {
	return "postgres://postgres@127.0.0.1:" + s.port + "/" + database + "?sslmode=disable"
}

// ofTest is the shared server, or the reason why the test is skipped.
func ofTest(t testing.TB) *server {
	t.Helper()
	asked.Do(func() {})
	s, err := shared()
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return s
}

var (
	namesMu sync.Mutex // guards names
	names   int
)

// newDatabase makes a database on a server, which is dropped after the test.
func newDatabase(t testing.TB, s *server) (url string) {
	t.Helper()
	namesMu.Lock()
	names++
	name := fmt.Sprint("test", names)
	namesMu.Unlock()
	conn, err := pgx.Connect(t.Context(), s.url("postgres"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0")
	require.NoError(t, err)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), s.url("postgres"))
		if err != nil {
			return
		}
		defer conn.Close(context.Background())
		_, _ = conn.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
	})
	return s.url(name)
}
