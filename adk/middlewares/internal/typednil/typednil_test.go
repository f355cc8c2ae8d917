package typednil

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type byMap map[string]string

type byFunc func()

func TestIs(t *testing.T) {
	var reader *io.SectionReader
	for _, nothing := range []any{nil, reader, byMap(nil), byFunc(nil)} {
		require.True(t, Is(nothing), "%T", nothing)
	}
	for _, something := range []any{new(io.SectionReader), byMap{}, byFunc(func() {}), struct{}{}, 0, ""} {
		require.False(t, Is(something), "%T", something)
	}
}
