package mcptool

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The SDK hands notices on in a goroutine of their own, and results in that which reads them: so the last notices of a call
// may be on their way when its result is there. They are counted where they are read, by their tokens, and the end of a
// call waits until as many were handed on.

const (
	progressMethod = "notifications/progress"
	// longestNotice is the most of a line that may be a notice of progress.
	longestNotice = 64 << 10
	// noticeTime is the time for which the end of a call waits for notices that were read: the SDK drops them when a
	// connection ends.
	noticeTime = time.Second
)

// announceMessage announces a message that is a notice of progress.
func (t *callTable) announceMessage(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == progressMethod {
		t.announce(r.Params)
	}
}

// announce counts a notice that was read.
func (t *callTable) announce(params json.RawMessage) {
	var p struct {
		ProgressToken any `json:"progressToken"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.calls[token]; c != nil {
		c.coming++
	}
}

// passedOn counts a notice that was handed to its call.
func (t *callTable) passedOn(c *inFlight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.coming = max(c.coming-1, 0); c.coming == 0 && c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
}

// settle waits until the notices of a call that were read have been handed to it.
func (t *callTable) settle(token string) {
	t.mu.Lock()
	c := t.calls[token]
	if c == nil || c.coming == 0 {
		t.mu.Unlock()
		return
	}
	settled := make(chan struct{})
	c.settled = settled
	t.mu.Unlock()
	timer := time.NewTimer(noticeTime)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
	}
}

// announcing is an event stream whose notices of progress are announced as they are read.
type announcing struct {
	io.ReadCloser
	calls *callTable
	line  []byte
	long  bool // the line is longer than a notice
}

func (a *announcing) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		if a.long = a.long || len(a.line)+len(part) > longestNotice; !a.long {
			a.line = append(a.line, part...)
		}
		if rest = after; ended {
			a.take()
			a.line, a.long = a.line[:0], false
		}
	}
	return n, err
}

// take announces the line if it is a notice.
func (a *announcing) take() {
	data, isData := bytes.CutPrefix(a.line, []byte("data:"))
	if a.long || !isData || !bytes.Contains(data, []byte(progressMethod)) {
		return
	}
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(data, &m) == nil && m.Method == progressMethod {
		a.calls.announce(m.Params)
	}
}
