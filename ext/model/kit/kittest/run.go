package kittest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A Call has a client ask the server at baseURL, which has no path, for a streamed answer, and read it to its end. It
// returns the text so far, also with an error. It uses the client's default retries and a connection pool of its own or
// one that the test cleans up.
type Call func(ctx context.Context, baseURL string) (text string, err error)

// RunMisbehaviours plays all [Misbehaviours] to a client and checks what it makes of them. Each is a subtest.
func RunMisbehaviours(t *testing.T, good Stream, call Call) {
	t.Helper()
	for _, c := range Misbehaviours(good) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // they wait
			if err := c.Run(t.Context(), good, call); err != nil {
				t.Error(err)
			}
		})
	}
}

// patience limits the time that a client takes to return, and to close its connection, after the deadline.
const patience = 3 * time.Second

// Run plays the case to a client. The error says what the client did wrong.
func (c Case) Run(ctx context.Context, good Stream, call Call) error {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			c.Handler.ServeHTTP(w, r)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	defer server.CloseClientConnections()

	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the client panicked: %v", p)
			}
			done <- r
		}()
		r.text, r.err = call(ctx, server.URL)
	}()
	select {
	case r := <-done:
		if err := c.judge(good, r.text, r.err); err != nil {
			return err
		}
	case <-time.After(c.Timeout + patience):
		return fmt.Errorf("the call still runs %v after its deadline", patience)
	}
	if err := within(patience, server.Close); err != nil { // waits for requests that the client did not end
		return fmt.Errorf("the request still runs after the call: %w", err)
	}
	if c.Check != nil {
		return c.Check()
	}
	return nil
}

// within runs f and returns an error if that takes too long.
func within(d time.Duration, f func()) error {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
		return nil
	case <-time.After(d):
		return fmt.Errorf("not done after %v", d)
	}
}

// judge compares what a client returned with what is wanted of it.
func (c Case) judge(good Stream, text string, err error) error {
	late := errors.Is(err, context.DeadlineExceeded)
	if err != nil && strings.HasPrefix(err.Error(), "the client panicked") {
		return err
	}
	if err == nil && text != good.Text {
		return fmt.Errorf("no error, but the text is %q, not %q", text, good.Text)
	}
	if err != nil && !strings.HasPrefix(good.Text, text) {
		return fmt.Errorf("the text before the error, %q, is no beginning of %q", text, good.Text)
	}
	wrong := false
	switch c.Want {
	case Success:
		wrong = err != nil
	case Truncated:
		wrong = !errors.Is(err, io.ErrUnexpectedEOF)
	case Failure:
		wrong = err == nil || late
	case GivesUp:
		wrong = !late
	case Any:
		wrong = late
	}
	if wrong {
		return fmt.Errorf("want %s; got %w", c.Want, orNil(err))
	}
	return nil
}

var errNone = errors.New("no error")

func orNil(err error) error {
	if err == nil {
		return errNone
	}
	return err
}
