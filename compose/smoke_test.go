package compose

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

type memStore map[string][]byte

func (m memStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	v, ok := m[id]
	return v, ok, nil
}
func (m memStore) Set(_ context.Context, id string, v []byte) error { m[id] = v; return nil }

func lam(s string) *Lambda {
	return InvokableLambda(func(_ context.Context, in string) (string, error) { return in + s, nil })
}

func TestSmokeBranchDag(t *testing.T) {
	ctx := context.Background()
	g := NewGraph[string, string]()
	for _, k := range []string{"a", "b", "c", "d"} {
		require.NoError(t, g.AddLambdaNode(k, lam(k)))
	}
	require.NoError(t, g.AddEdge(START, "a"))
	require.NoError(t, g.AddBranch("a", NewGraphBranch(func(_ context.Context, in string) (string, error) { return "c", nil }, map[string]bool{"b": true, "c": true})))
	require.NoError(t, g.AddEdge("b", "d"))
	require.NoError(t, g.AddEdge("c", "d"))
	require.NoError(t, g.AddEdge("d", END))
	r, err := g.Compile(ctx, WithNodeTriggerMode(AllPredecessor))
	require.NoError(t, err)
	out, err := r.Invoke(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, "xacd", out)
	s, err := r.Stream(ctx, "x")
	require.NoError(t, err)
	out, err = concatStream(s)
	require.NoError(t, err)
	require.Equal(t, "xacd", out)
}

func TestSmokeInterrupt(t *testing.T) {
	ctx := context.Background()
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("i", InvokableLambda(func(ctx context.Context, in string) (string, error) {
		was, has, st := GetInterruptState[string](ctx)
		if !was {
			return "", StatefulInterrupt(ctx, "why", in)
		}
		_, hasData, data := GetResumeContext[string](ctx)
		return fmt.Sprint(st, has, hasData, data), nil
	})))
	require.NoError(t, inner.AddEdge(START, "i"))
	require.NoError(t, inner.AddEdge("i", END))
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("a", lam("a")))
	require.NoError(t, g.AddGraphNode("sub", inner))
	require.NoError(t, g.AddLambdaNode("z", lam("z")))
	require.NoError(t, g.AddEdge(START, "a"))
	require.NoError(t, g.AddEdge("a", "sub"))
	require.NoError(t, g.AddEdge("sub", "z"))
	require.NoError(t, g.AddEdge("z", END))
	st := memStore{}
	r, err := g.Compile(ctx, WithCheckPointStore(st), WithGraphName("root"), WithInterruptBeforeNodes([]string{"z"}))
	require.NoError(t, err)
	_, err = r.Invoke(ctx, "x", WithCheckPointID("1"))
	require.Error(t, err)
	info, ok := ExtractInterruptInfo(err)
	require.True(t, ok)
	require.Len(t, info.InterruptContexts, 1)
	require.Equal(t, "runnable:root;node:sub;node:i", info.InterruptContexts[0].Address.String())
	_, err = r.Invoke(ResumeWithData(ctx, info.InterruptContexts[0].ID, "D"), "ignored", WithCheckPointID("1"))
	info, ok = ExtractInterruptInfo(err)
	require.True(t, ok, err)
	require.Equal(t, []string{"z"}, info.BeforeNodes)
	out, err := r.Invoke(ctx, "ignored", WithCheckPointID("1"))
	require.NoError(t, err)
	require.Equal(t, "xatrue trueDz", out)
}
