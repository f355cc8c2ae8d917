package option

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

type common struct{ name string }

type Option Setter[common]

func withName(name string) Option     { return Option(Common(func(c *common) { c.name = name })) }
func wrap[T any](set func(*T)) Option { return Option(Impl[common](set)) }

type implA struct{ n int }
type implB struct{ n int }

// Rule components/O1.
func TestOptions_NilBaseBecomesZeroValue(t *testing.T) {
	require.Equal(t, &common{}, ApplyCommon[common, Option](nil, nil))
	require.Equal(t, &implA{}, ApplyImpl[implA](nil, []Option(nil)))
	require.Equal(t, &common{"x"}, ApplyCommon(nil, []Option{withName("x")}))
}

// Rule components/O2.
func TestOptions_BaseIsMutatedInPlace(t *testing.T) {
	c, a := &common{}, &implA{}
	require.Same(t, c, ApplyCommon(c, []Option{withName("x")}))
	require.Equal(t, "x", c.name)
	require.Same(t, a, ApplyImpl(a, []Option{wrap(func(a *implA) { a.n = 3 })}))
	require.Equal(t, 3, a.n)
}

// Rule components/O3.
func TestOptions_ApplyFromLeftToRight(t *testing.T) {
	require.Equal(t, "b", ApplyCommon(&common{"base"}, []Option{withName("a"), withName("b")}).name)
	require.Equal(t, "base", ApplyCommon(&common{"base"}, []Option(nil)).name)
	double, add := wrap(func(a *implA) { a.n *= 2 }), wrap(func(a *implA) { a.n++ })
	require.Equal(t, 7, ApplyImpl(&implA{3}, []Option{double, add}).n)
}

// Rule components/O4.
func TestOptions_IgnoreThoseOfOtherTypes(t *testing.T) {
	opts := []Option{withName("x"), wrap(func(a *implA) { a.n = 1 }), wrap(func(b *implB) { b.n = 2 })}
	require.Equal(t, &common{"x"}, ApplyCommon(nil, opts))
	require.Equal(t, &implA{1}, ApplyImpl[implA](nil, opts))
	require.Equal(t, &implB{2}, ApplyImpl[implB](nil, opts))
	// An implementation whose options have the type of the common ones still gets only its own.
	require.Equal(t, &common{}, ApplyImpl[common](nil, opts))
}

// Rules components/O5, components/B13.3.10.
func TestOptions_ZeroAndNilOptionsDoNothing(t *testing.T) {
	opts := []Option{{}, wrap[implA](nil), Option(Common[common](nil))}
	require.Equal(t, &common{"base"}, ApplyCommon(&common{"base"}, opts))
	require.Equal(t, &implA{4}, ApplyImpl(&implA{4}, opts))
}

// Rule components/O6.
func TestOptions_MayBeUsedByManyGoroutines(t *testing.T) {
	opts := []Option{withName("x"), wrap(func(a *implA) { a.n = 1 })}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if ApplyCommon(nil, opts).name != "x" || ApplyImpl[implA](nil, opts).n != 1 {
				t.Error("an option lost its value")
			}
		})
	}
	wg.Wait()
}
