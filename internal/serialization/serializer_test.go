package serialization

import (
	stdjson "encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/envelope"
)

type (
	named    string
	number   int32
	tags     []string
	labels   map[named]any
	uid      [16]byte
	pair     struct{ A, B int }
	shape    interface{ Area() float64 }
	square   struct{ Side float64 }
	circle   struct{ Radius float64 }
	embedded struct{ Inner string }

	Base struct{ ID string }

	node struct {
		Name  string
		Next  *node
		Kids  []*node
		Table map[string]*node
		Any   any
	}

	everything struct {
		Bool       bool
		Int        int
		Int64      int64
		Uint64     uint64
		Float      float64
		Float32    float32
		Complex    complex128
		Text       string
		Named      named
		Bytes      []byte
		Pointer    *int
		Deep       **string
		Slice      []int
		Pointers   []*pair
		Array      [3]int
		UID        uid
		Map        map[string]int
		IntMap     map[int]string
		PairMap    map[pair]string
		AnyMap     map[string]any
		Nested     map[string]map[string][]map[string][][]string
		Interface  any
		Shape      shape
		Shapes     []shape
		Time       time.Time
		Opaque     opaque
		OpaquePtr  *opaque
		Hidden     string `json:"-"`
		NilSlice   []int
		EmptySlice []int
		EmptyMap   map[string]int
		Func       func()
		PtrSlice   *[]int
		Base
		*embedded
	}
)

func (s square) Area() float64  { return s.Side * s.Side }
func (c *circle) Area() float64 { return c.Radius }

// opaque is written by its own JSON, with pointer receivers.
type opaque struct{ secret string }

func (o *opaque) MarshalJSON() ([]byte, error) {
	return stdjson.Marshal(map[string]string{"s": o.secret})
}

func (o *opaque) UnmarshalJSON(data []byte) error {
	var m map[string]string
	err := stdjson.Unmarshal(data, &m)
	o.secret = m["s"]
	return err
}

func init() {
	for _, err := range []error{
		GenericRegister[named]("named"), GenericRegister[number]("number"), GenericRegister[pair]("pair"),
		GenericRegister[shape]("shape"), GenericRegister[square]("square"), GenericRegister[*circle]("circle"),
		GenericRegister[everything]("everything"), GenericRegister[*node]("node"),
		GenericRegister[opaque]("a \"strange\" name"),
		GenericRegister[tags]("tags"), GenericRegister[labels]("labels"), GenericRegister[uid]("map"),
		GenericRegister[time.Time]("time.Time"),
	} {
		if err != nil {
			panic(err)
		}
	}
}

var codecUnderTest InternalSerializer

func encode(tb testing.TB, v any) []byte {
	tb.Helper()
	data, err := codecUnderTest.Marshal(v)
	require.NoError(tb, err)
	require.True(tb, stdjson.Valid(data), "%s", data)
	again, err := codecUnderTest.Marshal(v)
	require.NoError(tb, err)
	require.Equal(tb, string(data), string(again), "the bytes depend on the value alone")
	return data
}

func decode[T any](tb testing.TB, data []byte) T {
	tb.Helper()
	var v T
	require.NoError(tb, codecUnderTest.Unmarshal(data, &v), "%s", data)
	return v
}

// requireSame round-trips v as the top-level value and inside of an interface.
func requireSame[T any](t *testing.T, v T) {
	t.Helper()
	require.Equal(t, v, decode[T](t, encode(t, v)))
	require.Equal(t, any(v), decode[any](t, encode(t, v)))
	require.Equal(t, map[string]any{"v": v}, decode[map[string]any](t, encode(t, map[string]any{"v": v})))
	copied, err := DeepCopy(v)
	require.NoError(t, err)
	require.Equal(t, any(v), copied)
}

func ptr[T any](v T) *T { return &v }

