package adk

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

// dice decide at random what a test does. They may be rolled from several goroutines.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// forSeeds runs a test in fake time once for each seed, with -short for a tenth of them, up to the first that fails.
func forSeeds(t *testing.T, seeds uint64, test func(t *testing.T, seed uint64, d *dice)) {
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, seed, &dice{rng: rand.New(rand.NewPCG(seed, 1))}) })
		})
		if !ok {
			return
		}
	}
}
