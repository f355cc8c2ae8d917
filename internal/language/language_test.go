package language

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Rule agent/LG-1.
func TestSelect_FollowsTheLanguageThatIsSet(t *testing.T) {
	require.Equal(t, "en", Select("en", "zh"))
	require.NoError(t, Set(Chinese))
	t.Cleanup(func() { require.NoError(t, Set(English)) })
	require.Equal(t, "zh", Select("en", "zh"))
	require.EqualError(t, Set(7), "invalid language: 7")
	require.Equal(t, "zh", Select("en", "zh"), "an invalid language changes nothing")
}
