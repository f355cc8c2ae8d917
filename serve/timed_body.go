package serve

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// timedBody is the body of a request that has to come within a time: a client that sends it drop by drop holds a connection
// and a goroutine, and the limits of a server end at the headers.
type timedBody struct {
	io.ReadCloser
	conn   *http.ResponseController
	within time.Duration
	phase  bodyPhase
}

// bodyPhase tracks how far a body is.
//
//	from     to       when
//	unread   reading  it is read for the first time: the connection has a deadline from then on
//	reading  read     it ends, fails or is closed: the connection has none
//	unread   read     it is closed
type bodyPhase int

const (
	bodyUnread bodyPhase = iota
	bodyReading
	bodyRead
)

func newTimedBody(w http.ResponseWriter, body io.ReadCloser, within time.Duration) *timedBody {
	return &timedBody{ReadCloser: body, conn: http.NewResponseController(w), within: within}
}

// Read reads the body. One that takes too long is a *Problem.
func (b *timedBody) Read(p []byte) (int, error) {
	if b.phase == bodyUnread {
		b.phase = bodyReading
		_ = b.conn.SetReadDeadline(time.Now().Add(b.within)) // a connection without deadlines has no slow client
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // the connection cannot be used any more
		b.phase = bodyRead
		return n, &Problem{Code: TooSlow, Title: "the body has not come in time", Cause: err}
	}
	b.end()
	return n, err
}

// Close closes the body.
func (b *timedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// end takes the deadline back: what follows may take as long as it takes.
func (b *timedBody) end() {
	if b.phase == bodyReading {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	b.phase = bodyRead
}
