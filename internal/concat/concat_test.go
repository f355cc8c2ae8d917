package concat

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type (
	unregistered struct{ A int }
	namedString  string
	namedMap     map[string]any
	stringMap    map[string]string
)

// restore puts the registry back when the test ends.
func restore(t *testing.T) { t.Cleanup(joins.Snapshot()) }

// Rule schema/C2.
func TestItems_JoinsBuiltinTypes(t *testing.T) {
	joined, err := Items([]string{"a", "", "b"})
	require.NoError(t, err)
	require.Equal(t, "ab", joined)

	checkLast(t, []bool{true, false})
	checkLast(t, []int{1, 2})
	checkLast(t, []int8{1, 2})
	checkLast(t, []int16{1, 2})
	checkLast(t, []int32{1, 2})
	checkLast(t, []int64{1, 0})
	checkLast(t, []uint{1, 2})
	checkLast(t, []uint8{1, 2})
	checkLast(t, []uint16{1, 2})
	checkLast(t, []uint32{1, 2})
	checkLast(t, []uint64{1, 2})
	checkLast(t, []float32{1, 2})
	checkLast(t, []float64{1, 2})
	checkLast(t, []time.Duration{1, 2})
	checkLast(t, []time.Time{time.Unix(2, 0), time.Unix(1, 0)})
}

func checkLast[T any](t *testing.T, items []T) {
	t.Helper()
	joined, err := Items(items)
	require.NoError(t, err)
	require.Equal(t, items[len(items)-1], joined)
	boxed, err := Values([]any{items[0], items[1]})
	require.NoError(t, err)
	require.Equal(t, any(items[1]), boxed)
}

// Rule schema/C2.
func TestItems_RefusesTypesWithoutAFunction(t *testing.T) {
	for name, err := range map[string]error{
		"uintptr":   second(Items([]uintptr{1, 2})),
		"complex":   second(Items([]complex128{1, 2})),
		"[]byte":    second(Items([][]byte{{1}, {2}})),
		"string":    second(Items([]namedString{"a", "b"})),
		"[]string":  second(Items([][]string{{"a"}, {"b"}})),
		"struct":    second(Items([]unregistered{{1}, {2}})),
		"*struct":   second(Items([]*unregistered{{1}, {2}})),
		"interface": second(Items([]any{unregistered{1}, unregistered{2}})),
	} {
		require.ErrorContains(t, err, "cannot concat multiple non-zero value of type ", name)
	}
	require.EqualError(t, second(Items([]unregistered{{1}, {2}})),
		"cannot concat multiple non-zero value of type concat.unregistered")
}

func second[T any](_ T, err error) error { return err }

// Rule schema/C3.
func TestItems_KeepsTheOnlyNonZeroValue(t *testing.T) {
	joined, err := Items([]unregistered{{}, {7}, {}})
	require.NoError(t, err)
	require.Equal(t, unregistered{7}, joined)
	joined, err = Items([]unregistered{{}, {}})
	require.NoError(t, err)
	require.Zero(t, joined)
	list, err := Items([][]string{nil, {"a"}, nil})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, list)
	pointer, err := Items([]*unregistered{nil, nil})
	require.NoError(t, err)
	require.Nil(t, pointer)
}

// Rule schema/C7.
func TestItems_ReturnsASingleItemItself(t *testing.T) {
	restore(t)
	Register(func([]unregistered) (unregistered, error) { return unregistered{}, errors.New("called") })
	joined, err := Items([]unregistered{{5}})
	require.NoError(t, err)
	require.Equal(t, unregistered{5}, joined)
	joined, err = Items[unregistered](nil)
	require.NoError(t, err)
	require.Zero(t, joined)
	v, err := Values([]any{unregistered{5}})
	require.NoError(t, err)
	require.Equal(t, unregistered{5}, v)
	v, err = Values(nil)
	require.NoError(t, err)
	require.Nil(t, v)
}

func TestItems_Interfaces(t *testing.T) {
	joined, err := Items([]any{nil, "a", nil, "b"})
	require.NoError(t, err)
	require.Equal(t, "ab", joined)
	joined, err = Items([]any{nil, nil})
	require.NoError(t, err)
	require.Nil(t, joined)
	_, err = Items([]any{"a", 1})
	require.ErrorContains(t, err, "cannot concat multiple non-zero value of type interface {}")
	stringer, err := Items([]fmt.Stringer{time.Second, time.Minute})
	require.NoError(t, err)
	require.Equal(t, time.Minute, stringer)
}

