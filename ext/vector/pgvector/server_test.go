package pgvector

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
)

// database is the server of all tests; the first that asks starts it.
var database = sync.OnceValues(startDatabase)

// A server is a PostgreSQL with pgvector. Without an address there is none on this machine.
type server struct {
	address string
	single  bool // it takes one connection at a time
	stop    func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := database(); err == nil && s.stop != nil {
		s.stop()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// startDatabase starts an installed PostgreSQL that has pgvector, or the one that testdata/pglite has after npm
// install.
func startDatabase() (server, error) {
	controls, _ := filepath.Glob("/usr/share/postgresql/*/extension/vector.control")
	if len(controls) > 0 {
		version := filepath.Base(filepath.Dir(filepath.Dir(controls[0])))
		return startPostgres(filepath.Join("/usr/lib/postgresql", version, "bin"))
	}
	node, err := exec.LookPath("node")
	if _, missing := os.Stat("testdata/pglite/node_modules"); err != nil || missing != nil {
		return server{}, nil
	}
	return startPGlite(node)
}

func startPGlite(node string) (server, error) {
	cmd := exec.Command(node, "server.mjs")
	cmd.Dir, cmd.Stderr = "testdata/pglite", os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return server{}, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return server{}, err
	}
	if err := cmd.Start(); err != nil {
		return server{}, err
	}
	stop := func() {
		stdin.Close()
		io.Copy(io.Discard, stdout)
		cmd.Wait()
	}
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return server{}, fmt.Errorf("pglite printed no port: %w", err)
	}
	address := "postgres://postgres@127.0.0.1:" + strings.TrimSpace(port) + "/postgres?sslmode=disable"
	return server{address: address, single: true, stop: stop}, nil
}

// startPostgres runs a server on a folder of its own, as the user postgres if the tests run as root, which PostgreSQL
// refuses.
func startPostgres(bin string) (server, error) {
	dir, err := os.MkdirTemp("", "pgvector")
	if err != nil {
		return server{}, err
	}
	var credential *syscall.SysProcAttr
	if os.Getuid() == 0 {
		uid, gid, err := idsOf("postgres")
		if err != nil {
			return server{}, err
		}
		if err := os.Chown(dir, uid, gid); err != nil {
			return server{}, err
		}
		credential = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, credential
		return cmd
	}
	data := filepath.Join(dir, "data")
	initdb := run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
	if out, err := initdb.CombinedOutput(); err != nil {
		return server{}, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return server{}, err
	}
	cmd := run("postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", dir, "-F")
	if err := cmd.Start(); err != nil {
		return server{}, err
	}
	stop := func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		os.RemoveAll(dir)
	}
	return server{address: "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable", stop: stop}, nil
}

func idsOf(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// newPool connects to the server, in a schema of its own that is removed after the test.
func newPool(t testing.TB) (pool *pgxpool.Pool, schema string) {
	t.Helper()
	s, err := database()
	if err != nil {
		t.Fatal(err)
	}
	if s.address == "" {
		t.Skip("there is neither PostgreSQL with pgvector nor testdata/pglite/node_modules: run npm install there")
	}
	config, err := pgxpool.ParseConfig(s.address)
	if err != nil {
		t.Fatal(err)
	}
	if s.single {
		config.MaxConns = 1
		// All connections have one session, in which a name can be given to one prepared statement only.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	awaitServer(t, pool)
	schema = fmt.Sprintf(`it's "%d"`, time.Now().UnixNano())
	quoted := pgx.Identifier{schema}.Sanitize()
	if _, err := pool.Exec(t.Context(), "CREATE SCHEMA "+quoted); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP SCHEMA "+quoted+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return pool, schema
}

// awaitServer tries until a server that has just been started answers.
func awaitServer(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := pool.Ping(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
