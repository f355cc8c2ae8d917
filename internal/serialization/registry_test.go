package serialization

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rules schema/R1, compose/Z-1.
func TestRegister_PointersAreRemoved(t *testing.T) {
	type item struct{ A int }
	require.NoError(t, GenericRegister[**item]("both item"))
	require.NoError(t, GenericRegister[item]("both item"))
	require.NoError(t, GenericRegister[*item]("both item"))
	requireSame(t, item{1})
	requireSame(t, &item{1})
}

// Rules schema/R3, compose/Z-1.
func TestRegister_RefusesConflicts(t *testing.T) {
	type a struct{}
	type b struct{}
	require.NoError(t, GenericRegister[a]("conflict a"))
	require.NoError(t, GenericRegister[a]("conflict a"), "the same pair again")
	require.EqualError(t, GenericRegister[b]("conflict a"), "key[conflict a] already registered to serialization.a")
	require.EqualError(t, GenericRegister[*a]("conflict c"), "type[serialization.a] already registered to conflict a")
	require.EqualError(t, Check(reflect.TypeFor[b](), "conflict a"),
		"key[conflict a] already registered to serialization.a")
	require.NoError(t, Check(reflect.TypeFor[b](), "conflict b"))
	require.EqualError(t, GenericRegister[b](""), "cannot register serialization.b under an empty key")
	require.NoError(t, GenericRegister[b]("conflict b"), "nothing was left behind")
}

// Rule schema/R4.
func TestRegister_TakesCompositeTypes(t *testing.T) {
	type item struct{ A int }
	require.NoError(t, GenericRegister[item]("composite item"))
	require.NoError(t, GenericRegister[[]int]("composite []int"))
	require.NoError(t, GenericRegister[map[string]any]("composite map"))
	require.NoError(t, GenericRegister[[]item]("composite []item"))
	require.NoError(t, GenericRegister[[]*item]("composite []*item"))
	require.NoError(t, GenericRegister[[2]item]("composite array"))
	requireSame(t, []int{1})
	requireSame(t, map[string]any{"a": []int{2}})
	requireSame(t, []item{{1}})
	requireSame(t, []*item{{1}, nil})
	requireSame(t, [2]item{{1}, {2}})
	requireSame(t, []fmt.Stringer(nil) == nil)
	require.NoError(t, GenericRegister[fmt.Stringer]("composite Stringer"))
	requireSame(t, []fmt.Stringer{nil})
}

// Rule schema/R6.
func TestRegister_KnowsBuiltins(t *testing.T) {
	type mine struct{}
	for _, name := range []string{
		"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr",
		"float32", "float64", "complex64", "complex128", "bool", "string", "any",
	} {
		require.ErrorContains(t, GenericRegister[mine]("_eino_"+name), "already registered to ", name)
	}
	require.NoError(t, GenericRegister[int]("_eino_int"))
}

func TestShare_AllowsSeveralNames(t *testing.T) {
	type item struct{ A int }
	typ := reflect.TypeFor[item]()
	require.NoError(t, Register(typ, "library/item"))
	Share(typ)
	data := encode(t, item{1})
	require.NoError(t, GenericRegister[*item]("users/item"))
	require.NoError(t, GenericRegister[item]("users/item"))
	require.NoError(t, GenericRegister[item]("library/item"))
	require.Equal(t, item{1}, decode[any](t, data))
	require.Equal(t, item{1}, decode[any](t, []byte(`{"weft":1,"value":["users/item",{"A":1}]}`)))
}

func TestRegister_NamesThatLookLikeTypes(t *testing.T) {
	type a struct{ N int }
	type b struct{ N int }
	type c struct{ N int }
	require.NoError(t, GenericRegister[a]("int"))
	require.NoError(t, GenericRegister[b]("[]b"))
	require.NoError(t, GenericRegister[c]("*c\xff"))
	requireSame(t, map[string]any{"a": a{1}, "as": []a{{2}}, "b": &b{3}, "bs": []b{{4}}, "c": map[a]c{{1}: {2}}, "int": 5})
}

// Rule schema/B15.5.1.
func TestRegister_MayRunBesideEncoding(t *testing.T) {
	var wg sync.WaitGroup
	data := encode(t, full())
	for range 4 {
		wg.Go(func() {
			for range 50 {
				var v any
				if err := codecUnderTest.Unmarshal(data, &v); err != nil {
					t.Error(err)
				}
				if _, err := codecUnderTest.Marshal(map[string]any{"v": v}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 200 {
		wg.Go(func() {
			if err := Register(reflect.ArrayOf(i, reflect.TypeFor[pair]()), fmt.Sprintf("array %d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
