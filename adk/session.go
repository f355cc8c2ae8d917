package adk

import (
	"context"
	"maps"
	"sync"
)

// session holds the values that all agents of one run share. A nil session holds nothing.
type session struct {
	mu     sync.Mutex // guards values
	values map[string]any
}

type sessionKey struct{}

// sessionFrom returns the session of the run around, nil outside one. Code of users may bring a nil ctx.
func sessionFrom(ctx context.Context) *session {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

func (s *session) add(values map[string]any) {
	if s == nil || len(values) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string]any, len(values))
	}
	maps.Copy(s.values, values)
}

// empty is cheaper than looking at a copy of the values.
func (s *session) empty() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values) == 0
}

// AddSessionValue sets a value of the session: what all agents, tools and hooks of a run share. Outside a run started
// by a [Runner] it does nothing. It is safe for concurrent use, like the other functions on the session.
func AddSessionValue(ctx context.Context, key string, value any) {
	AddSessionValues(ctx, map[string]any{key: value})
}

// AddSessionValues sets several values of the session.
func AddSessionValues(ctx context.Context, kvs map[string]any) { sessionFrom(ctx).add(kvs) }

// GetSessionValue returns a value of the session.
func GetSessionValue(ctx context.Context, key string) (any, bool) {
	s := sessionFrom(ctx)
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	return v, ok
}

// GetSessionValues returns a copy of all values of the session. It is never nil.
func GetSessionValues(ctx context.Context) map[string]any { return sessionFrom(ctx).all() }

func (s *session) all() map[string]any {
	all := map[string]any{}
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		maps.Copy(all, s.values)
	}
	return all
}
