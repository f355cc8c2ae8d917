package serialization

import (
	"reflect"
	"sync"
)

// perType keeps what is made once for a type, by reflection, and used ever after by any goroutine.
type perType[V any] struct {
	made sync.Map // reflect.Type → V
	mu   sync.Mutex
	// make makes what belongs to t. What t consists of it gets from b. A type can consist of itself: so make adds what
	// it is going to return to b before it asks for anything.
	make func(b building[V], t reflect.Type) V
}

// of returns what belongs to t.
func (p *perType[V]) of(t reflect.Type) V {
	if v, ok := p.made.Load(t); ok {
		return v.(V)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := building[V]{p, map[reflect.Type]V{}}
	v := b.of(t)
	for t, v := range b.added { // only now are the ones for recursive types complete
		p.made.LoadOrStore(t, v)
	}
	return v
}

// building holds what has been made for a type and what it consists of, and may not be complete yet.
type building[V any] struct {
	known *perType[V]
	added map[reflect.Type]V
}

func (b building[V]) of(t reflect.Type) V {
	if v, ok := b.known.made.Load(t); ok {
		return v.(V)
	}
	if v, ok := b.added[t]; ok {
		return v
	}
	return b.add(t, b.known.make(b, t))
}

func (b building[V]) add(t reflect.Type, v V) V {
	b.added[t] = v
	return v
}