// Rules schema/R12, schema/B15.5.6, compose/Z-2.
func TestRoundTrip_KeepsValuesExactly(t *testing.T) {
	t.Run("scalars", func(t *testing.T) {
		requireSame(t, true)
		requireSame(t, 0)
		requireSame(t, int8(-128))
		requireSame(t, int64(math.MinInt64))
		requireSame(t, int64(math.MaxInt64))
		requireSame(t, uint64(math.MaxUint64))
		requireSame(t, uint8(255))
		requireSame(t, uintptr(7))
		requireSame(t, 1.0)
		requireSame(t, 1e300)
		requireSame(t, math.Copysign(0, -1))
		requireSame(t, float32(0.1))
		requireSame(t, math.Inf(-1))
		requireSame(t, complex(1, -2))
		requireSame(t, complex64(complex(float32(0.1), 2)))
		requireSame(t, "text \"quoted\" \\ \n\r\t\x00\x1f é 漢 🙂 \u2028 </script>")
		requireSame(t, "not \xff utf8 \xc3")
		requireSame(t, named("n"))
		requireSame(t, named("\xff"))
		requireSame(t, number(-5))
	})
	t.Run("composites", func(t *testing.T) {
		requireSame(t, []int{1, 2})
		requireSame(t, []int(nil))
		requireSame(t, []int{})
		requireSame(t, []byte("bytes\xff"))
		requireSame(t, []byte(nil))
		requireSame(t, []byte{})
		requireSame(t, []any{1, "a", nil, 1.5, []any{int8(1)}, map[string]any{"k": []any{}}})
		requireSame(t, []*pair{{1, 2}, nil})
		requireSame(t, []any{(*pair)(nil), &pair{}, (*string)(nil), ptr("x")})
		requireSame(t, [2]pair{{1, 2}, {3, 4}})
		requireSame(t, map[string]int{"a": 1, "": 2})
		requireSame(t, map[string]int(nil))
		requireSame(t, map[string]int{"\xff": 1, "ok": 2})
		requireSame(t, map[string]any{"\xff": 1, "ok": nil})
		requireSame(t, map[string]any(nil))
		requireSame(t, map[string]any{})
		requireSame(t, map[int]string{3: "c", -1: "a"})
		requireSame(t, map[pair]any{{1, 2}: "x", {0, 1}: nil})
		requireSame(t, map[any]any{1: "int", int8(1): "int8", "1": "string", pair{1, 2}: nil})
		requireSame(t, map[named][]shape{"x": {square{2}, &circle{3}, nil}})
		requireSame(t, map[string]map[string][]map[string][][]string{"a": {"b": {{"c": {{"d"}, nil, {}}}}}})
		requireSame(t, []map[string]any{{"a": 1}, nil, {}})
	})
	t.Run("pointers", func(t *testing.T) {
		requireSame(t, ptr(1))
		requireSame(t, ptr(ptr("deep")))
		requireSame(t, ptr((*string)(nil)))
		requireSame(t, (**string)(nil))
		requireSame(t, &pair{1, 2})
		requireSame(t, ptr(&pair{1, 2}))
		requireSame(t, (*pair)(nil))
		requireSame(t, ptr([]int(nil)))
		requireSame(t, ptr([]int{}))
		requireSame(t, (*[]int)(nil))
		requireSame(t, ptr(map[string]int{"a": 1}))
		requireSame(t, ptr(any(nil)))
		requireSame(t, ptr(any(1)))
		requireSame(t, &opaque{"s"})
		requireSame(t, (*opaque)(nil))
	})
	t.Run("named composites", func(t *testing.T) {
		requireSame(t, tags{"a"})
		requireSame(t, tags(nil))
		requireSame(t, []tags{{"a"}, nil})
		requireSame(t, uid{1, 2, 3})
		requireSame(t, map[string]uid{"a": {4}})
		requireSame(t, &uid{9})
		requireSame(t, labels{"a": tags{"b"}, "c": nil})
		requireSame(t, labels(nil))
		requireSame(t, &labels{})
		requireSame(t, []any{tags{"a"}, labels{"k": uid{1}}, uid{2}, &tags{}})
	})
}

