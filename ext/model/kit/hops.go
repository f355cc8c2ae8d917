package kit

import "sync"

// Hops is the response that an answer is being read from. It changes where an answer takes several requests. Adapters
// embed it in their [Chunks]: Close may be called by any goroutine, everything else by the one that reads.
type Hops struct {
	mu     sync.Mutex // guards now and closed; the reader alone sets now, so it reads it without
	now    *Response
	closed bool
}

// Follow makes a response the current one. If the answer was closed meanwhile it closes the response and reports false.
func (h *Hops) Follow(resp *Response) bool {
	h.mu.Lock()
	h.now = resp
	closed := h.closed
	h.mu.Unlock()
	if closed {
		resp.Close()
	}
	return !closed
}

// Response returns the current one.
func (h *Hops) Response() *Response { return h.now }

// Finish implements [Chunks].
func (h *Hops) Finish() { h.now.Finish() }

// Close implements [Chunks].
func (h *Hops) Close() { h.End() }

// End is Close, and reports whether it is the first.
func (h *Hops) End() (first bool) {
	h.mu.Lock()
	first = !h.closed
	h.closed = true
	resp := h.now
	h.mu.Unlock()
	resp.Close()
	return first
}
