package vector

import "cmp"

// A Top keeps the best of the records that it is offered, for backends that compare the query with every record. The
// zero Top keeps none: use [NewTop].
type Top[K cmp.Ordered] struct {
	limit int
	heap  []Scored[K] // the worst is at 0
}

// Scored is the key of a record with its score.
type Scored[K cmp.Ordered] struct {
	Key   K
	Score float64
}

// NewTop makes a Top that keeps so many.
func NewTop[K cmp.Ordered](limit int) *Top[K] { return &Top[K]{limit: limit} }

// Offer keeps the record if it is among the best so far. Of records with equal scores those with smaller keys are
// better.
func (t *Top[K]) Offer(key K, score float64) {
	s := Scored[K]{key, score}
	if len(t.heap) < t.limit {
		t.heap = append(t.heap, s)
		t.up(len(t.heap) - 1)
		return
	}
	if t.limit > 0 && s.betterThan(t.heap[0]) {
		t.heap[0] = s
		t.down(0)
	}
}

// Best returns what was kept, in no order.
func (t *Top[K]) Best() []Scored[K] { return t.heap }

func (s Scored[K]) betterThan(other Scored[K]) bool {
	if s.Score != other.Score {
		return s.Score > other.Score
	}
	return s.Key < other.Key
}

func (t *Top[K]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.heap[parent].betterThan(t.heap[i]) {
			return
		}
		t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
		i = parent
	}
}

func (t *Top[K]) down(i int) {
	for {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.heap[worst].betterThan(t.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[worst], t.heap[i] = t.heap[i], t.heap[worst]
		i = worst
	}
}
