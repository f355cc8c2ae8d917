package kit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimits_ListsInListsCountWithThoseAround(t *testing.T) {
	limits := Limits{{Name: "rows", Max: 60_000}, {Name: "few", Max: 10}}
	row := "[0" + strings.Repeat(",1", 9_999) + "]"
	rows := func(name string, n int) []byte {
		return []byte(`{"` + name + `":[` + row + strings.Repeat(","+row, n-1) + `],"few":["a",{"rest":[[1,2],[3]]}]}`)
	}
	require.NoError(t, limits.check(rows("rows", 5)))
	require.ErrorContains(t, limits.check(rows("rows", 6)), "more than 60000 entries in rows")
	require.NoError(t, limits.check(rows("others", 99)))
	require.ErrorContains(t, limits.check(rows("others", 101)), "more than 1000000 entries in lists")
	require.ErrorContains(t, limits.check(rows("few", 4)), "more than 10 entries in few")
}
