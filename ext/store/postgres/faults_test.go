package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

// appendMany appends records to a run of its own until it is stopped, and returns how many the store has acknowledged.
func appendMany(t *testing.T, s *Store, id string, stop <-chan struct{}) (acknowledged int, err error) {
	l, err := s.Acquire(t.Context(), id, checkpoint.LeaseRequest{TTL: time.Hour, Create: &checkpoint.NewRun{}})
	if err != nil {
		return 0, err
	}
	for {
		select {
		case <-stop:
			return acknowledged, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Failed})
		default:
		}
		if err := l.AppendRecord(t.Context(), id, fmt.Append(nil, acknowledged)); err != nil {
			return acknowledged, err
		}
		acknowledged++
	}
}

// disturbed has eight runs append while something disturbs the store, and checks that each journal has every record
// once, in order.
func disturbed(t *testing.T, s *Store, disturb func()) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	var acknowledged [8]int
	var errs [8]error
	for i := range acknowledged {
		all.Go(func() { acknowledged[i], errs[i] = appendMany(t, s, fmt.Sprint("run ", i), stop) })
	}
	disturb()
	close(stop)
	all.Wait()
	total := 0
	for i, n := range acknowledged {
		require.NoError(t, errs[i])
		records, err := s.ReadRecords(t.Context(), fmt.Sprint("run ", i))
		require.NoError(t, err)
		require.Len(t, records, n)
		for k, r := range records {
			require.Equal(t, fmt.Sprint(k), string(r))
		}
		total += n
	}
	require.Positive(t, total)
	t.Logf("%d records", total)
}

// TestStore_LosesNothingWhenItsServerCrashes, and needs nobody to continue.
// Rule distributed/K10.
func TestStore_LosesNothingWhenItsServerCrashes(t *testing.T) {
	ofTest(t)
	own, err := startServer(true)
	require.NoError(t, err)
	defer os.RemoveAll(own.dir)
	defer func() { own.stop(syscall.SIGQUIT) }()
	s, err := Open(t.Context(), own.url("postgres"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	disturbed(t, s, func() {
		for range 3 {
			time.Sleep(500 * time.Millisecond)
			own.stop(syscall.SIGQUIT)
			require.NoError(t, own.start())
		}
		time.Sleep(300 * time.Millisecond)
	})
}

// proxy stands between a store and its server, and cuts connections: sometimes behind a request whose answer it then
// swallows, so that nobody knows whether it was committed.
type proxy struct {
	net.Listener
	server string

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	calm  bool
	// late is after how long the next commit reaches the server.
	late time.Duration
}

// lateWriter passes on what a client sends.
type lateWriter struct {
	net.Conn
	*proxy
}

func (w *lateWriter) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("commit")) {
		w.mu.Lock()
		late := w.late
		w.late = 0
		w.mu.Unlock()
		time.Sleep(late)
	}
	return w.Conn.Write(b)
}

func newProxy(t *testing.T, address string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l, server: address, conns: map[net.Conn]bool{}}
	var ends sync.WaitGroup
	ends.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ends.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		ends.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(&lateWriter{server, p}, client)
		server.Close()
	}()
	buf := make([]byte, 4096)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		switch p.mu.Lock(); {
		case p.calm:
		case rand.IntN(60) == 0: // the answer never comes
			p.mu.Unlock()
			return
		case rand.IntN(20) == 0:
			p.mu.Unlock()
			time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
			p.mu.Lock()
		}
		p.mu.Unlock()
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestStore_AppendsOnceOverANetworkThatLosesAnswers.
// Rules distributed/K11, distributed/J5.
func TestStore_AppendsOnceOverANetworkThatLosesAnswers(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	p := newProxy(t, "127.0.0.1:"+ofTest(t).port)
	_, port, err := net.SplitHostPort(p.Addr().String())
	require.NoError(t, err)
	s, err := New(t.Context(), Config{URL: strings.Replace(url, ofTest(t).port, port, 1), NoListen: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	disturbed(t, s, func() { time.Sleep(3 * time.Second) })
	for i := range 50 { // of an answer whose commit nobody knows, one is taken
		id := fmt.Sprint("asks ", i)
		l, err := s.Acquire(t.Context(), id, checkpoint.LeaseRequest{Create: &checkpoint.NewRun{}})
		require.NoError(t, err)
		require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting,
			Waiting: []checkpoint.WaitPoint{{ID: "q"}}}))
		require.NoError(t, s.Answer(t.Context(), id, checkpoint.Answer{Point: "q", Data: []byte("yes")}))
		_, err = s.Submit(t.Context(), fmt.Sprint("new ", i), checkpoint.NewRun{})
		require.NoError(t, err)
	}
	counts, err := s.Count(t.Context(), checkpoint.Query{})
	require.NoError(t, err)
	require.EqualValues(t, 100, counts[checkpoint.Ready])
	p.mu.Lock()
	p.calm = true
	p.mu.Unlock()
	for range 100 {
		_, err := s.AcquireDue(t.Context(), checkpoint.LeaseRequest{TTL: time.Hour}, checkpoint.Due{})
		require.NoError(t, err)
	}
	_, err = s.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
	require.True(t, errors.Is(err, checkpoint.ErrNothingDue))
}

// TestStore_ACommitThatArrivesLateIsItsOwn: the store gives an attempt up, and makes the call again while the commit of the
// first one is on its way.
// Rules distributed/K11, distributed/B5.
func TestStore_ACommitThatArrivesLateIsItsOwn(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	p := newProxy(t, "127.0.0.1:"+ofTest(t).port)
	p.calm = true
	_, port, err := net.SplitHostPort(p.Addr().String())
	require.NoError(t, err)
	s, err := New(t.Context(), Config{URL: strings.Replace(url, ofTest(t).port, port, 1), NoListen: true,
		AnswerIn: 250 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	late := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Zero(t, p.late, "no commit was late")
		p.late = 600 * time.Millisecond
	}

	late()
	l, err := s.Acquire(t.Context(), "run", checkpoint.LeaseRequest{Create: &checkpoint.NewRun{Records: [][]byte{[]byte("a")}}})
	require.NoError(t, err)
	require.Empty(t, l.Info().Status)
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("b")))
	late()
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting,
		Waiting:  []checkpoint.WaitPoint{{ID: "q"}, {ID: "r"}},
		Children: []checkpoint.ChildRun{{ID: "child"}}}))
	late()
	require.NoError(t, s.Answer(t.Context(), "run", checkpoint.Answer{Point: "q", Data: []byte("yes")}))
	late()
	require.NoError(t, s.Stop(t.Context(), "run", checkpoint.StopRequest{Reason: "lunch"}))
	late()
	require.NoError(t, s.Continue(t.Context(), "run"))
	late()
	_, err = s.Submit(t.Context(), "new", checkpoint.NewRun{})
	require.NoError(t, err)
	late()
	l, err = s.Acquire(t.Context(), "run", checkpoint.LeaseRequest{})
	require.NoError(t, err)
	answers, err := l.Answers(t.Context())
	require.NoError(t, err)
	require.Len(t, answers, 1)
	records, err := s.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("a"), []byte("b")}, records)
}