func full() everything {
	return everything{
		Bool: true, Int: -1, Int64: math.MaxInt64, Uint64: math.MaxUint64, Float: 1.5, Float32: 0.1, Complex: 2i,
		Text: "t", Named: "n", Bytes: []byte{0, 255}, Pointer: ptr(0), Deep: ptr(ptr("")), Slice: []int{0, 1},
		Pointers: []*pair{nil, {1, 2}}, Array: [3]int{0, 0, 1}, UID: uid{1}, Map: map[string]int{"a": 0},
		IntMap: map[int]string{1: ""}, PairMap: map[pair]string{{1, 2}: "x"}, AnyMap: map[string]any{"k": nil, "n": 5},
		Nested:    map[string]map[string][]map[string][][]string{"a": {"b": {{"c": {{"d"}}}}}},
		Interface: &pair{3, 4}, Shape: square{2}, Shapes: []shape{nil, &circle{1}, square{}},
		Time: time.Date(2025, 1, 2, 3, 4, 5, 6, time.UTC), Opaque: opaque{"o"}, OpaquePtr: &opaque{""},
		Hidden: "kept", EmptySlice: []int{}, EmptyMap: map[string]int{}, PtrSlice: &[]int{1}, Base: Base{"id"},
	}
}

// Rules schema/R12, compose/Z-2.
func TestRoundTrip_KeepsStructs(t *testing.T) {
	requireSame(t, full())
	requireSame(t, &everything{})
	requireSame(t, []everything{{}, full()})
	lost := full()
	lost.embedded = &embedded{"not exported"}
	require.Equal(t, full(), decode[everything](t, encode(t, lost)), "unexported embedded structs are lost")
	copied, err := DeepCopy(lost)
	require.NoError(t, err)
	require.Equal(t, full(), copied)
}

// Rule schema/B15.5.6.
func TestRoundTrip_KeepsNaN(t *testing.T) {
	require.True(t, math.IsNaN(decode[float64](t, encode(t, math.NaN()))))
	require.Len(t, decode[map[float64]int](t, encode(t, map[float64]int{math.NaN(): 1, math.NaN(): 2})), 2)
}

// Rule schema/B15.5.6.
func TestNil_TopLevelDecodesIntoAnything(t *testing.T) {
	data := encode(t, nil)
	i, p, s, m, st, a := 5, ptr(1), []int{1}, map[string]int{"a": 1}, pair{1, 1}, any(1)
	for _, target := range []any{&i, &p, &s, &m, &st, &a} {
		require.NoError(t, codecUnderTest.Unmarshal(data, target))
		require.True(t, reflect.ValueOf(target).Elem().IsZero(), "%T", target)
	}
}

// Rules schema/R10, compose/Z-1.
func TestTypes_MustBeRegisteredBehindInterfaces(t *testing.T) {
	type unknown struct{ X int }
	type unknownScalar int
	type unknownSlice []int
	type unknownInterface interface{ M() }
	for name, v := range map[string]any{
		"struct":          unknown{},
		"pointer":         &unknown{},
		"slice":           []unknown{},
		"map value":       map[string]unknown{},
		"map key":         map[unknown]int{},
		"scalar":          unknownScalar(1),
		"interface":       []unknownInterface{},
		"in an interface": map[string]any{"k": unknown{}},
		"opaque":          stdjson.Number("1"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codecUnderTest.Marshal(v)
			require.ErrorContains(t, err, "unknown type: ")
			require.ErrorContains(t, err, "schema.RegisterName")
		})
	}
	require.Equal(t, []int{1}, decode[any](t, encode(t, unknownSlice{1})), "an unregistered composite is a plain one")
	require.Equal(t, unknownSlice{1}, decode[unknownSlice](t, encode(t, unknownSlice{1})))

	data := encode(t, pair{1, 2})
	gone := strings.Replace(string(data), `"pair"`, `"gone"`, 1)
	require.ErrorContains(t, codecUnderTest.Unmarshal([]byte(gone), new(any)), "failed to unmarshal: unknown type")
}

// Rule schema/R11.
func TestTypes_StaticTypesNeedNoRegistration(t *testing.T) {
	type leaf struct{ N int }
	type tree struct {
		Leaf  leaf
		Ptr   *leaf
		Slice []leaf
		Map   map[string]leaf
	}
	type root struct{ Tree tree }
	require.NoError(t, GenericRegister[root]("static root"))
	requireSame(t, root{tree{leaf{1}, &leaf{2}, []leaf{{3}}, map[string]leaf{"x": {4}}}})
}

