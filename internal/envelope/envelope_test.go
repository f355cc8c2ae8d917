package envelope

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var kind = Kind{Magic: [8]byte{'t', 'e', 's', 't', 'k', 'i', 'n', 'd'}, Version: 3}

func TestRoundTrip(t *testing.T) {
	for _, payload := range []string{"", "x", "some bytes"} {
		version, codec, got, err := kind.Open(kind.Seal("gob", []byte(payload)))
		require.NoError(t, err)
		require.Equal(t, uint16(3), version)
		require.Equal(t, "gob", codec)
		require.Equal(t, payload, string(got))
	}
}

func TestEveryCutIsDetected(t *testing.T) {
	data := kind.Seal("gob", []byte("payload"))
	for n := 1; n < len(data); n++ {
		_, _, _, err := kind.Open(data[:n])
		require.ErrorIs(t, err, ErrTruncated, "%d bytes", n)
	}
	_, _, _, err := kind.Open(nil)
	require.ErrorIs(t, err, ErrForeign)
	_, _, _, err = kind.Open(append(data, 0))
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestEveryFlippedBitIsDetected(t *testing.T) {
	data := kind.Seal("gob", []byte("payload"))
	for i := range data {
		for bit := range 8 {
			damaged := append([]byte(nil), data...)
			damaged[i] ^= 1 << bit
			_, _, _, err := kind.Open(damaged)
			require.Error(t, err, "byte %d bit %d", i, bit)
		}
	}
}

func TestNewerAndOlder(t *testing.T) {
	newer, older := kind, kind
	newer.Version, older.Version = 4, 2
	_, _, _, err := kind.Open(newer.Seal("gob", nil))
	require.ErrorIs(t, err, ErrNewer)
	version, _, _, err := kind.Open(older.Seal("gob", nil))
	require.NoError(t, err)
	require.Equal(t, uint16(2), version)
}

func FuzzOpen(f *testing.F) {
	f.Add(kind.Seal("gob", []byte("payload")))
	f.Fuzz(func(t *testing.T, data []byte) {
		version, codec, payload, err := kind.Open(data)
		if err == nil && version == kind.Version {
			require.Equal(t, data, kind.Seal(codec, payload))
		}
	})
}
