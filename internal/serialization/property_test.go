package serialization

import (
	stdjson "encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// universe are types that may stand behind an interface in random values.
var universe = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint64](),
	reflect.TypeFor[float64](), reflect.TypeFor[float32](), reflect.TypeFor[complex128](), reflect.TypeFor[string](),
	reflect.TypeFor[named](), reflect.TypeFor[number](), reflect.TypeFor[tags](), reflect.TypeFor[uid](),
	reflect.TypeFor[pair](),
	reflect.TypeFor[*pair](), reflect.TypeFor[**int](), reflect.TypeFor[square](), reflect.TypeFor[*circle](),
	reflect.TypeFor[everything](),
	reflect.TypeFor[*node](), reflect.TypeFor[opaque](), reflect.TypeFor[time.Time](), reflect.TypeFor[[]any](),
	reflect.TypeFor[map[string]any](),
	reflect.TypeFor[map[any]any](), reflect.TypeFor[[]byte](), reflect.TypeFor[[]*everything](),
	reflect.TypeFor[map[pair][]shape](),
	reflect.TypeFor[map[named]map[int8]*string](), reflect.TypeFor[[3][2]any](), reflect.TypeFor[*map[string]int](),
	reflect.TypeFor[*[]any](),
}

var shapes = []reflect.Type{reflect.TypeFor[square](), reflect.TypeFor[*circle]()}

var keyTypes = []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[string](), reflect.TypeFor[pair](),
	reflect.TypeFor[named](), reflect.TypeFor[uid]()}

type generator struct{ *rand.Rand }

func (g generator) pick(ts []reflect.Type) reflect.Type { return ts[g.IntN(len(ts))] }

// value returns a random value of t; the deeper, the smaller.
func (g generator) value(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	if depth > 5 || g.IntN(6) == 0 {
		return v
	}
	g.fill(v, depth+1)
	return v
}

func (g generator) fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case opaque:
		v.Set(reflect.ValueOf(opaque{g.utf8()}))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(g.Int64N(1<<32), g.Int64N(1e9)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(g.Uint64()) >> g.IntN(64))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(g.Uint64() >> g.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{g.NormFloat64(), math.Inf(1), 0, math.MaxFloat32, float64(g.IntN(9))}[g.IntN(5)])
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(g.NormFloat64(), g.NormFloat64()))
	case reflect.String:
		v.SetString(g.text())
	case reflect.Interface:
		types := universe
		if v.Type() == reflect.TypeFor[shape]() {
			types = shapes
		}
		v.Set(g.value(g.pick(types), depth))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		v.Elem().Set(g.value(v.Type().Elem(), depth))
	case reflect.Slice:
		n := g.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			v.Index(i).Set(g.value(v.Type().Elem(), depth))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(g.value(v.Type().Elem(), depth))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range g.IntN(4) {
			key := v.Type().Key()
			if key.Kind() == reflect.Interface {
				key = g.pick(keyTypes)
			}
			v.SetMapIndex(g.value(key, depth), g.value(v.Type().Elem(), depth))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				v.Field(i).Set(g.value(v.Field(i).Type(), depth))
			}
		}
	}
}

func (g generator) text() string {
	b := make([]byte, g.IntN(12))
	for i := range b {
		b[i] = byte(g.Uint32() >> g.IntN(9))
	}
	return string(b)
}

func (g generator) utf8() string { return fmt.Sprintf("%q", g.text()) }

func TestRandomValues_RoundTrip(t *testing.T) {
	rounds := uint64(5000)
	if testing.Short() {
		rounds = 500
	}
	for seed := range rounds {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		want := g.value(g.pick(universe), 0).Interface()

		data, err := codecUnderTest.Marshal(want)
		require.NoError(t, err, "seed %d", seed)
		require.True(t, stdjson.Valid(data), "seed %d: %s", seed, data)
		var got any
		require.NoError(t, codecUnderTest.Unmarshal(data, &got), "seed %d: %s", seed, data)
		require.True(t, reflect.DeepEqual(want, got), "seed %d\nwant %#v\ngot  %#v\ndata %s", seed, want, got, data)
		again, err := codecUnderTest.Marshal(got)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again), "seed %d", seed)

		copied, err := DeepCopy(want)
		require.NoError(t, err, "seed %d", seed)
		require.True(t, reflect.DeepEqual(want, copied), "seed %d\nwant %#v\ngot  %#v", seed, want, copied)
	}
}

// FuzzUnmarshal checks that foreign bytes neither panic, hang nor take much memory, and that what is read can be
// written and read again.
func FuzzUnmarshal(f *testing.F) {
	for seed := range uint64(30) {
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		data, err := codecUnderTest.Marshal(g.value(g.pick(universe), 0).Interface())
		require.NoError(f, err)
		f.Add(data)
	}
	for _, doc := range []string{
		`{"weft":1,"value":["[1000][1000]int",[]]}`, `{"weft":1,"value":["map[string]*[]map[any]\"pair\"",{}]}`,
		`{"weft":1,"value":["[][100]float64",[[],[]]]}`, `{"weft":2}`,
		`{"weft":1,"value":["map[\"pair\"][]any",[[{"A":1},["x"]]]]}`,
		`{"weft":1,"value":["node",{"Next":{"Table":{"a":null}}}]}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if err := codecUnderTest.Unmarshal(data, &v); err != nil {
			return
		}
		again, err := codecUnderTest.Marshal(v)
		require.NoError(t, err)
		var w any
		require.NoError(t, codecUnderTest.Unmarshal(again, &w), "%s", again)
		third, err := codecUnderTest.Marshal(w)
		require.NoError(t, err)
		require.Equal(t, string(again), string(third))
	})
}
