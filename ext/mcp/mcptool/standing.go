package mcptool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// How often a stream of notices is asked for again in a row, how long one must have lasted to be a good one without a
// single event, and the longest pause between two.
const (
	mostReopened = 5
	longLived    = 10 * time.Second
	longestWait  = 30 * time.Second
)

// standing is the stream of what a server sends by itself, which servers of older protocols may have. Opening it is no part
// of connecting: a server, or what is in front of it, may answer only when there is something to say. So this is read in
// the place of the answer, opens the stream when it is read first, and opens it again when it ends. It ends with its
// request. A server that does not have the stream is not asked again.
type standing struct {
	tripper *markingTripper
	request *http.Request
	current *events // nil if there is none
	opened  time.Time
	// before: there was a stream. failures counts the attempts and the short streams since the last good one. last is the
	// ID of the last event that had one.
	before   bool
	failures int
	last     string
}

// errNoStream says that the server does not have the stream.
var errNoStream = errors.New("the server has no stream of notices")

// response returns the response that the SDK gets at once.
func (s *standing) response() *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"text/event-stream"}},
		ContentLength: -1, Body: s, Request: s.request}
}

// Read reads events, and opens the stream if there is none.
func (s *standing) Read(p []byte) (int, error) {
	ctx := s.request.Context()
	for {
		if s.current == nil {
			if err := s.open(ctx); err != nil {
				return 0, err
			}
		}
		n, err := s.current.Read(p)
		if n > 0 {
			s.failures, s.last = 0, s.current.last
			return n, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err != nil {
			_ = s.current.Close()
			if s.current = nil; time.Since(s.opened) >= longLived {
				s.failures = 0
			}
			s.failures++
		}
	}
}

// Close ends the stream.
func (s *standing) Close() error {
	if s.current != nil {
		return s.current.Close()
	}
	return nil
}

// open opens the stream, after a pause that grows. It returns when that has worked, or the request has ended. A server
// that had the stream and does not give it again may be another one by now: the connection is of no use.
func (s *standing) open(ctx context.Context) error {
	for refused := 0; refused <= mostReopened; refused++ {
		if s.failures > 0 {
			if err := pause(ctx, min(time.Second<<min(s.failures-1, 10), longestWait)); err != nil {
				return err
			}
		}
		err := s.attempt(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, errNoStream) {
			break
		}
		s.failures++
	}
	if s.before {
		put(s.tripper.silent)
	}
	<-ctx.Done()
	return ctx.Err()
}

// attempt asks for the stream once.
func (s *standing) attempt(ctx context.Context) error {
	r := s.request.Clone(ctx)
	if s.last != "" {
		r.Header.Set("Last-Event-ID", s.last)
	}
	response, err := s.tripper.send(r)
	switch {
	case err != nil:
		return err
	case response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests:
		_ = response.Body.Close()
		return errors.New(response.Status)
	case response.StatusCode/100 != 2 || !isEventStream(response):
		_ = response.Body.Close()
		return errNoStream
	}
	s.current = newEvents(response.Body, s.tripper.wire, nil, nil)
	s.opened = time.Now()
	if s.before {
		s.tripper.wire.missed()
	}
	s.before = true
	return nil
}

func isEventStream(r *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "text/event-stream")
}

var _ io.ReadCloser = (*standing)(nil)
