package storekit

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// fill gives every field of a value one that is not zero, so that a field which is not written is missed.
func fill(v reflect.Value) {
	if !v.CanSet() || v.Kind() == reflect.Interface { // what only the process knows
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMicro(1_700_000_000_123_456)))
		return
	case runs.Status:
		v.SetString("waiting")
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":1}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("a\x00%é\xff")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(7)
	default:
		v.SetInt(7)
	}
}

func TestRow_EveryFieldIsWritten(t *testing.T) {
	var want Row
	fill(reflect.ValueOf(&want).Elem())
	want.Run.Tenant, want.Run.Now = "", time.Time{} // who lists it sets the one, and who takes it the other
	want.Run.Born = 0                               // Info sets it
	data, err := want.Encode()
	require.NoError(t, err)
	got, err := DecodeRow(data)
	require.NoError(t, err)
	require.Equal(t, &want, got)
}

func TestRow_ZeroValuesStayZero(t *testing.T) {
	data, err := (&Row{}).Encode()
	require.NoError(t, err)
	require.Equal(t, `{"sum":"bbc4b098","v":1}`, string(data))
	got, err := DecodeRow(data)
	require.NoError(t, err)
	require.Equal(t, &Row{}, got)
}

func TestDecodeRow_SaysWhatIsDamaged(t *testing.T) {
	for _, data := range []string{"", "{", `{"born":"x"}`, `{"created":"then"}`, `[]`} {
		_, err := DecodeRow([]byte(data))
		require.ErrorIs(t, err, runs.ErrUnreadable, data)
	}
}

// TestDecodeRow_NoDamageIsAnotherRow: whatever happens to a byte of a row, it is refused.
// Rule distributed/B23.
func TestDecodeRow_NoDamageIsAnotherRow(t *testing.T) {
	var row Row
	fill(reflect.ValueOf(&row).Elem())
	whole, err := row.Encode()
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		data := slices.Clone(whole)
		at := random.IntN(len(data))
		switch random.IntN(4) {
		case 0:
			data[at] ^= byte(1 + random.IntN(255))
		case 1:
			data = data[:at]
		case 2:
			clear(data[at:min(len(data), at+8)])
		case 3:
			data = slices.Insert(data, at, byte(random.IntN(256)))
		}
		if bytes.Equal(data, whole) {
			continue
		}
		_, err := DecodeRow(data)
		require.ErrorIs(t, err, runs.ErrUnreadable, "%q", data)
	}
}

func TestMicros_TimesWithoutEnd(t *testing.T) {
	require.EqualValues(t, math.MaxInt64, Micros(time.Unix(math.MaxInt64/10, 0)))
	require.EqualValues(t, math.MinInt64, Micros(time.Unix(math.MinInt64/10, 0)))
	require.EqualValues(t, 1_000_001, Micros(time.Unix(1, 1000)))
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "%41", "%", "a\x00b", "\xff\xfe", "é", "%%%", "%4", "\u007f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := Escape(s)
		require.Equal(t, s, Unescape(e))
		for i := range len(e) {
			require.GreaterOrEqual(t, e[i], byte(0x20))
		}
	})
}

// A row that a release has written is read by every later one.
// Rule distributed/B6.
func TestDecodeRow_ReadsTheRowOfEveryRelease(t *testing.T) {
	const file = "testdata/row-1.json"
	if os.Getenv("WEFT_WRITE_GOLDEN") != "" { // only for a format that was not released
		var all Row
		fill(reflect.ValueOf(&all).Elem())
		all.Run.Tenant, all.Run.Now, all.Run.Born = "", time.Time{}, 0
		data, err := all.Encode()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o644))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"v":1`)
	got, err := DecodeRow(data)
	require.NoError(t, err)
	require.Equal(t, []any{"a\x00%é\xff", runs.Status("waiting"), uint64(7)}, []any{got.Run.ID, got.Run.Status, got.Run.Token})
	again, err := got.Encode() // nothing of it is lost
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(again))
}