// Rules schema/R13, compose/Z-2.
func TestOpaque_TypesEncodeThemselves(t *testing.T) {
	require.NoError(t, GenericRegister[big.Int]("big"))
	require.NoError(t, GenericRegister[netip.Addr]("addr"))
	type holder struct {
		Value opaque
		Slice []opaque
		Map   map[string]opaque
		Any   any
		Raw   stdjson.RawMessage
		When  time.Time
		Addr  netip.Addr // text methods only
		Big   *big.Int
		URL   url.URL
	}
	require.NoError(t, GenericRegister[holder]("opaque holder"))
	requireSame(t, holder{
		Value: opaque{"a"}, Slice: []opaque{{"b"}, {}}, Map: map[string]opaque{"k": {"c"}}, Any: &opaque{"d"},
		Raw: stdjson.RawMessage(`{"a": [1, "]"]}`), When: time.Date(2025, 1, 1, 0, 0, 0, 1, time.UTC),
		Addr: netip.MustParseAddr("10.0.0.1"), Big: big.NewInt(7), URL: url.URL{Scheme: "https", Host: "x"},
	})
	requireSame(t, netip.MustParseAddr("::1"))
	requireSame(t, *big.NewInt(1 << 40))
}

// bits has binary methods only.
type bits struct{ b []byte }

func (b bits) MarshalBinary() ([]byte, error)     { return b.b, nil }
func (b *bits) UnmarshalBinary(data []byte) error { b.b = data; return nil }

func TestOpaque_BinaryMethods(t *testing.T) {
	require.NoError(t, GenericRegister[bits]("bits"))
	requireSame(t, &bits{[]byte{0, 255}})
	requireSame(t, []bits{{[]byte{1}}})
}

type badJSON struct{ Mode string }

func (b badJSON) MarshalJSON() ([]byte, error) {
	switch b.Mode {
	case "panic":
		panic("boom")
	case "error":
		return nil, errors.New("no json")
	}
	return []byte(`{"unclosed`), nil
}

func (b *badJSON) UnmarshalJSON([]byte) error { panic("decode boom") }

func TestOpaque_FaultyMethods(t *testing.T) {
	require.NoError(t, GenericRegister[badJSON]("badJSON"))
	for mode, want := range map[string]string{"panic": "panic error: boom", "error": "no json", "invalid": "not JSON"} {
		_, err := codecUnderTest.Marshal(map[string]any{"k": badJSON{mode}})
		require.ErrorContains(t, err, want)
	}
	err := codecUnderTest.Unmarshal([]byte(`{"weft":1,"value":["badJSON",{}]}`), new(any))
	require.ErrorContains(t, err, "failed to unmarshal: panic error: decode boom")
}

// Rules schema/R14, compose/Z-2.
func TestStructs_FieldsMayComeAndGo(t *testing.T) {
	type v1 struct {
		Kept, Removed string
		Deep          map[string]any
	}
	type v2 struct {
		Added int
		Kept  string
	}
	require.NoError(t, GenericRegister[v1]("fields"))
	data := encode(t, v1{"k", "r", map[string]any{"x": []any{"]}\"", nil, 1}}})
	renamed := strings.Replace(string(data), `"fields"`, `"fields-new"`, 1)
	require.NoError(t, GenericRegister[v2]("fields-new"))
	require.Equal(t, v2{Kept: "k"}, decode[v2](t, []byte(renamed)))
}

// Rules schema/R16, compose/Z-3.
func TestUnmarshal_NeedsAPointer(t *testing.T) {
	data := encode(t, 1)
	for _, target := range []any{nil, 1, pair{}, (*int)(nil)} {
		require.EqualError(t, codecUnderTest.Unmarshal(data, target), "failed to unmarshal: value must be a non-nil pointer")
	}
	m := map[string]int{"old": 1}
	require.NoError(t, codecUnderTest.Unmarshal(encode(t, map[string]int{"new": 2}), &m))
	require.Equal(t, map[string]int{"new": 2}, m, "replaced, not merged")
	st := pair{9, 9}
	require.NoError(t, codecUnderTest.Unmarshal(encode(t, pair{B: 1}), &st))
	require.Equal(t, pair{B: 1}, st)
}

