package sizecache

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type thing [100]byte

// Rule batteries/B13.25.
func TestCache_MeasuresOnceAndLetsGo(t *testing.T) {
	var c Cache[thing]
	measured := 0
	measure := func(*thing) int { measured++; return 7 }
	p, q := new(thing), new(thing)
	for range 3 {
		require.Equal(t, 7, c.Of(p, measure))
		require.Equal(t, 7, c.Of(q, measure))
	}
	require.Equal(t, 2, measured)
	runtime.KeepAlive(q)
	count := func() (n int) {
		c.sizes.Range(func(any, any) bool { n++; return true })
		return n
	}
	require.Eventually(t, func() bool { runtime.GC(); return count() == 0 }, 10*time.Second, time.Millisecond)
}

func TestCache_Concurrent(t *testing.T) {
	var c Cache[thing]
	p := new(thing)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { c.Of(p, func(*thing) int { return 1 }) })
	}
	all.Wait()
}

func TestTools_Tokens(t *testing.T) {
	info := &schema.ToolInfo{Name: "t", Desc: "does",
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"a": {Type: schema.String}})}
	doc, err := json.Marshal(info)
	require.NoError(t, err)
	info.Extra = map[string]any{"large": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
	var tools Tools
	require.Equal(t, len(doc)/4, tools.Tokens([]*schema.ToolInfo{info, nil}))
	require.Equal(t, 1, int(testing.AllocsPerRun(100, func() { tools.Tokens([]*schema.ToolInfo{info}) }))+1)
}
