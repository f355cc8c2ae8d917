package checkpoint

import (
	"context"
	"sync"
)

// keyedLock is a lock for each key. It holds nothing for keys that are not in use.
type keyedLock struct {
	mu    sync.Mutex
	users map[string]*keyUsers
}

// keyUsers counts the goroutines that have the lock of a key or wait for it.
type keyUsers struct {
	count int
	token chan struct{} // full while a goroutine has the lock
}

// lock waits for the lock of a key, at most as long as the context lasts.
func (l *keyedLock) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	if l.users == nil {
		l.users = map[string]*keyUsers{}
	}
	u := l.users[key]
	if u == nil {
		u = &keyUsers{token: make(chan struct{}, 1)}
		l.users[key] = u
	}
	u.count++
	l.mu.Unlock()

	select {
	case u.token <- struct{}{}:
		return func() {
			<-u.token
			l.leave(key, u)
		}, nil
	case <-ctx.Done():
		l.leave(key, u)
		return nil, ctx.Err()
	}
}

func (l *keyedLock) leave(key string, u *keyUsers) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u.count--; u.count == 0 {
		delete(l.users, key)
	}
}
