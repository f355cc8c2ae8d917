package parent

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/schema"
)

var (
	background = context.Background()
	errBoom    = errors.New("boom")
)

type search func(opts ...retriever.Option) ([]*schema.Document, error)

func (s search) Retrieve(_ context.Context, _ string, opts ...retriever.Option) ([]*schema.Document, error) {
	return s(opts...)
}

// Rules components/V10, components/B13.4.2.
func TestParent_RefusesABadConfiguration(t *testing.T) {
	_, err := NewRetriever(background, nil)
	require.ErrorContains(t, err, "config is nil")
	_, err = NewRetriever(background,
		&Config{OrigDocGetter: func(context.Context, []string) ([]*schema.Document, error) { return nil, nil }})
	require.EqualError(t, err, "retriever is required")
	_, err = NewRetriever(background, &Config{Retriever: search(nil)})
	require.EqualError(t, err, "orig doc getter is required")
}

// Rules components/V10, components/B13.4.8.
func TestParent_GetsEachParentOnce(t *testing.T) {
	part := func(parent any) *schema.Document {
		return &schema.Document{MetaData: map[string]any{"parent": parent, "other": "z"}}
	}
	var topK *int
	var parts []*schema.Document
	var searchErr error
	var asked []string
	whole := []*schema.Document{{ID: "whole"}, nil}
	r, err := NewRetriever(background, &Config{
		ParentIDKey: "parent",
		Retriever: search(func(opts ...retriever.Option) ([]*schema.Document, error) {
			topK = retriever.GetCommonOptions(nil, opts...).TopK
			return parts, searchErr
		}),
		OrigDocGetter: func(_ context.Context, ids []string) ([]*schema.Document, error) {
			asked = ids
			return whole, nil
		},
	})
	require.NoError(t, err)

	parts = []*schema.Document{part("b"), part("a"), nil, part(1), {}, part("b"), part("c"), part("a")}
	docs, err := r.Retrieve(background, "q", retriever.WithTopK(3))
	require.NoError(t, err)
	require.Equal(t, whole, docs)
	require.Equal(t, []string{"b", "a", "c"}, asked)
	require.Equal(t, 3, *topK)

	parts, asked = nil, []string{"not asked"}
	_, err = r.Retrieve(background, "q")
	require.NoError(t, err)
	require.Empty(t, asked)

	searchErr = errBoom
	_, err = r.Retrieve(background, "q")
	require.Equal(t, errBoom, err)
}

func TestParent_PanicsAreErrors(t *testing.T) {
	r, err := NewRetriever(background, &Config{
		Retriever:     search(func(...retriever.Option) ([]*schema.Document, error) { return nil, nil }),
		OrigDocGetter: func(context.Context, []string) ([]*schema.Document, error) { panic(errBoom) },
	})
	require.NoError(t, err)
	_, err = r.Retrieve(background, "q")
	require.ErrorIs(t, err, errBoom)
}
