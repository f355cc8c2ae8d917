package postgres

import (
	"database/sql"
	"database/sql/driver"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun/sqlruntest"
	"github.com/weftgo/weft/runs"
)

// TestStore_LosesNothingWhenItsServerCrashes, and continues by itself.
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
	checkpointtest.Disturbed(t, s, func() {
		for range 3 {
			time.Sleep(500 * time.Millisecond)
			own.stop(syscall.SIGQUIT)
			require.NoError(t, own.start())
		}
		time.Sleep(300 * time.Millisecond)
	})
}

// TestStore_AppendsOnceOverANetworkThatLosesAnswers.
// Rules distributed/K11, distributed/J5.
func TestStore_AppendsOnceOverANetworkThatLosesAnswers(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	p := checkpointtest.StartProxy(t, "tcp", "127.0.0.1:"+ofTest(t).port)
	p.Lose(true)
	_, port, err := net.SplitHostPort(p.Address())
	require.NoError(t, err)
	s, err := New(t.Context(), Config{URL: strings.Replace(url, ofTest(t).port, port, 1), NoListen: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	checkpointtest.Disturbed(t, s, func() { time.Sleep(3 * time.Second) })
	checkpointtest.LosesAnswers(t, s, s, func() { p.Lose(false) })
}

// TestStore_ACommitThatArrivesLateIsItsOwn: the store gives an attempt up, and makes the call again while the commit of the
// first one is on its way.
// Rules distributed/K11, distributed/B5.
func TestStore_ACommitThatArrivesLateIsItsOwn(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	p := checkpointtest.StartProxy(t, "tcp", "127.0.0.1:"+ofTest(t).port)
	_, port, err := net.SplitHostPort(p.Address())
	require.NoError(t, err)
	s, err := New(t.Context(), Config{URL: strings.Replace(url, ofTest(t).port, port, 1), NoListen: true,
		AnswerIn: 250 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var before <-chan struct{}
	late := func() {
		t.Helper()
		if before != nil {
			requireClosed(t, before)
		}
		before = p.Delay([]byte("commit"), 600*time.Millisecond)
	}

	late()
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Create: &runs.Spec{Records: [][]byte{[]byte("a")}}})
	require.NoError(t, err)
	require.Empty(t, l.Info().Status)
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("b")))
	late()
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting,
		Waiting:  []runs.Question{{ID: "q"}, {ID: "r"}},
		Children: []runs.Child{{ID: "child"}}}))
	late()
	require.NoError(t, s.Reply(t.Context(), "run", runs.Reply{To: "q", Data: []byte("yes")}))
	late()
	require.NoError(t, s.Stop(t.Context(), "run", runs.StopRequest{Reason: "lunch"}))
	late()
	require.NoError(t, s.Continue(t.Context(), "run"))
	late()
	_, err = s.Submit(t.Context(), "new", runs.Spec{})
	require.NoError(t, err)
	late()
	l, err = s.Acquire(t.Context(), "run", runs.LeaseRequest{})
	require.NoError(t, err)
	answers, err := l.Replies(t.Context())
	require.NoError(t, err)
	require.Len(t, answers, 1)
	records, err := s.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("a"), []byte("b")}, records)
	requireClosed(t, before)
}

// TestStore_IsWholeWhateverStatementFails, and whenever a connection ends.
// Rule distributed/K2.
func TestStore_IsWholeWhateverStatementFails(t *testing.T) {
	sqlruntest.Faults(t, io.ErrUnexpectedEOF, func(t *testing.T, disturb func(driver.Connector) *sql.DB) sqlrun.Config {
		conf, err := pgx.ParseConfig(newDatabase(t, ofTest(t)))
		require.NoError(t, err)
		db := disturb(stdlib.GetConnector(*conf))
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return sqlrun.Config{DB: db, Dialect: Dialect()}
	})
}

// requireClosed requires that what a channel stands for has happened.
func requireClosed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	default:
		t.Fatal("no request was disturbed")
	}
}
