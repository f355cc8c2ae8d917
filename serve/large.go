package serve

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// largeFrame is from how many bytes on the data of a frame is held once for all clients that are written it.
const largeFrame = 8 << 10

// largeFrames are the large data that clients are written right now. Clients of a run that take nothing all wait at the
// same event, such as the result of a tool with a document in it: they share its bytes.
type largeFrames struct {
	mu   sync.Mutex // guards all, and users
	seed maphash.Seed
	all  map[uint64]*sharedData
}

// sharedData is a slice of bytes that must not be changed.
type sharedData struct {
	data  []byte
	users int
}

// take returns the bytes that are held instead of data, which are the same, and a function that gives them back.
func (l *largeFrames) take(data []byte) (held []byte, giveBack func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all, l.seed = map[uint64]*sharedData{}, maphash.MakeSeed()
	}
	key := maphash.Bytes(l.seed, data)
	s := l.all[key]
	if s == nil {
		s = &sharedData{data: data}
		l.all[key] = s
	} else if !bytes.Equal(s.data, data) { // two texts with one sum
		return data, func() {}
	}
	s.users++
	return s.data, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(l.all, key)
		}
	}
}
