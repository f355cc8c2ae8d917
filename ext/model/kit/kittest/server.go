package kittest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// A ServerRequest is a request that a server got.
type ServerRequest struct {
	Method, URL, Host string
	Header            http.Header
	Body              []byte
	Faults            []Fault
}

// A FakeServer is a server of [Server]. It is safe for concurrent use.
type FakeServer struct {
	URL string // address without a path and without a slash at the end

	t         testing.TB
	validator Validator
	strict    bool // a fault fails the test

	mu       sync.Mutex // mu guards script, requests
	script   []http.Handler
	requests []ServerRequest
}

// Server starts a server on 127.0.0.1 that answers each valid request with the next handler of the script, and stops it
// at the end of the test. A request with faults is refused as the service would refuse it, and fails the test, as does
// one after the end of the script. The validator may be nil. If it is an [Observer] it learns from the answers.
func Server(t testing.TB, v Validator, script ...http.Handler) *FakeServer {
	t.Helper()
	return startServer(t, v, true, script)
}

// RefusingServer is like [Server], but a refused request does not fail the test: look at [FakeServer.Requests].
func RefusingServer(t testing.TB, v Validator, script ...http.Handler) *FakeServer {
	t.Helper()
	return startServer(t, v, false, script)
}

func startServer(t testing.TB, v Validator, strict bool, script []http.Handler) *FakeServer {
	s := &FakeServer{t: t, validator: v, strict: strict, script: script}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// Always returns a handler that, in a script, answers all requests from then on.
func Always(h http.Handler) http.Handler { return always{h} }

type always struct{ http.Handler }

// Add appends to the script.
func (s *FakeServer) Add(script ...http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, script...)
}

// Requests returns the requests so far, those that were refused, too.
func (s *FakeServer) Requests() []ServerRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Left returns how many answers of the script were not asked for.
func (s *FakeServer) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

func (s *FakeServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	var faults []Fault
	if s.validator != nil {
		faults = s.validator.Validate(r, body)
	}
	s.mu.Lock()
	s.requests = append(s.requests, ServerRequest{
		Method: r.Method, URL: r.URL.String(), Host: r.Host, Header: r.Header.Clone(), Body: body, Faults: faults,
	})
	var handler http.Handler
	if len(faults) == 0 && len(s.script) > 0 {
		handler = s.script[0]
		if _, stays := handler.(always); !stays {
			s.script = s.script[1:]
		}
	}
	number := len(s.requests)
	s.mu.Unlock()

	if len(faults) > 0 {
		if s.strict {
			s.t.Errorf("request %d, %s, would be refused: %s\n%s", number, r.URL.Path, describe(faults), body)
		}
		s.validator.Refuse(w, faults)
		return
	}
	if handler == nil {
		s.t.Errorf("request %d, %s, is beyond the end of the script\n%s", number, r.URL.Path, body)
		http.Error(w, "the script has ended", http.StatusGone)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.answer(handler, w, r)
}

// answer has the validator see the answer before the client has seen its end.
func (s *FakeServer) answer(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	observer, ok := s.validator.(Observer)
	if !ok {
		handler.ServeHTTP(w, r)
		return
	}
	seen := &seenWriter{ResponseWriter: w}
	handler.ServeHTTP(seen, r)
	observer.Observe(seen.body.Bytes())
	_ = seen.release() // or the client is gone
}

// seenWriter keeps what is written, and holds the last piece back: a client that has it continues at once.
type seenWriter struct {
	http.ResponseWriter
	body bytes.Buffer
	held []byte
}

func (w *seenWriter) Write(data []byte) (int, error) {
	if err := w.release(); err != nil {
		return 0, err
	}
	w.body.Write(data)
	w.held = bytes.Clone(data)
	return len(data), nil
}

func (w *seenWriter) release() error {
	held := w.held
	w.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := w.ResponseWriter.Write(held)
	return err
}

// Unwrap is for http.ResponseController.
func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *seenWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
