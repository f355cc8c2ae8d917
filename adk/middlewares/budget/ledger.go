package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/weftgo/weft/adk"
)

// ledger is the place where an account is stored.
type ledger struct {
	store adk.CheckPointStore
	key   string
	// writing is held while the account is written, so that the last value is the one of the last call. It is locked
	// before the lock of accounts.
	writing sync.Mutex
}

// page is an account as it is stored.
type page struct {
	Version int
	Spent   Spent
}

const pageVersion = 1

// OpenAccount opens an account that a store keeps under an ID, which begins with what earlier processes have spent. Each
// call is written down before it is made, so that a run whose process dies again and again comes to its limits all the
// same: resume it with the account of the same ID in the context. A call whose account cannot be written is not made. In
// the store the key is "budget:" and the ID; the account stays there until it is deleted. Time in which no process has
// the account open does not count. One process at a time may have it open.
func OpenAccount(ctx context.Context, store adk.CheckPointStore, id string, limits Limits) (*Account, error) {
	if store == nil || id == "" {
		return nil, errors.New("budget: OpenAccount needs a store and an ID")
	}
	a := NewAccount(limits)
	a.ledger = &ledger{store: store, key: "budget:" + id}
	data, exists, err := store.Get(ctx, a.ledger.key)
	if err != nil {
		return nil, fmt.Errorf("budget: load account %q: %w", id, err)
	}
	if !exists || len(data) == 0 {
		return a, nil
	}
	var p page
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("budget: load account %q: %w", id, err)
	}
	if p.Version != pageVersion {
		return nil, fmt.Errorf("budget: load account %q: it is of version %d, and this program knows version %d",
			id, p.Version, pageVersion)
	}
	a.Add(p.Spent)
	return a, nil
}

// store writes an account and all above it down, as far as they are stored.
func (a *Account) store(ctx context.Context) error {
	for x := a; x != nil; x = x.parent {
		if x.ledger == nil {
			continue
		}
		if err := x.ledger.write(ctx, x); err != nil {
			return fmt.Errorf("budget: save the account under %q: %w", x.ledger.key, err)
		}
	}
	return nil
}

func (l *ledger) write(ctx context.Context, a *Account) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	data, err := json.Marshal(page{pageVersion, a.Spent()})
	if err != nil {
		return err
	}
	return l.store.Set(ctx, l.key, data)
}
