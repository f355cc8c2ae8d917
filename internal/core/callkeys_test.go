package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCallKeys_DistinguishesCallsByTheirPlaces(t *testing.T) {
	for _, c := range []struct{ ids, keys []string }{
		{nil, nil}, {[]string{""}, []string{""}}, {[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a", "b", "a", "a"}, []string{"a", "b", "a~2", "a~3"}}, {[]string{"", ""}, []string{"", "~2"}},
		{[]string{"a", "a~2", "a", "a"}, []string{"a", "a~2", "a~3", "a~4"}}, {[]string{"a~2", "a", "a"}, []string{"a~2", "a", "a~3"}},
	} {
		few, many := slices.Clone(c.ids), slices.Clone(c.ids)
		CallKeys(len(few), func(i int) *string { return &few[i] })
		require.Equal(t, c.keys, few)
		manyCallKeys(len(many), func(i int) *string { return &many[i] })
		require.Equal(t, c.keys, many)
	}
	many := make([]string, 10000)
	CallKeys(len(many), func(i int) *string { return &many[i] })
	slices.Sort(many)
	require.Len(t, slices.Compact(many), 10000)
}