// Rule schema/C1.
func TestRegister_Replaces(t *testing.T) {
	restore(t)
	sum := func(items []int) (int, error) {
		total := 0
		for _, n := range items {
			total += n
		}
		return total, nil
	}
	Register(sum)
	joined, err := Items([]int{1, 2, 3})
	require.NoError(t, err)
	require.Equal(t, 6, joined)
	m, err := Items([]map[string]any{{"n": 1}, {"n": 2}, {"n": 3}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": 6}, m)
	Register(last[int])
	joined, err = Items([]int{1, 2, 3})
	require.NoError(t, err)
	require.Equal(t, 3, joined)
	require.Panics(t, func() { Register[int](nil) })
}

// A registered function wins over the map rule, at the top and below.
// Rule schema/B15.3.3.
func TestRegister_WinsForMapTypes(t *testing.T) {
	restore(t)
	Register(func(items []namedMap) (namedMap, error) { return namedMap{"n": len(items)}, nil })
	Register(func(items []map[string]any) (map[string]any, error) { return map[string]any{"m": len(items)}, nil })
	joined, err := Items([]namedMap{{"a": 1}, {"a": 2}})
	require.NoError(t, err)
	require.Equal(t, namedMap{"n": 2}, joined)
	outer, err := Items([]map[string]namedMap{{"k": {"a": 1}}, {"k": {"b": 1}}})
	require.NoError(t, err)
	require.Equal(t, map[string]namedMap{"k": {"n": 2}}, outer)
	plain, err := Items([]map[string]any{{"a": 1}, {"a": "x"}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"m": 2}, plain)
}

func TestItems_PanicsBecomeErrors(t *testing.T) {
	restore(t)
	Register(func([]unregistered) (unregistered, error) { panic("boom") })
	_, err := Items([]unregistered{{}, {}})
	require.ErrorContains(t, err, "boom")
	_, err = Values([]any{unregistered{1}, unregistered{2}})
	require.ErrorContains(t, err, "boom")
}

// Rule schema/C4.
func TestItems_JoinsMapsKeyByKey(t *testing.T) {
	type m = map[string]any
	for _, tt := range []struct {
		name   string
		chunks []m
		want   m
	}{
		{"union", []m{{"a": 1}, {"b": 2}}, m{"a": 1, "b": 2}},
		{"strings", []m{{"a": "x"}, {"a": "y"}, {"a": "z"}}, m{"a": "xyz"}},
		{"last number", []m{{"a": 1}, {"a": 2}}, m{"a": 2}},
		{"one struct", []m{{"a": unregistered{1}}, {"b": 1}}, m{"a": unregistered{1}, "b": 1}},
		{"zero structs", []m{{"a": unregistered{}}, {"a": unregistered{}}}, m{"a": unregistered{}}},
		{"nil slice", []m{{"a": []string{"x"}}, {"a": []string(nil)}}, m{"a": []string{"x"}}},
		{"nested", []m{{"a": m{"b": m{"c": "1"}}}, {"a": m{"b": m{"c": "2", "d": 1}}}}, m{"a": m{"b": m{"c": "12", "d": 1}}}},
		{"typed nested", []m{{"a": stringMap{"b": "1"}}, {"a": stringMap{"b": "2"}}}, m{"a": stringMap{"b": "12"}}},
		{"int keys", []m{{"a": map[int]string{1: "x"}}, {"a": map[int]string{1: "y", 2: "z"}}},
			m{"a": map[int]string{1: "xy", 2: "z"}}},
		{"nil kept", []m{{"a": nil}, {"b": 1}}, m{"a": nil, "b": 1}},
		{"nil map", []m{nil, {"a": 1}, nil}, m{"a": 1}},
		{"all nil maps", []m{nil, nil}, nil},
		{"empty maps", []m{{}, {}}, m{}},
	} {
		joined, err := Items(tt.chunks)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, joined, tt.name)
	}
	named, err := Items([]namedMap{{"a": "x"}, {"a": "y"}})
	require.NoError(t, err)
	require.Equal(t, namedMap{"a": "xy"}, named)
	none, err := Items([]stringMap{nil, nil})
	require.NoError(t, err)
	require.Nil(t, none)
}

// Nils say nothing: wherever they stand, and whatever their type.
// Rules schema/C6, schema/B15.3.2.
func TestItems_IgnoresNilsUnderAKey(t *testing.T) {
	var (
		typed *unregistered
		value = &unregistered{1}
	)
	for _, tt := range []struct {
		values []any
		want   any
	}{
		{[]any{nil, "a", "b"}, "ab"},
		{[]any{"a", nil, "b"}, "ab"},
		{[]any{"a", "b", nil}, "ab"},
		{[]any{nil, "a"}, "a"},
		{[]any{nil, nil}, nil},
		{[]any{typed, value, typed}, value},
		{[]any{typed, "a", "b"}, "ab"},
		{[]any{typed, typed}, typed},
		{[]any{map[string]any(nil), map[string]any{"k": 1}}, map[string]any{"k": 1}},
	} {
		joined, err := Values(tt.values)
		require.NoError(t, err)
		require.Equal(t, tt.want, joined)
		chunks := make([]map[string]any, len(tt.values))
		for i, v := range tt.values {
			chunks[i] = map[string]any{"k": v}
		}
		m, err := Items(chunks)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"k": tt.want}, m)
	}
}

