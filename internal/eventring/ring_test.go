package eventring

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Rule schema/X7.
func TestRing_KeepsOrderAgainstASlice(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var r Ring[int]
		var want []int
		for next := range 500 {
			if rnd.IntN(2) == 0 {
				r.Put(next)
				want = append(want, next)
			} else if len(want) > 0 {
				got, ok := r.Take()
				if !ok || got != want[0] {
					t.Fatalf("seed %d: took %d, %v; want %d", seed, got, ok, want[0])
				}
				want = want[1:]
			}
		}
		r.Close()
		for _, w := range want {
			if got, ok := r.Take(); !ok || got != w {
				t.Fatalf("seed %d: after Close took %d, %v; want %d", seed, got, ok, w)
			}
		}
		if _, ok := r.Take(); ok {
			t.Fatal("took more than was put")
		}
	}
}

// Rule schema/X7.
func TestRing_TakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Ring[string]
		got := make(chan string, 2)
		go func() {
			for {
				v, ok := r.Take()
				if !ok {
					close(got)
					return
				}
				got <- v
			}
		}()
		synctest.Wait()
		r.Put("a")
		synctest.Wait()
		if v := <-got; v != "a" {
			t.Fatal(v)
		}
		r.Close()
		if _, open := <-got; open {
			t.Fatal("a waiting Take outlived Close")
		}
		if r.Put("b") {
			t.Fatal("Put after Close")
		}
	})
}

// Rule schema/X7.
func TestRing_AbandonDropsAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Ring[int]
		r.Put(1)
		r.Put(2)
		if left := r.Abandon(); len(left) != 2 || left[0] != 1 {
			t.Fatal(left)
		}
		if r.Put(3) || r.Closed() {
			t.Fatal("an abandoned ring must drop items without being closed")
		}
		if _, ok := r.Take(); ok {
			t.Fatal("an abandoned ring gave an item")
		}
	})
}

func TestRing_ManyWritersAndReaders(t *testing.T) {
	var r Ring[int]
	var writers, readers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for i := range 1000 {
				r.Put(i)
			}
		})
	}
	var mu sync.Mutex
	sum := 0
	for range 4 {
		readers.Go(func() {
			for {
				v, ok := r.Take()
				if !ok {
					return
				}
				mu.Lock()
				sum += v
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	r.Close()
	readers.Wait()
	if sum != 4*999*1000/2 {
		t.Fatalf("items were lost or doubled: %d", sum)
	}
}

func BenchmarkRing_PutTake(b *testing.B) {
	var r Ring[int]
	b.ReportAllocs()
	for b.Loop() {
		r.Put(1)
		r.Take()
	}
}
