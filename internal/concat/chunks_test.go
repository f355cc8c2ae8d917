package concat

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type meta struct {
	ID   string
	Tags []string
}

func joinMeta(joined, c *meta) {
	Last(&joined.ID, c.ID)
	joined.Tags = append(joined.Tags, c.Tags...)
}

func TestChunks(t *testing.T) {
	_, err := Chunks([]*meta{nil}, "meta", joinMeta)
	require.EqualError(t, err, "no meta found")

	only := &meta{ID: "a"}
	joined, err := Chunks([]*meta{nil, only}, "meta", joinMeta)
	require.NoError(t, err)
	require.Same(t, only, joined)

	given := []*meta{{ID: "a", Tags: []string{"x"}}, nil, {ID: "b"}, {Tags: []string{"y"}}}
	joined, err = Chunks(given, "meta", joinMeta)
	require.NoError(t, err)
	require.Equal(t, &meta{ID: "b", Tags: []string{"x", "y"}}, joined)
	require.Nil(t, given[1], "the caller's slice is not changed")
	require.Equal(t, &meta{ID: "a", Tags: []string{"x"}}, given[0])
}
