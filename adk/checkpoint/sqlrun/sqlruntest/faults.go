package sqlruntest

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// errStatement is an error of a statement that no other attempt is made after.
var errStatement = errors.New("the statement is made to fail")

// Faults has every statement of the transactions of a store fail, before the database has executed it and after that: see
// [checkpointtest.EveryStep]. broken is the error of a connection that ends, which is then tried, too; nil for a database
// that is no server. open opens an empty one, with connections that disturb wraps.
func Faults(t *testing.T, broken error, open func(t *testing.T, disturb func(driver.Connector) *sql.DB) sqlrun.Config) {
	t.Helper()
	ways := []way{{name: "fails", err: errStatement}, {name: "fails afterwards", done: true, err: errStatement}}
	if broken != nil {
		ways = append(ways, way{name: "connection ends", breaks: true, err: broken},
			way{name: "connection ends afterwards", done: true, breaks: true, err: broken})
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			d := &disturbed{way: w}
			conf := open(t, d.open)
			conf.AutoMigrate, conf.Patience = true, 5*time.Second
			s, err := sqlrun.New(t.Context(), conf)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			checkpointtest.EveryStep(t, checkpointtest.Steps{Store: s, Fail: d.fail,
				Mend: func() (bool, runs.Store) { return d.mend(), nil }})
		})
	}
}
