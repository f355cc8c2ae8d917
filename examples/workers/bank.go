package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// bank is a service somewhere else. It tells what became of a payment by its idempotency key, and knows orders by the
// greatest fencing token that it has seen: a worker whose run was taken over is refused. It pays whatever it accepts, also
// a second time under the same key, so that it notices if a call is made twice.
type bank struct {
	mu       sync.Mutex // guards the fields below
	receipts map[string]string
	orders   map[string]*account
	refused  int
}

// account holds what the bank knows of an order.
type account struct {
	payments int
	token    uint64
}

func newBank() *bank {
	return &bank{receipts: map[string]string{}, orders: map[string]*account{}}
}

// ServeHTTP pays with POST, and with GET returns the receipt of a payment.
func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, order := r.FormValue("key"), b.order(r.FormValue("order"))
	if r.Method == http.MethodPost {
		token, err := strconv.ParseUint(r.FormValue("token"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if token < order.token {
			b.refused++
			http.Error(w, "another worker has the order", http.StatusConflict)
			return
		}
		order.token = token
		order.payments++
		b.receipts[key] = fmt.Sprintf("receipt for %s over %s", r.FormValue("order"), r.FormValue("amount"))
	}
	fmt.Fprint(w, b.receipts[key])
}

// order returns what is known of an order. mu must be held.
func (b *bank) order(id string) *account {
	a := b.orders[id]
	if a == nil {
		a = &account{}
		b.orders[id] = a
	}
	return a
}

// books returns how often an order was paid, and how many requests were refused in all.
func (b *bank) books(order string) (payments, refused int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.order(order).payments, b.refused
}
