package toolparams

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClosed_RulesOutOtherArguments(t *testing.T) {
	s, err := Closed(map[string]*schema.ParameterInfo{
		"a": {Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.Object,
			SubParams: map[string]*schema.ParameterInfo{"b": {Type: schema.String}}}},
		"m": {Type: schema.Object},
	}).ToJSONSchema()
	require.NoError(t, err)
	doc, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"properties":{"m":{"type":"object"},
		"a":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"b":{"type":"string"}}}}}}`,
		string(doc))
	_, err = Closed(map[string]*schema.ParameterInfo{"a": nil}).ToJSONSchema()
	require.ErrorContains(t, err, "tool parameter a: parameter info is nil")
	s, err = Closed(nil).ToJSONSchema()
	require.NoError(t, err)
	require.Nil(t, s)
}
