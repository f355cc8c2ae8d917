package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// bank is a service somewhere else. It knows payments by their idempotency keys, and orders by the greatest fencing
// token that it has seen: a worker whose run was taken over is refused.
type bank struct {
	mu       sync.Mutex // guards the fields below
	receipts map[string]string
	paid     map[string]int
	tokens   map[string]uint64
	asked    int
	refused  int
}

func newBank() *bank {
	return &bank{receipts: map[string]string{}, paid: map[string]int{}, tokens: map[string]uint64{}}
}

// ServeHTTP pays with POST, and with GET returns the receipt of a payment.
func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, order := r.FormValue("key"), r.FormValue("order")
	if r.Method == http.MethodPost {
		token, err := strconv.ParseUint(r.FormValue("token"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.asked++
		if token < b.tokens[order] {
			b.refused++
			http.Error(w, "another worker has the order", http.StatusConflict)
			return
		}
		b.tokens[order] = token
		if _, known := b.receipts[key]; !known {
			b.paid[order]++
			b.receipts[key] = fmt.Sprintf("receipt for %s over %s", order, r.FormValue("amount"))
		}
	}
	fmt.Fprint(w, b.receipts[key])
}

// payments is how often an order was paid.
func (b *bank) payments(order string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paid[order]
}
