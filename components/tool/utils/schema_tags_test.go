package utils

import (
	"reflect"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"
)

func TestInfer_RefusesTagsThatWouldBeIgnored(t *testing.T) {
	const keys = "; the keys are title, description, enum, default, example, pattern, format, uniqueItems, minLength"
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"unknown key": {inferError[struct {
			F string `json:"f" jsonschema:"desc=x"`
		}](), `at f: jsonschema tag: unknown key "desc"` + keys},
		"unknown key behind a text": {inferError[struct {
			F string `json:"f" jsonschema:"description=x,enums=a"`
		}](), `unknown key "enums"`},
		"a bare sentence": {inferError[struct {
			F string `json:"f" jsonschema:"the name of the city"`
		}](), `"the name of the city" is no key=value`},
		"a space behind the comma": {inferError[struct {
			F string `json:"f" jsonschema:"minLength=1, pattern=^a"`
		}](), `a space around "pattern"`},
		"a space behind a text": {inferError[struct {
			F string `json:"f" jsonschema:"description=x, pattern=^a"`
		}](), `a space around "pattern"`},
		"a flag behind a text": {inferError[struct {
			F string `json:"f" jsonschema:"description=x, required"`
		}](), `a space around "required"`},
		"a flag with a value": {inferError[struct {
			F string `json:"f" jsonschema:"required=true"`
		}](), `"required" takes no value`},
		"a key without a value": {inferError[struct {
			F string `json:"f" jsonschema:"description"`
		}](), `"description" has no value`},
		"a pattern with a comma": {inferError[struct {
			F string `json:"f" jsonschema:"pattern=^a{1,2}$"`
		}](), `"2}$" is no key=value`},
		"no number": {inferError[struct {
			F int `json:"f" jsonschema:"minimum=abc"`
		}](), "minimum=abc is no value of it: a number is wanted"},
		"no length": {inferError[struct {
			F string `json:"f" jsonschema:"maxLength=-1"`
		}](), "maxLength=-1 is no value of it: a whole number, not negative is wanted"},
		"no truth value": {inferError[struct {
			F string `json:"f" jsonschema:"readOnly=maybe"`
		}](), "readOnly=maybe is no value of it: true or false is wanted"},
		"default of a number": {inferError[struct {
			F *int `json:"f" jsonschema:"default=many"`
		}](), "default=many is no value of it: a number is wanted"},
		"default of a truth value": {inferError[struct {
			F bool `json:"f" jsonschema:"default=yes"`
		}](), "default=yes is no value of it: true or false is wanted"},
		"deep inside": {inferError[struct {
			F []struct {
				G string `json:"g" jsonschema:"desc=x"`
			} `json:"f"`
		}](), `the_tool: infer parameters from`},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, tc.err, tc.want)
			require.ErrorContains(t, tc.err, "the_tool")
			require.ErrorContains(t, tc.err, "at f")
		})
	}
}

func TestInfer_TextsKeepTheirCommas(t *testing.T) {
	require.JSONEq(t, `{"type":"string","title":"a,b","description":"article, with a comma, and = too","pattern":"^x"}`,
		property[struct {
			F string `json:"f" jsonschema:"description=article, with a comma, and = too,title=a,b,pattern=^x"`
		}](t))
	require.JSONEq(t, `{"oneOf":[{"type":"integer","description":"one, two","minimum":1},{"type":"null"}]}`,
		property[struct {
			F *int `json:"f" jsonschema:"description=one, two,nullable,minimum=1"`
		}](t))
	require.JSONEq(t, `{"type":"array","description":"one, two","items":{"type":"string","enum":["a"]}}`, property[struct {
		F []string `json:"f" jsonschema:"description=one, two,enum=a"`
	}](t))
	require.JSONEq(t, `{"type":"string","description":"doc of G"}`, property[commaDoc](t), "GetFieldDocString decides")
	described[struct {
		F string `json:"f" jsonschema:"description=one, two"`
	}](t, WithSchemaModifier(func(name string, typ reflect.Type, _ reflect.StructTag, s *jsonschema.Schema) {
		require.Contains(t, []string{"", "one, two"}, s.Description)
	}))
	described[struct { // empty words are harmless
		F string `json:"f" jsonschema:"required,,description=x,"`
	}](t)
}

type commaDoc struct {
	G string `json:"f" jsonschema:"description=one, two"`
}

func (commaDoc) GetFieldDocString(field string) string { return "doc of " + field }

// Every word of the reflector's vocabulary still works.
func TestInfer_AcceptsEveryKnownWord(t *testing.T) {
	for _, key := range tagKeys {
		value := "1"
		if key == "readOnly" || key == "writeOnly" {
			value = "true"
		}
		f := reflect.StructField{Name: "F", Type: reflect.TypeFor[int](),
			Tag: reflect.StructTag(`json:"f" jsonschema:"` + key + "=" + value + `"`)}
		require.NoError(t, checkTag(f), key)
	}
	require.Len(t, tagKeys, 27)
	require.JSONEq(t,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"string"}},
		"oneOf":[{"title":"g","required":["a","b"]}]}`, described[struct {
			A string `json:"a,omitempty" jsonschema:"oneof_required=g"`
			B string `json:"b,omitempty" jsonschema:"oneof_required=g"`
		}](t))
}