// Rules schema/R16, schema/B15.5.7, compose/Z-3.
func TestUnmarshal_AdaptsToItsTarget(t *testing.T) {
	type myString string
	type myInts []int
	type otherPair struct{ A, B int }
	check := func(v, want any) {
		t.Helper()
		target := reflect.New(reflect.TypeOf(want))
		require.NoError(t, codecUnderTest.Unmarshal(encode(t, v), target.Interface()))
		require.Equal(t, want, target.Elem().Interface())
	}
	check(1, ptr(1))
	check(ptr(1), 1)
	check(ptr(ptr(1)), 1)
	check(ptr(1), ptr(ptr(1)))
	check((*int)(nil), 0)
	check((*int)(nil), (*int)(nil))
	check(int32(5), int64(5))
	check(int64(5), uint8(5))
	check(5.0, 5)
	check(7, 7.0)
	check(ptr(int32(5)), ptr(int64(5)))
	check(uint8(5), int64(5))
	check(uint8(5), uint32(5))
	check(5, uint16(5))
	check(5.0, uint16(5))
	check(uint8(5), 5.0)
	check(1.5, float32(1.5))
	check("s", myString("s"))
	check(named("s"), "s")
	check([]int{1}, myInts{1})
	check(pair{1, 2}, otherPair{1, 2})
	check(&pair{1, 2}, otherPair{1, 2})

	var s shape
	require.NoError(t, codecUnderTest.Unmarshal(encode(t, circle{2}), &s))
	require.Equal(t, &circle{2}, s)

	refuse := func(v, target any, want string) {
		t.Helper()
		require.EqualError(t, codecUnderTest.Unmarshal(encode(t, v), target), "failed to unmarshal: cannot assign "+want)
	}
	refuse("1", new(int), "string to int")
	refuse(1, new(bool), "int to bool")
	refuse(65, new(string), "int to string")
	refuse([]byte("x"), new(string), "[]uint8 to string")
	refuse(300, new(int8), "int to int8")
	refuse(-1, new(uint), "int to uint")
	refuse(uint16(300), new(uint8), "uint16 to uint8")
	refuse(-1.0, new(uint), "float64 to uint")
	refuse(1.5, new(int), "float64 to int")
	refuse([]int{1}, new([1]int), "[]int to [1]int")
	refuse(1, new(shape), "int to serialization.shape")
	refuse(1e300, new(float32), "float64 to float32")
	refuse(uint64(math.MaxUint64), new(int64), "uint64 to int64")
}

// Rule schema/R17.
func TestUnsupported_FunctionsAndChannelsAreErrors(t *testing.T) {
	type holder struct {
		F func()
		C chan int
	}
	require.NoError(t, GenericRegister[holder]("unsupported holder"))
	requireSame(t, holder{})
	_, err := codecUnderTest.Marshal(holder{F: func() {}})
	require.EqualError(t, err, "holder.F: cannot serialize a value of type func()")
	_, err = codecUnderTest.Marshal(&holder{C: make(chan int)})
	require.EqualError(t, err, "holder.C: cannot serialize a value of type chan int")
	_, err = codecUnderTest.Marshal(func() {})
	require.ErrorContains(t, err, "unknown type: func()")

	original := holder{F: func() {}, C: make(chan int)}
	copied, err := DeepCopy(original)
	require.NoError(t, err)
	require.Equal(t, original.C, copied.(holder).C)
}

