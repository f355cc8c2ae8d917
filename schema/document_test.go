package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rule schema/D1.
func TestDocument_SettersStoreInMetaData(t *testing.T) {
	d := (&Document{}).WithSubIndexes([]string{"a"}).WithScore(0.5).WithExtraInfo("e").WithDSLInfo(map[string]any{"q": 1}).
		WithDenseVector([]float64{1, 2}).WithSparseVector(map[int]float64{3: 0.1})
	require.Equal(t, map[string]any{
		"_sub_indexes": []string{"a"}, "_score": 0.5, "_extra_info": "e", "_dsl": map[string]any{"q": 1},
		"_dense_vector": []float64{1, 2}, "_sparse_vector": map[int]float64{3: 0.1},
	}, d.MetaData)
	require.Equal(t, []string{"a"}, d.SubIndexes())
	require.Equal(t, 0.5, d.Score())
	require.Equal(t, "e", d.ExtraInfo())
	require.Equal(t, map[string]any{"q": 1}, d.DSLInfo())
	require.Equal(t, []float64{1, 2}, d.DenseVector())
	require.Equal(t, map[int]float64{3: 0.1}, d.SparseVector())

	vector := []float64{1}
	require.Same(t, &vector[0], &d.WithDenseVector(vector).DenseVector()[0])
	require.Same(t, d, d.WithScore(1))
}

// Rule schema/D1.
func TestDocument_GettersReturnZeroForOtherTypes(t *testing.T) {
	wrong := map[string]any{
		"_sub_indexes": 1, "_score": "x", "_extra_info": 1, "_dsl": "x", "_dense_vector": []any{"x"},
		"_sparse_vector": map[string]any{"x": 1.0},
	}
	mixed := map[string]any{"_sub_indexes": []any{"a", 1}, "_dense_vector": []string{"x"},
		"_sparse_vector": map[string]any{"1": "x"}}
	for _, d := range []*Document{nil, {}, {MetaData: map[string]any{}}, {MetaData: wrong}, {MetaData: mixed}} {
		require.Nil(t, d.SubIndexes())
		require.Zero(t, d.Score())
		require.Empty(t, d.ExtraInfo())
		require.Nil(t, d.DSLInfo())
		require.Nil(t, d.DenseVector())
		require.Nil(t, d.SparseVector())
	}
}

// What went through JSON is still understood.
// Rule schema/B15.4.3.
func TestDocument_GettersReadWhatJSONDecoded(t *testing.T) {
	d := (&Document{ID: "1", Content: "c"}).WithSubIndexes([]string{"a",
		"b"}).WithScore(2).WithExtraInfo("e").WithDSLInfo(map[string]any{"q": "x"}).
		WithDenseVector([]float64{1, 2.5}).WithSparseVector(map[int]float64{3: 0.1, -1: 2})
	data, err := json.Marshal(d)
	require.NoError(t, err)
	var back Document
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, d.SubIndexes(), back.SubIndexes())
	require.Equal(t, d.Score(), back.Score())
	require.Equal(t, d.ExtraInfo(), back.ExtraInfo())
	require.Equal(t, d.DSLInfo(), back.DSLInfo())
	require.Equal(t, d.DenseVector(), back.DenseVector())
	require.Equal(t, d.SparseVector(), back.SparseVector())

	for _, score := range []any{2, int32(2), int64(2), uint32(2), uint64(2), float32(2), json.Number("2"),
		json.Number("2.0")} {
		require.Equal(t, 2.0, (&Document{MetaData: map[string]any{"_score": score}}).Score())
	}
	require.Zero(t, (&Document{MetaData: map[string]any{"_score": json.Number("x")}}).Score())
	require.Equal(t, []float64{1, 2},
		(&Document{MetaData: map[string]any{"_dense_vector": []any{1, json.Number("2")}}}).DenseVector())
}

// Rule schema/D2.
func TestDocument_StringIsTheContent(t *testing.T) {
	require.Equal(t, "c", (&Document{ID: "1", Content: "c", MetaData: map[string]any{"k": 1}}).String())
	data, err := json.Marshal(&Document{})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"","content":"","meta_data":null}`, string(data))
}