// Rule schema/C4.
func TestItems_NamesTheKeyOfAConflict(t *testing.T) {
	type m = map[string]any
	_, err := Items([]m{{"a": m{"b": "x"}}, {"a": m{"b": 1}}})
	require.EqualError(t, err, "unexpected slice element type. Got int, expected string, key: a.b")
	_, err = Items([]m{{"a": []string{"x"}}, {"a": []string{"y"}}})
	require.EqualError(t, err, "cannot concat multiple non-zero value of type []string, key: a")
	_, err = Values([]any{"x", 1})
	require.EqualError(t, err, "unexpected slice element type. Got int, expected string")
	_, err = Items([]map[int]any{{1: "x"}, {1: 2}})
	require.EqualError(t, err, "unexpected slice element type. Got int, expected string, key: 1")

	restore(t)
	failed := errors.New("failed")
	Register(func([]unregistered) (unregistered, error) { return unregistered{}, failed })
	_, err = Items([]m{{"a": unregistered{1}}, {"a": unregistered{2}}})
	require.ErrorIs(t, err, failed)
}

// Of several conflicts the one that came first is reported, every time.
// Rule schema/B15.3.12.
func TestItems_ErrorsAreDeterministic(t *testing.T) {
	chunks := []map[string]any{{}, {}, {}}
	for i := range 50 {
		chunks[0][fmt.Sprint("k", i)] = "text"
		chunks[1][fmt.Sprint("k", 25+i/2)] = i
		chunks[2][fmt.Sprint("k", i)] = i
	}
	_, first := Items(chunks)
	require.ErrorContains(t, first, "key: k25")
	for range 20 {
		_, err := Items(chunks)
		require.EqualError(t, err, first.Error())
	}
}

func TestItems_DoesNotTouchItsInput(t *testing.T) {
	a := map[string]any{"s": "a", "m": map[string]any{"k": "1"}, "l": []int{1}}
	b := map[string]any{"s": "b", "m": map[string]any{"k": "2"}}
	chunks := []map[string]any{a, b}
	joined, err := Items(chunks)
	require.NoError(t, err)
	joined["new"] = 1
	joined["m"].(map[string]any)["new"] = 1
	require.Equal(t, map[string]any{"s": "a", "m": map[string]any{"k": "1"}, "l": []int{1}}, a)
	require.Equal(t, map[string]any{"s": "b", "m": map[string]any{"k": "2"}}, b)
	values := []any{nil, "x", nil, "y"}
	_, err = Values(values)
	require.NoError(t, err)
	require.Equal(t, []any{nil, "x", nil, "y"}, values)
}

func TestItems_SelfContainingMaps(t *testing.T) {
	cyclic := func() map[string]any {
		m := map[string]any{}
		m["a"], m["b"] = m, m
		return m
	}
	_, err := Items([]map[string]any{cyclic(), cyclic()})
	require.ErrorContains(t, err, "nested deeper than 1000")
}

func TestMap(t *testing.T) {
	var j Map
	require.True(t, j.Empty())
	result, err := j.Result()
	require.NoError(t, err)
	require.Nil(t, result)
	j.Add(nil)
	require.True(t, j.Empty())

	first := map[string]any{"a": "x"}
	j.Add(first)
	require.False(t, j.Empty())
	result, err = j.Result()
	require.NoError(t, err)
	require.Equal(t, first, result)
	result["changed"] = true
	require.Len(t, first, 1)

	j.Add(map[string]any{"a": "y", "b": 1})
	result, err = j.Result()
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": "xy", "b": 1}, result)
	again, err := j.Result()
	require.NoError(t, err)
	require.Equal(t, result, again)
	require.NotEqual(t, reflect.ValueOf(result).Pointer(), reflect.ValueOf(again).Pointer())
}

// Rule schema/B15.3.1.
func TestRegister_MayRunBesideJoins(t *testing.T) {
	restore(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				Register(last[unregistered])
			}
		})
		wg.Go(func() {
			for range 100 {
				if joined, err := Items([]map[string]any{{"a": "x", "n": 1}, {"a": "y", "n": 2}}); err != nil ||
					joined["a"] != "xy" {
					t.Errorf("got %v, %v", joined, err)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzMaps holds the join of maps of texts against the obvious loop.
func FuzzMaps(f *testing.F) {
	f.Add("a=1,b=2;a=3")
	f.Add(";;a=")
	f.Fuzz(func(t *testing.T, text string) {
		var chunks []map[string]any
		want := map[string]any{}
		for _, part := range strings.Split(text, ";") {
			chunk := map[string]any{}
			for _, entry := range strings.Split(part, ",") {
				if k, v, ok := strings.Cut(entry, "="); ok {
					chunk[k] = v
				}
			}
			for k, v := range chunk {
				before, _ := want[k].(string)
				want[k] = before + v.(string)
			}
			chunks = append(chunks, chunk)
		}
		joined, err := Items(chunks)
		if err != nil || !maps.Equal(joined, want) {
			t.Errorf("got %v, %v; want %v", joined, err, want)
		}
	})
}

func BenchmarkItems(b *testing.B) {
	texts := make([]string, 1000)
	chunks := make([]map[string]any, 100)
	for i := range texts {
		texts[i] = "some text "
	}
	for i := range chunks {
		chunks[i] = map[string]any{"text": "some text ", "n": i, "only": nil}
	}
	b.Run("Strings1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Items(texts)
		}
	})
	b.Run("Maps100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Items(chunks)
		}
	})
}
