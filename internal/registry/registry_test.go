package registry

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMap_SetReplacesAndGetNeverBlocks(t *testing.T) {
	var m Map[string, int]
	if _, ok := m.Get("a"); ok {
		t.Fatal("the zero Map is not empty")
	}
	m.Set("a", 1)
	m.Set("a", 2)
	m.Set("b", 3)
	if v, ok := m.Get("a"); !ok || v != 2 {
		t.Fatal(v, ok)
	}

	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				m.Set(string(rune('c'+i)), i)
				if v, _ := m.Get("a"); v != 2 {
					t.Errorf("a concurrent Set changed another key: %d", v)
				}
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		if v, ok := m.Get(string(rune('c' + i))); !ok || v != i {
			t.Fatalf("a concurrent Set was lost: %d, %v", v, ok)
		}
	}
}

func BenchmarkMap_Get(b *testing.B) {
	var m Map[string, int]
	m.Set("a", 1)
	b.ReportAllocs()
	for b.Loop() {
		m.Get("a")
	}
}
