package local

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// output gathers what a command writes, in bounded memory: the first and the last bytes, as the first error and the summary
// are what a reader looks for. It never blocks the command, whether or not anything reads.
type output struct {
	limit int           // of the head and of the tail, in bytes
	wrote func(*output) // called, outside the lock, when the head may have grown; nil if the caller does not stream

	mu      sync.Mutex
	head    int    // bytes of the head so far
	fresh   []byte // the part of the head that was not taken
	tail    []byte // what came after the head; its last limit bytes count
	beyond  int    // bytes after the head
	stopped bool
}

func newOutput(limit int, wrote func(*output)) *output {
	return &output{limit: max(1, limit/2), wrote: wrote}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	if o.stopped { // by a process that outlives its shell
		o.mu.Unlock()
		return len(p), nil
	}
	n := min(len(p), o.limit-o.head)
	o.fresh = append(o.fresh, p[:n]...)
	o.head += n
	o.keepTail(p[n:])
	o.mu.Unlock()
	if n > 0 && o.wrote != nil {
		o.wrote(o)
	}
	return len(p), nil
}

func (o *output) keepTail(p []byte) {
	o.beyond += len(p)
	if len(p) > o.limit {
		p = p[len(p)-o.limit:]
	}
	if len(o.tail)+len(p) > 2*o.limit { // seldom, as each time makes room for limit bytes
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-o.limit:]...)
	}
	o.tail = append(o.tail, p...)
}

// take returns what there is of the head and was not taken yet, but for a character that is not complete.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := wholeRunes(o.fresh)
	s := string(o.fresh[:n])
	o.fresh = append(o.fresh[:0], o.fresh[n:]...)
	return s
}

// stop ends the output and returns the rest of it: what was not taken. truncated reports whether some was left out.
func (o *output) stop() (rest string, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	tail := o.tail[max(0, len(o.tail)-o.limit):]
	left := o.beyond - len(tail)
	fresh := o.fresh
	o.fresh, o.tail = nil, nil // a reader that comes now is too late
	if left == 0 {
		return string(fresh) + string(tail), false
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	head := fresh[:wholeRunes(fresh)]
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, left, tail), true
}

// wholeRunes is the length of p without a character at its end that is not complete.
func wholeRunes(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}