// Rule schema/B15.5.6.
func TestErrors_NameThePath(t *testing.T) {
	type secret struct{}
	type item struct{ X any }
	type State struct {
		Items []item
		Table map[string]map[int]any
	}
	require.NoError(t, GenericRegister[State]("PathState"))
	bad := State{Items: []item{{1}, {2}, {}, {X: secret{}}}}
	_, err := codecUnderTest.Marshal(&bad)
	require.EqualError(t, err,
		"State.Items[3].X: unknown type: serialization.secret: register it with schema.RegisterName")
	_, err = codecUnderTest.Marshal(map[string]any{"k": []any{0,
		State{Table: map[string]map[int]any{"a": {7: secret{}}}}}})
	require.ErrorContains(t, err, `value["k"][1].Table["a"][7]: unknown type: `)
	_, err = codecUnderTest.Marshal(secret{})
	require.EqualError(t, err, "unknown type: serialization.secret: register it with schema.RegisterName")

	data := `{"weft":1,"value":["PathState",{"Items":[{},{"X":["no such type",1]}]}]}`
	err = codecUnderTest.Unmarshal([]byte(data), new(State))
	require.ErrorContains(t, err, `failed to unmarshal: State.Items[1].X: unknown type: "no such type"`)
}

// Rule schema/B15.5.6.
func TestCycles_AreErrors(t *testing.T) {
	loop := &node{Name: "a", Next: &node{Name: "b"}}
	loop.Next.Next = loop
	self := map[string]any{}
	self["me"] = []any{self}
	list := []any{nil}
	list[0] = list
	kid := &node{}
	kid.Kids = []*node{kid}
	for path, v := range map[string]any{
		"node.Next.Next":  loop,
		`value["me"][0]`:  self,
		"value[0]":        list,
		"node.Kids[0]":    kid,
		"value[1].Any":    []any{1, func() any { n := &node{}; n.Any = n; return n }()},
		`node.Table["x"]`: func() any { n := &node{}; n.Table = map[string]*node{"x": n}; return n }(),
	} {
		_, err := codecUnderTest.Marshal(v)
		require.EqualError(t, err, path+": cycle: the value contains itself")
		_, err = DeepCopy(v)
		require.EqualError(t, err, "failed to copy: "+path+": cycle: the value contains itself")
	}
}

// Rule schema/B15.5.6.
func TestCycles_SharedPointersAreNone(t *testing.T) {
	shared := &node{Name: "s"}
	requireSame(t, &node{Next: shared, Kids: []*node{shared, shared}, Any: shared})
}

func chain(n int) *node {
	var head *node
	for range n {
		head = &node{Next: head}
	}
	return head
}

func TestDepth(t *testing.T) {
	requireSame(t, chain(trackDepth/2))
	requireSame(t, chain(5*trackDepth))
	_, err := codecUnderTest.Marshal(chain(maxDepth + 1))
	require.ErrorContains(t, err, "nested too deeply")
	require.Less(t, len(err.Error()), 500, "a long path is cut")
	_, err = DeepCopy(chain(maxDepth + 1))
	require.ErrorContains(t, err, "nested too deeply")
	_, err = codecUnderTest.Marshal(chain(1)) // the encoder is as new again
	require.NoError(t, err)

	for _, deep := range []string{
		strings.Repeat(`{"a":`, 1e6),
		strings.Repeat(`["[]any",[`, 1e6),
		`["node",` + strings.Repeat(`{"Next":`, 1e6),
		`["node",{"Unknown":` + strings.Repeat(`[`, 1e6),
		`["` + strings.Repeat("*", 1e6) + `int",null]`,
	} {
		require.Error(t, codecUnderTest.Unmarshal([]byte(`{"weft":1,"value":`+deep), new(any)))
	}
}

