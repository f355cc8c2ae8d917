package catalogue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
)

// window makes an info that can be recognized.
func window(n int) catalogue.ModelInfo { return catalogue.ModelInfo{ContextWindow: n} }

func TestStatic_FindsByProviderAndName(t *testing.T) {
	c := catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{
		{Provider: "p", Model: "a"}:            window(1),
		{Model: "a"}:                           window(2),
		{Provider: "p", Model: "b-20250101"}:   window(3),
		{Provider: "p", Model: "c"}:            window(4),
		{Provider: "p", Model: "c-20250101"}:   window(5),
		{Provider: "p", Model: "d-20250101"}:   window(6),
		{Provider: "p", Model: "d-2025-02-02"}: window(7),
		{Provider: "p", Model: "e-20250101"}:   window(8),
		{Provider: "p", Model: "e-2025-02-02"}: window(8),
	})
	for _, test := range []struct {
		name, provider, model string
		want                  int // 0 is not found
	}{
		{"of the provider before any", "p", "a", 1},
		{"of any provider", "q", "a", 2},
		{"without a provider", "", "a", 2},
		{"of any provider, normalized", "q", "models/A", 2},
		{"of another provider only", "q", "c", 0},
		{"another date", "p", "b@20250303", 3},
		{"no date", "p", "b", 3},
		{"the undated one", "p", "c", 4},
		{"the dated one", "p", "c-20250101", 5},
		{"a date that is not listed is the undated one", "p", "c-20250202", 4},
		{"several differ", "p", "d", 0},
		{"several differ, by its own name", "p", "d-20250101", 6},
		{"several agree", "p", "e", 8},
		{"unknown", "p", "f", 0},
		{"no name", "p", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := c.Lookup(test.provider, test.model)
			require.Equal(t, test.want != 0, ok)
			require.Equal(t, window(test.want), got)
		})
	}
}

func TestStatic_DoesNotSeeLaterChangesOfTheMap(t *testing.T) {
	models := map[catalogue.Key]catalogue.ModelInfo{{Model: "a"}: window(1)}
	c := catalogue.Static(models)
	models[catalogue.Key{Model: "b"}] = window(2)
	_, ok := c.Lookup("", "b")
	require.False(t, ok)
}

func TestFirst_TakesEachFieldFromTheFirstThatKnowsIt(t *testing.T) {
	free, dear := &catalogue.Price{}, &catalogue.Price{Input: 1}
	key := catalogue.Key{Model: "a"}
	windows := catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{key: window(1)})
	prices := catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{
		key: {ContextWindow: 2, MaxOutput: 3, Capabilities: catalogue.Capabilities{Images: true}, Price: free}})
	others := catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{
		key: {MaxOutput: 4, Capabilities: catalogue.Capabilities{Reasoning: true}, Price: dear}, {Model: "b"}: window(5)})
	c := catalogue.First(nil, windows, prices, others)

	got, ok := c.Lookup("", "a")
	require.True(t, ok)
	require.Equal(t, catalogue.ModelInfo{
		ContextWindow: 1, MaxOutput: 3, Capabilities: catalogue.Capabilities{Images: true}, Price: free}, got)
	require.Same(t, free, got.Price, "a free model has a price")
	got, ok = c.Lookup("", "b")
	require.True(t, ok)
	require.Equal(t, window(5), got)
	_, ok = c.Lookup("", "c")
	require.False(t, ok)
	_, ok = catalogue.First().Lookup("", "a")
	require.False(t, ok)
}

func TestLookup_AllocatesNothingForAKnownName(t *testing.T) {
	c := catalogue.First(catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{{Provider: "p", Model: "a"}: window(1)}))
	require.Zero(t, testing.AllocsPerRun(100, func() { c.Lookup("p", "a") }))
}
