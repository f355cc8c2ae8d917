package sqlite

import (
	"testing"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun/sqlruntest"
)

func BenchmarkStore(b *testing.B) {
	sqlruntest.Bench(b, func(b *testing.B) (*sqlrun.Store, sqlrun.Config) {
		s := newStore(b)
		return s.Store, sqlrun.Config{DB: s.writes, Reads: s.reads, Dialect: Dialect()}
	})
}
