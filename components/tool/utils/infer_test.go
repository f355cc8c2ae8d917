package utils

import (
	"encoding/json"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"
)

// described returns the inferred schema of T as JSON.
func described[T any](t *testing.T, opts ...Option) string {
	t.Helper()
	params, err := GoStruct2ParamsOneOf[T](opts...)
	require.NoError(t, err)
	s, err := params.ToJSONSchema()
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	return string(text)
}

// property returns the schema of the field f of T.
func property[T any](t *testing.T) string {
	t.Helper()
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	require.NoError(t, json.Unmarshal([]byte(described[T](t)), &s))
	return string(s.Properties["f"])
}

// Rule components/S1.
func TestInfer_DescribesAStructInFieldOrder(t *testing.T) {
	require.Equal(t,
		`{"properties":{"z":{"type":"string"},"a":{"properties":{"m":{"type":"boolean"}},"additionalProperties":false,"required":["m"],"type":"object"}},"additionalProperties":false,"required":["z","a"],"type":"object"}`,
		described[struct {
			Z string `json:"z"`
			A struct {
				M bool `json:"m"`
			} `json:"a"`
		}](t))
	require.Equal(t, `{"properties":{},"additionalProperties":false,"type":"object"}`, described[struct{}](t))
}

// Rule components/S2.
func TestInfer_FieldsAreRequiredUnlessOmitempty(t *testing.T) {
	got := described[struct {
		A string  `json:"a"`
		B string  `json:"b,omitempty"`
		C string  `json:"c,omitempty" jsonschema:"required"`
		D *string `json:"d"`
		E string  `json:"e,omitzero"`
		F string  `json:"f" jsonschema:"required"`
	}](t)
	require.Contains(t, got, `"required":["a","c","d","e","f"]`)
}

type embedded struct {
	E1 int `json:"e1"`
}

type named struct {
	N1 int `json:"n1"`
}

// Rule components/S3.
func TestInfer_NamesFieldsLikeJSON(t *testing.T) {
	got := described[struct {
		Plain   int
		Tagged  int `json:"tagged"`
		Skipped int `json:"-"`
		Hidden  int `json:"h" jsonschema:"-"`
		private int
		embedded
		*named  `json:"as_field"`
		Inlined named `json:",inline"`
	}](t)
	require.Equal(t, `{"properties":{"Plain":{"type":"integer"},"tagged":{"type":"integer"},"e1":{"type":"integer"},`+
		`"as_field":{"properties":{"n1":{"type":"integer"}},"additionalProperties":false,"required":["n1"],"type":"object"},"n1":{"type":"integer"}},`+
		`"additionalProperties":false,"required":["Plain","tagged","e1","as_field","n1"],"type":"object"}`, got)
}

