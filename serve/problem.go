package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/runs"
)

// Code names what is wrong with a request. Clients decide by it.
type Code string

// The codes.
const (
	BadRequest      Code = "bad_request"
	Unauthorized    Code = "unauthorized"
	Forbidden       Code = "forbidden"
	NotFound        Code = "not_found"
	Conflict        Code = "conflict"
	Busy            Code = "busy"
	QuestionsOpen   Code = "questions_open"
	Expired         Code = "expired"
	AlreadyAnswered Code = "already_answered"
	TooLarge        Code = "too_large"
	TooSlow         Code = "too_slow"
	TooMany         Code = "too_many"
	ShuttingDown    Code = "shutting_down"
	NotReady        Code = "not_ready"
	Internal        Code = "internal"
)

var statuses = map[Code]int{
	BadRequest: http.StatusBadRequest, Unauthorized: http.StatusUnauthorized, Forbidden: http.StatusForbidden,
	NotFound: http.StatusNotFound, Conflict: http.StatusUnprocessableEntity, Busy: http.StatusConflict,
	QuestionsOpen: http.StatusConflict, Expired: http.StatusGone, AlreadyAnswered: http.StatusConflict,
	TooLarge: http.StatusRequestEntityTooLarge, TooSlow: http.StatusRequestTimeout, TooMany: http.StatusTooManyRequests,
	ShuttingDown: http.StatusServiceUnavailable, NotReady: http.StatusServiceUnavailable, Internal: http.StatusInternalServerError,
}

// Problem is an error for a client: a problem document of RFC 9457. All errors of a [Caller] are Problems.
type Problem struct {
	Code Code
	// Title is a text for the client.
	Title string
	// Run is the run that it is about, if any.
	Run string
	// RetryAfter is the time to wait before the request is tried again, 0 if that is not known.
	RetryAfter time.Duration
	// Cause is for the logger, and is not sent.
	Cause error
}

// Error is the text with its cause.
func (p *Problem) Error() string {
	text := "serve: " + string(p.Code) + ": " + p.Title
	if p.Cause != nil {
		text += ": " + p.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Status is the HTTP status of the problem.
func (p *Problem) Status() int {
	if status, ok := statuses[p.Code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// MarshalJSON encodes what a client gets.
func (p *Problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   Code   `json:"code"`
		Run    string `json:"run,omitempty"`
	}{"https://weft.dev/problems/" + string(p.Code), p.Title, p.Status(), p.Code, p.Run})
}

// SetHeader sets the headers that go with the problem, whatever its body is: Retry-After.
func (p *Problem) SetHeader(h http.Header) {
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
}

// Refuse answers a request with a problem document.
func Refuse(w http.ResponseWriter, p *Problem) {
	p.SetHeader(w.Header())
	writeJSON(w, "application/problem+json", p.Status(), p)
}

// NewProblem makes a Problem with a text for the client.
func NewProblem(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Title: fmt.Sprintf(format, args...)}
}

// of has the problem be about a run.
func (p *Problem) of(run string) *Problem { p.Run = run; return p }

// ProblemOf makes a Problem of any error: what is not one already becomes internal, with a text that says nothing of it.
func ProblemOf(err error) *Problem {
	var p *Problem
	var tooLarge *http.MaxBytesError
	var run *runs.Error
	var open *conversation.OpenError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		p = NewProblem(TooLarge, "the body has more than %d bytes", tooLarge.Limit)
	case errors.Is(err, runs.ErrNotFound):
		p = NewProblem(NotFound, "there is no such run")
	case errors.Is(err, runs.ErrReplied), errors.Is(err, runs.ErrNotWaiting):
		p = NewProblem(AlreadyAnswered, "the run does not wait for that answer any more")
	case errors.Is(err, runs.ErrEnded):
		p = NewProblem(AlreadyAnswered, "the run has ended")
	case errors.Is(err, runs.ErrBusy), errors.As(err, &open):
		p = NewProblem(Busy, "another run of the thread has not ended")
	default:
		p = NewProblem(Internal, "something went wrong on the server")
	}
	if errors.As(err, &run) {
		p.Run = run.Info.ID
	}
	p.Cause = err
	return p
}

// SendJSON answers a request with JSON.
func SendJSON(w http.ResponseWriter, status int, value any) {
	writeJSON(w, "application/json", status, value)
}

// writeJSON answers a request.
func writeJSON(w http.ResponseWriter, contentType string, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"code":"internal","status":500}`)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
