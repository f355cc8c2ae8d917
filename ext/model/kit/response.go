package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// drainTime limits the time that a server takes to end a response after its answer has ended. A connection whose response
// has ended can be used again.
const drainTime = 50 * time.Millisecond

// expiry says that a limit on time has passed. It is set once, by a timer.
type expiry struct{ passed atomic.Bool }

func (e *expiry) set()     { e.passed.Store(true) }
func (e *expiry) is() bool { return e.passed.Load() }

// A Response is an answer of a server whose body is being read, by one goroutine.
type Response struct {
	// Header is the header of the server.
	Header http.Header

	hide   Redactor
	ctx    context.Context // of the attempt: ends with the caller's, and when the response is closed
	stop   func()          // ends ctx
	body   io.ReadCloser
	once   sync.Once // closes the body
	lists  Limits
	stream bool
	tap    *rawTap // gets the documents, nil if they are not wanted

	timeout time.Duration
	expired *expiry // the timeout has passed
	// idle closes the body when the server has been silent for maxIdle; nil without a limit. silent says that it did.
	idle    *time.Timer
	maxIdle time.Duration
	silent  expiry
	unwatch func() bool
}

func newResponse(
	ctx context.Context, resp *http.Response, hide Redactor, conf ClientConfig, stream bool, expired *expiry, stop func(),
) *Response {
	r := &Response{
		Header: resp.Header, hide: hide, ctx: ctx, stop: stop, body: resp.Body, lists: conf.Lists, stream: stream,
		timeout: conf.Timeout, expired: expired, tap: tapOf(ctx),
	}
	r.unwatch = context.AfterFunc(ctx, r.closeBody)
	r.maxIdle = defaultIdleTimeout
	if conf.IdleTimeout != nil {
		r.maxIdle = *conf.IdleTimeout
	}
	return r
}

// IsStream reports whether the body is a stream of events. Some servers stream unasked, some do not when asked; a page
// in HTML comes from something in between.
func (r *Response) IsStream() bool {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case mediaType == "text/event-stream":
		return true
	case mediaType == "text/html", strings.HasSuffix(mediaType, "json"):
		return false
	}
	return r.stream
}

// Read implements [io.Reader]. It limits only the time that it waits itself: a reader that is slow is no server that
// is silent.
func (r *Response) Read(p []byte) (int, error) {
	if !r.stream || r.maxIdle <= 0 {
		return r.body.Read(p)
	}
	if r.idle == nil {
		r.idle = time.AfterFunc(r.maxIdle, func() {
			r.silent.set()
			r.closeBody()
		})
	} else {
		r.idle.Reset(r.maxIdle)
	}
	defer r.idle.Stop()
	return r.body.Read(p)
}

// Close ends the request. It may be called repeatedly and by any goroutine.
func (r *Response) Close() {
	r.unwatch()
	r.closeBody()
	r.stop()
}

// closeBody swallows panics of a user's transport: no caller is left to report them to.
func (r *Response) closeBody() {
	defer func() { _ = recover() }()
	r.once.Do(func() { r.body.Close() })
}

// Finish closes the response after its answer has ended. It waits a moment for the end of the body, so that the
// connection can be used again.
func (r *Response) Finish() {
	defer r.Close()
	defer func() { _ = recover() }() // of a user's transport
	late := time.AfterFunc(drainTime, r.Close)
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, r.body, 4<<10)
}

// Failure returns the error for what went wrong while the response was read.
func (r *Response) Failure(doing string, err error) error {
	switch {
	case r.expired.is():
		err = errTimeout(r.timeout)
	case r.silent.is():
		err = fmt.Errorf("the server was silent for %s (Config.IdleTimeout), %w", r.maxIdle, errIdle)
	case r.ctx.Err() != nil:
		return ended(r.hide.provider, r.ctx)
	}
	return r.hide.Failure(doing, err)
}

// Refusal returns the error that the server sent inside the response.
func (r *Response) Refusal(e *APIError) error {
	if e.RequestID == "" {
		e.RequestID = RequestID(r.Header)
	}
	e.finish(r.hide)
	return e
}

// NoAnswerError is the cause of the error for a response of success that is no answer: a page of something in between, a
// document of another API, or events that say nothing. The same request may succeed.
type NoAnswerError struct{ cause error }

// Error implements error.
func (e *NoAnswerError) Error() string { return e.cause.Error() }

// Unwrap returns what is wrong with the response.
func (e *NoAnswerError) Unwrap() error { return e.cause }

// Retryable returns true. Package adk/dispatch asks it.
func (e *NoAnswerError) Retryable() bool { return true }

// ErrorType is the class of the error, for traces and logs: see adk.ErrorType.
func (e *NoAnswerError) ErrorType() string { return "no_answer" }

// NotUnderstood returns the error for a piece of the response that could not be decoded. It wraps a [NoAnswerError].
func (r *Response) NotUnderstood(data []byte, err error) error {
	return r.Failure("decode the response", &NoAnswerError{fmt.Errorf("%w in %q", err, r.hide.Excerpt(data))})
}

// NoAnswer returns the error for a response that ended and had no answer in it. It wraps a [NoAnswerError].
func (r *Response) NoAnswer() error {
	return r.Failure("read the response", &NoAnswerError{errors.New("it has no answer in it")})
}

// Cut returns the error for a stream that ended before the answer did; missing is what should have come.
func (r *Response) Cut(missing string) error {
	return r.Failure("read the response",
		fmt.Errorf("the stream was cut off: it ended without %s: %w", missing, io.ErrUnexpectedEOF))
}

// Document reads the body as one JSON document.
func (r *Response) Document() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	data = bytes.TrimPrefix(data, byteOrderMark)
	switch {
	case len(data) > maxDocument:
		err = errTooLarge
	case err == nil && len(bytes.TrimSpace(data)) == 0:
		err = io.ErrUnexpectedEOF
	case err == nil:
		err = r.lists.check(data)
	}
	if err != nil {
		return nil, r.Failure("read the response", err)
	}
	r.tap.add(data)
	return data, nil
}

// InBand is embedded in what a document is decoded into, for servers that send an error instead of the answer with a
// status of success. [Response.Decode] returns it.
type InBand struct {
	Error json.RawMessage `json:"error"`
}

func (i *InBand) inBand() *APIError { return ParseError(i.Error) }

// Decode reads the body as one JSON document, decodes it and closes the response. Without a place to decode into it just
// does the latter.
func (r *Response) Decode(into any) error {
	defer r.Close()
	if into == nil {
		r.Finish()
		return nil
	}
	data, err := r.Document()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return r.NotUnderstood(data, err)
	}
	if refused, ok := into.(interface{ inBand() *APIError }); ok {
		if failure := refused.inBand(); failure != nil {
			return r.Refusal(failure)
		}
	}
	r.Finish()
	return nil
}