// Rule components/S4.
func TestInfer_DescribesEveryType(t *testing.T) {
	for name, tc := range map[string]struct{ got, want string }{
		"bytes": {property[struct {
			F []byte `json:"f"`
		}](t), `{"type":"string","contentEncoding":"base64"}`},
		"slice": {property[struct {
			F []int `json:"f"`
		}](t), `{"items":{"type":"integer"},"type":"array"}`},
		"array": {property[struct {
			F [2]int `json:"f"`
		}](t), `{"items":{"type":"integer"},"type":"array","maxItems":2,"minItems":2}`},
		"map": {property[struct {
			F map[string]float32 `json:"f"`
		}](t), `{"additionalProperties":{"type":"number"},"type":"object"}`},
		"map of any": {property[struct {
			F map[string]any `json:"f"`
		}](t), `{"type":"object"}`},
		"map by int": {property[struct {
			F map[int]bool `json:"f"`
		}](t), `{"patternProperties":{"^[0-9]+$":{"type":"boolean"}},"additionalProperties":false,"type":"object"}`},
		"any": {property[struct {
			F any `json:"f"`
		}](t), `true`},
		"raw message": {property[struct {
			F json.RawMessage `json:"f"`
		}](t), `true`},
		"time": {property[struct {
			F time.Time `json:"f"`
		}](t), `{"type":"string","format":"date-time"}`},
		"ip": {property[struct {
			F net.IP `json:"f"`
		}](t), `{"type":"string","format":"ipv4"}`},
		"pointers": {property[struct {
			F ***string `json:"f"`
		}](t), `{"type":"string"}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, canonical(t, tc.want), canonical(t, tc.got))
		})
	}
	require.Equal(t, described[named](t), described[***named](t), "also at the top")
	require.Equal(t, `{"type":"string"}`, described[string](t))
}

func canonical(t *testing.T, text string) any {
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// Rule components/S5.
func TestInfer_ReadsDescriptions(t *testing.T) {
	got := described[struct {
		A int `json:"a" jsonschema_description:"one, two"`
		B int `json:"b" jsonschema:"description=one\\, two"`
		C int `json:"c" jsonschema_description:"loses" jsonschema:"description=wins"`
	}](t)
	require.Contains(t, got,
		`"a":{"description":"one, two","type":"integer"},"b":{"description":"one, two","type":"integer"},"c":{"description":"wins","type":"integer"}`)
}

// Rule components/S6.
func TestInfer_KnowsTheKeywordsOfTheTag(t *testing.T) {
	require.JSONEq(t, `{"type":"integer","minimum":1,"maximum":9,"default":3,"examples":[4,5],"title":"T","x":"y"}`,
		property[struct {
			F int `json:"f" jsonschema:"minimum=1,maximum=9,default=3,example=4,example=5,title=T" jsonschema_extras:"x=y"`
		}](t))
	require.JSONEq(t, `{"oneOf":[{"type":"string","pattern":"^a,b$"},{"type":"null"}]}`,
		property[struct {
			F *string `json:"f" jsonschema:"nullable,pattern=^a\\,b$"`
		}](t))
	require.JSONEq(t, `{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]}}`,
		property[struct {
			F []string `json:"f" jsonschema:"minItems=1,enum=a,enum=b"`
		}](t))
}

type color string

// Rule components/S7.
func TestInfer_EnumValuesHaveTheTypeOfTheField(t *testing.T) {
	params, err := GoStruct2ParamsOneOf[struct {
		C color `json:"c" jsonschema:"enum=red,default=red"`
		I int   `json:"i" jsonschema:"enum=1,enum=x,enum=1.1"`
		B bool  `json:"b" jsonschema:"default=true"`
	}]()
	require.NoError(t, err)
	s, err := params.ToJSONSchema()
	require.NoError(t, err)
	c, _ := s.Properties.Get("c")
	require.Equal(t, []any{"red"}, c.Enum)
	require.Equal(t, "red", c.Default)
	i, _ := s.Properties.Get("i")
	require.Equal(t, []any{json.Number("1"), json.Number("1.1")}, i.Enum)
	b, _ := s.Properties.Get("b")
	require.Equal(t, true, b.Default)
}

// Rule components/S8.
func TestInfer_ModifierSeesEveryFieldAndTheRoot(t *testing.T) {
	type inner struct {
		X *int `json:"x"`
	}
	type outer struct {
		L []string `json:"l" custom:"tag"`
		I inner    `json:"i"`
	}
	var calls []string
	got := described[outer](t,
		WithSchemaModifier(func(name string, typ reflect.Type, tag reflect.StructTag, s *jsonschema.Schema) {
			calls = append(calls, strings.TrimSpace(name+" "+typ.String()+" "+tag.Get("custom")))
			if name == "_root" {
				s.Description = "changed"
			}
		}))
	require.Equal(t, []string{
		"l string tag", "l []string tag", "l []string tag",
		"x int", "x *int",
		"i utils.inner", "i utils.inner",
		"_root utils.outer",
	}, calls)
	require.Contains(t, got, `"description":"changed"`)
}

type hooked struct {
	F int    `json:"f"`
	G string `json:"g"`
}

func (hooked) GetFieldDocString(field string) string { return "doc of " + field }
func (hooked) JSONSchemaExtend(s *jsonschema.Schema) { s.Title = "extended" }
func (hooked) JSONSchemaProperty(prop string) any {
	if prop == "f" {
		return ""
	}
	return nil
}

type selfDescribed struct{ F func() }

func (selfDescribed) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

type aliasing struct{ F func() }

func (aliasing) JSONSchemaAlias() any { return 0 }

// Rule components/S9.
func TestInfer_CallsTheSchemaMethodsOfTypes(t *testing.T) {
	require.JSONEq(t, `{"title":"extended","type":"object","additionalProperties":false,"required":["f","g"],
		"properties":{"f":{"type":"string","description":"doc of F"},"g":{"type":"string","description":"doc of G"}}}`,
		described[hooked](t))
	require.JSONEq(t, `{"type":"string"}`, property[struct {
		F selfDescribed `json:"f"`
	}](t))
	require.JSONEq(t, `{"type":"integer"}`, property[struct {
		F aliasing `json:"f"`
	}](t))
}

type node struct {
	Value    int     `json:"value"`
	Children []*node `json:"children"`
}

type tree struct {
	Roots map[string][]node `json:"roots"`
}

type embedsItself struct {
	*embedsItself
	A int
}

type pointerLoop *pointerLoop

type sliceLoop []sliceLoop

type aliasLoop struct{}

func (aliasLoop) JSONSchemaAlias() any { return &aliasLoop{} }

type nilAlias struct{}

func (nilAlias) JSONSchemaAlias() any { return nil }

type panics struct{}

func (panics) JSONSchema() *jsonschema.Schema { panic("boom") }

type tagged struct {
	F []struct {
		G chan int `json:"g"`
	} `json:"f"`
}

type diamond0 struct{ A, B, C, D diamond1 }
type diamond1 struct{ A, B, C, D diamond2 }
type diamond2 struct{ A, B, C, D diamond3 }
type diamond3 struct{ A, B, C, D diamond4 }
type diamond4 struct{ A, B, C, D diamond5 }
type diamond5 struct{ A, B, C, D diamond6 }
type diamond6 struct{ A, B, C, D diamond7 }
type diamond7 struct{ A, B, C, D struct{ A, B, C, D int } }

func inferError[T any]() error {
	_, err := GoStruct2ToolInfo[T]("the_tool", "")
	return err
}

// Rule components/B13.3.1.
func TestInfer_RefusesTypesThatCannotBeDescribed(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"recursive": {inferError[node](),
			[]string{"the_tool", "utils.node", "at children[]: type utils.node contains itself"}},
		"recursive below": {inferError[tree](), []string{"at roots{}[].children[]: type utils.node contains itself"}},
		"embeds itself":   {inferError[embedsItself](), []string{"type utils.embedsItself embeds itself"}},
		"recursive slice": {inferError[struct {
			F sliceLoop `json:"f"`
		}](), []string{"at f[]: type utils.sliceLoop contains itself"}},
		"pointer to itself": {inferError[struct {
			F pointerLoop `json:"f"`
		}](), []string{"at f: type utils.pointerLoop contains itself"}},
		"alias of itself": {inferError[aliasLoop](), []string{"type utils.aliasLoop contains itself"}},
		"nil alias": {inferError[struct {
			F nilAlias `json:"f"`
		}](), []string{"at f: an alias is nil"}},
		"channel":  {inferError[tagged](), []string{"at f[].g: type chan int has no JSON form"}},
		"function": {inferError[func()](), []string{"type func() has no JSON form"}},
		"complex": {inferError[struct {
			F map[string]complex64 `json:"f"`
		}](), []string{"at f{}: type complex64"}},
		"hook panics": {inferError[struct {
			F panics `json:"f"`
		}](), []string{"the_tool", "boom"}},
		"exponentially wide": {inferError[diamond0](), []string{"too large"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, want := range tc.want {
				require.ErrorContains(t, tc.err, want)
			}
		})
	}
	// Using a type twice is not a cycle, nor is a cycle that is not described.
	described[struct{ A, B node2 }](t)
}

var _, _ = embedsItself{}.embedsItself, node2{}.hidden

type node2 struct {
	Parent *node2 `json:"-"`
	Next   *node2 `jsonschema:"-"`
	hidden *node2
	Value  int
}

// Rule components/B13.3.1.
func TestInfer_AnyIsAnOpenObject(t *testing.T) {
	require.Equal(t, `{"properties":{},"type":"object"}`, described[any](t))
	require.Equal(t, `{"properties":{},"type":"object"}`, described[*any](t))
	var names []string
	described[any](t, WithSchemaModifier(func(name string, _ reflect.Type, _ reflect.StructTag, _ *jsonschema.Schema) {
		names = append(names, name)
	}))
	require.Equal(t, []string{"_root"}, names)
	_, err := GoStruct2ParamsOneOf[any](WithSchemaModifier(func(
		string, reflect.Type, reflect.StructTag, *jsonschema.Schema,
	) {
		panic("boom")
	}))
	require.ErrorContains(t, err, "boom")
}

func TestGoStruct2ToolInfo(t *testing.T) {
	info, err := GoStruct2ToolInfo[named]("name", "description")
	require.NoError(t, err)
	require.Equal(t, "name", info.Name)
	require.Equal(t, "description", info.Desc)
	s, err := info.ToJSONSchema()
	require.NoError(t, err)
	require.Empty(t, s.Version)
	require.Empty(t, s.ID)
	require.Empty(t, s.Definitions)
}
