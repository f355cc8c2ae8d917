package sqlruntest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

var schemaRules = map[string]func(*testing.T, *fixture){
	"many migrate at once": manyMigrate,
	"missing":              schemaMissing,
	"newer":                schemaNewer,
	"prefix":               schemaPrefix,
}

func manyMigrate(t *testing.T, f *fixture) {
	conf := f.conf
	conf.Prefix = "cold_"
	together(20, func(i int) {
		s, err := sqlrun.New(t.Context(), conf)
		if !assert.NoError(t, err) {
			return
		}
		defer s.Close()
		_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
		assert.ErrorIs(t, err, runs.ErrNothingDue)
	})
	var rows int
	require.NoError(t, conf.DB.QueryRow("SELECT COUNT(*) FROM cold_schema").Scan(&rows))
	require.Equal(t, 1, rows)
}

func schemaMissing(t *testing.T, f *fixture) {
	conf := f.conf
	conf.Prefix, conf.AutoMigrate = "none_", false
	_, err := sqlrun.New(t.Context(), conf)
	require.ErrorContains(t, err, "call Migrate")
}

func schemaNewer(t *testing.T, f *fixture) {
	_, err := f.conf.DB.Exec("UPDATE weft_schema SET version = 1000")
	require.NoError(t, err)
	for _, auto := range []bool{false, true} {
		conf := f.conf
		conf.AutoMigrate = auto
		_, err = sqlrun.New(t.Context(), conf)
		require.ErrorContains(t, err, "use a newer release")
		require.NotContains(t, err.Error(), "\n")
	}
}

func schemaPrefix(t *testing.T, f *fixture) {
	conf := f.conf
	conf.Prefix = "other_"
	s, err := sqlrun.New(t.Context(), conf)
	require.NoError(t, err)
	defer s.Close()
	f.submit(t, "id", runs.Spec{})
	require.Empty(t, listed(t, s, runs.Query{}))
	conf.Prefix = "x; DROP TABLE"
	_, err = sqlrun.New(t.Context(), conf)
	require.ErrorContains(t, err, "prefix")
}