// Rule compose/B22.34.
func TestUnmarshal_RefusesBadDocuments(t *testing.T) {
	for _, doc := range []string{
		``, ` `, `null`, `{}`, `[]`, `{"weft":1}`, `{"weft":1,"value":}`, `{"weft":1,"value":1.0`, `{"weft":1,"value":1.0}x`,
		`{"weft":0,"value":null}`, `{"weft":"1","value":null}`, `{"weft":1,"value":tru}`, `{"weft":1,"value":nul}`,
		`{"weft":1,"value":"abc}`, `{"weft":1,"value":"\q"}`, `{"weft":1,"value":"\u12"}`, "{\"weft\":1,\"value\":\"\n\"}",
		`{"weft":1,"value":["int"]}`, `{"weft":1,"value":["int",1,2]}`, `{"weft":1,"value":["int","1"]}`,
		`{"weft":1,"value":["int",1.5]}`,
		`{"weft":1,"value":["int8",200]}`, `{"weft":1,"value":["uint8",-1]}`, `{"weft":1,"value":["float64","1"]}`,
		`{"weft":1,"value":["float64",1e999]}`,
		`{"weft":1,"value":["[2]int",[1]]}`, `{"weft":1,"value":["[2]int",[1,2,3]]}`, `{"weft":1,"value":["map","AA=="]}`,
		`{"weft":1,"value":["[1000000000]int",[]]}`, `{"weft":1,"value":["[][1000000]int",[[],[]]]}`,
		`{"weft":1,"value":["*[100000000]int8",""]}`,
		`{"weft":1,"value":["[4000000000]int",[]]}`, `{"weft":1,"value":["[9][999999999][999999999]int",[]]}`,
		`{"weft":1,"value":["map[[]int]int",{}]}`, `{"weft":1,"value":["map[[100000000]int]int",[]]}`,
		`{"weft":1,"value":["map[any]int",[[["[]any",[]],1]]]}`, `{"weft":1,"value":["map[string",{}]}`,
		`{"weft":1,"value":["[]uint8","%%%"]}`, `{"weft":1,"value":["int extra",1]}`, `{"weft":1,"value":["\"int\"",1]}`,
		`{"weft":1,"value":["pair",{"A":1,}]}`, `{"weft":1,"value":["pair",{"A" 1}]}`, `{"weft":1,"value":["pair",[]]}`,
		`{"weft":1,"value":["pair",{"X":}]}`, `{"weft":1,"value":["pair",{"X":]}]}`, `{"weft":1,"value":{"a":1.0,"b"}}`,
		`{"weft":1,"value":["complex128",[1]]}`, `{"weft":1,"value":["func()",null]}`, `{"weft":1,"value":["",null]}`,
	} {
		err := codecUnderTest.Unmarshal([]byte(doc), new(any))
		assert.ErrorContains(t, err, "failed to unmarshal: ", doc)
	}
	err := codecUnderTest.Unmarshal([]byte(`{"weft":2,"value":{"unlisted":"of"}}`), new(any))
	require.EqualError(t, err, "failed to unmarshal: the data was written by a newer version: data has format version 2, "+
		"this program reads up to 1")
	require.ErrorIs(t, err, envelope.ErrNewer)
}

func TestUnmarshal_TruncatedAnywhere(t *testing.T) {
	data := encode(t, full())
	for n := range data {
		require.Error(t, codecUnderTest.Unmarshal(data[:n], new(any)), "%d bytes", n)
	}
}

func TestUnmarshal_HandWritten(t *testing.T) {
	doc := " {\n\t\"weft\" : 1 , \"value\" : { \"a\\u00e9\\ud83d\\ude42\\ud83dx\\/\" : [ \"[]int\" , [ 1 , 2 ] ] , \"b\" : null, \"c\": -1e3 } } \n"
	want := map[string]any{"aé🙂\ufffdx/": []int{1, 2}, "b": nil, "c": -1000.0}
	require.Equal(t, want, decode[any](t, []byte(doc)))
	require.Equal(t, pair{A: 2}, decode[pair](t, []byte(`{"weft":1,"value":["pair",{"B":1,"A":2,"B":0}]}`)))
}

// Rules compose/B22.34, schema/B15.5.4.
func TestFormat_IsCompact(t *testing.T) {
	v := map[string]any{"s": "x", "n": 1, "f": 1.0, "b": true, "z": nil, "p": &pair{A: 1}, "l": []any{"a"},
		"raw": []byte("hi")}
	require.Equal(t,
		`{"weft":1,"value":{"b":true,"f":1.0,"l":["[]any",["a"]],"n":["int",1],"p":["*pair",{"A":1}],"raw":["[]uint8","aGk="],"s":"x","z":null}}`, string(encode(t, v)))
	require.Equal(t, `{"weft":1,"value":["[]*pair",[{"A":1},null,{"B":2}]]}`,
		string(encode(t, []*pair{{A: 1}, nil, {B: 2}})))
}
