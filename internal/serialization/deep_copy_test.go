package serialization

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeepCopy_SharesNothing(t *testing.T) {
	original := full()
	original.Interface = map[string]any{"list": []any{&pair{1, 2}}, "bytes": []byte{1}}
	copied, err := DeepCopy(&original)
	require.NoError(t, err)
	got := copied.(*everything)
	require.Equal(t, &original, got)
	want := full()
	want.Interface = map[string]any{"list": []any{&pair{1, 2}}, "bytes": []byte{1}}

	*original.Pointer = 99
	**original.Deep = "99"
	original.Bytes[0] = 99
	original.Slice[0] = 99
	original.Pointers[1].A = 99
	original.Map["a"] = 99
	original.AnyMap["k"] = 99
	original.PairMap[pair{9, 9}] = "99"
	original.Nested["a"]["b"][0]["c"][0][0] = "99"
	original.Shapes[1].(*circle).Radius = 99
	original.OpaquePtr.secret = "99"
	(*original.PtrSlice)[0] = 99
	inner := original.Interface.(map[string]any)
	inner["list"].([]any)[0].(*pair).A = 99
	inner["bytes"].([]byte)[0] = 99
	require.Equal(t, &want, got)
}

func TestDeepCopy_ElementsOfALongSliceOfPointersAreCopiesEach(t *testing.T) {
	original := make([]*pair, 3*allocatedAtOnce+5)
	for i := range original {
		if i%7 != 3 {
			original[i] = &pair{i, -i}
		}
	}
	got, err := Copy(original)
	require.NoError(t, err)
	require.Equal(t, original, got)
	for i, p := range got {
		if p != nil {
			require.NotSame(t, original[i], p)
			p.A = 1000 + i
		}
	}
	for i, p := range got {
		if p != nil {
			require.Equal(t, pair{1000 + i, -i}, *p)
			require.Equal(t, pair{i, -i}, *original[i])
		}
	}
}

func TestDeepCopy_TypesNeedNoRegistration(t *testing.T) {
	type unregistered struct{ M map[string]any }
	v := &unregistered{map[string]any{"x": unregistered{}, "nil": (*unregistered)(nil)}}
	copied, err := DeepCopy(v)
	require.NoError(t, err)
	require.Equal(t, v, copied)
	require.NotSame(t, v, copied)
	copied, err = DeepCopy(nil)
	require.NoError(t, err)
	require.Nil(t, copied)
}

func TestDeepCopy_UnexportedFieldsAreZero(t *testing.T) {
	type state struct {
		mu     sync.Mutex
		cached map[string]int
		Items  []int
		Time   time.Time
	}
	v := &state{cached: map[string]int{"a": 1}, Items: []int{1}, Time: time.Now()}
	v.mu.Lock()
	copied, err := DeepCopy(v)
	require.NoError(t, err)
	got := copied.(*state)
	require.Nil(t, got.cached)
	require.Equal(t, v.Items, got.Items)
	require.Equal(t, v.Time, got.Time, "with its monotonic clock")
	require.True(t, got.mu.TryLock())
	got.Items[0] = 2
	require.Equal(t, []int{1}, v.Items)
}

// shown has JSON methods and nothing to hide: copying it by its fields keeps more than its JSON would.
type shown struct{ Any any }

func (s shown) MarshalJSON() ([]byte, error)  { return nil, errors.New("not to be called") }
func (s *shown) UnmarshalJSON(b []byte) error { return errors.New("not to be called") }

// guarded hides a part that has a copy function.
type guarded struct {
	Name  string
	Inner *hidden
}

func (g guarded) MarshalJSON() ([]byte, error)  { return nil, errors.New("not to be called") }
func (g *guarded) UnmarshalJSON(b []byte) error { return errors.New("not to be called") }

type hidden struct{ words []string }

// Rule schema/B15.5.5.
func TestDeepCopy_PrefersFieldsToEncodings(t *testing.T) {
	RegisterCopy(func(dst, src *hidden) error {
		if len(src.words) == 0 {
			return errors.New("no words")
		}
		dst.words = append(dst.words, src.words...)
		return nil
	})
	v := []any{shown{int8(1)}, &guarded{"g", &hidden{[]string{"w"}}}}
	copied, err := DeepCopy(v)
	require.NoError(t, err)
	require.Equal(t, v, copied)
	v[1].(*guarded).Inner.words[0] = "changed"
	require.Equal(t, "w", copied.([]any)[1].(*guarded).Inner.words[0])

	_, err = DeepCopy(map[string]any{"k": []guarded{{}, {Inner: &hidden{}}}})
	require.EqualError(t, err, `failed to copy: value["k"][1].Inner: no words`)
}

// twins is an array that leads to itself.
type twins [2]*twins

func TestDeepCopy_RecursiveArray(t *testing.T) {
	original := twins{{&twins{}, nil}, nil}
	copied, err := Copy(original)
	require.NoError(t, err)
	require.Equal(t, original, copied)
	require.NotSame(t, original[0], copied[0])
	require.NotSame(t, original[0][0], copied[0][0], "of the inner array, too")
}

func TestDeepCopy_FaultyMethods(t *testing.T) {
	type hiding struct {
		badJSON
		secret int
	}
	_ = hiding{}.secret // has to be there, so that a plain copy will not do
	_, err := DeepCopy(map[string]any{"k": hiding{badJSON: badJSON{"panic"}}})
	require.ErrorContains(t, err, "panic error: boom")
	_, err = DeepCopy(map[string]any{"k": hiding{badJSON: badJSON{"error"}}})
	require.EqualError(t, err, `failed to copy: value["k"]: no json`)
}
