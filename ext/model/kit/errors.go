package kit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Kind is the class of an [APIError], for every provider the same. A Kind is an error to compare with:
//
//	if errors.Is(err, kit.ErrContextLength) { … }
type Kind string

// The kinds of errors.
const (
	// ErrAuth is a key or token that is missing, wrong or expired.
	ErrAuth Kind = "auth"
	// ErrPermission is something that the key may not do.
	ErrPermission Kind = "permission"
	// ErrNotFound is a model or another thing that the server does not have.
	ErrNotFound Kind = "not_found"
	// ErrInvalid is a request that the server does not accept; the same request fails again.
	ErrInvalid Kind = "invalid"
	// ErrContextLength is a conversation too long for the model.
	ErrContextLength Kind = "context_length"
	// ErrTooLarge is a request with too many bytes.
	ErrTooLarge Kind = "too_large"
	// ErrRateLimited is too many requests or tokens in a short time.
	ErrRateLimited Kind = "rate_limited"
	// ErrQuota is an exhausted budget, credit or daily limit: waiting a little does not help.
	ErrQuota Kind = "quota"
	// ErrOverloaded is a server that has no room just now.
	ErrOverloaded Kind = "overloaded"
	// ErrServer is a fault of the server.
	ErrServer Kind = "server"
	// ErrTimeout is an answer that did not come in time.
	ErrTimeout Kind = "timeout"
	// ErrContentFilter is a prompt or an answer that the provider's rules refuse.
	ErrContentFilter Kind = "content_filter"
	// ErrMalformed is a call or a value that the model wrote in a form that the server cannot read. The same request may
	// succeed, as the model writes it again.
	ErrMalformed Kind = "malformed"
	// ErrCanceled is the kind of a request that was cancelled.
	ErrCanceled Kind = "canceled"
	// ErrUnknown is everything else.
	ErrUnknown Kind = "unknown"
)

// Error implements error.
func (k Kind) Error() string { return "kind " + string(k) }

// ErrorType is the HTTP status, or the kind where there is none, for traces and logs: see adk.ErrorType.
func (e *APIError) ErrorType() string {
	if e.StatusCode > 0 {
		return strconv.Itoa(e.StatusCode)
	}
	return string(e.Kind)
}

// Retryable reports whether the same request may succeed a little later.
func (k Kind) Retryable() bool {
	switch k {
	case ErrRateLimited, ErrOverloaded, ErrServer, ErrTimeout, ErrMalformed:
		return true
	}
	return false
}

// APIError is the answer of a server instead of a message, with an error status or in the middle of a stream. Texts
// are the server's, without the credentials of the request should it repeat them. It survives JSON.
type APIError struct {
	// Provider is the adapter that asked: "openai", "anthropic", "gemini", …
	Provider string `json:"provider,omitempty"`
	// StatusCode is the HTTP status. For an error inside a response of success it is the status that the error's code
	// or type stands for, or 0.
	StatusCode int `json:"status_code,omitempty"`
	// Code, Type and Param are the server's words, if it says them: "rate_limit_exceeded", "invalid_request_error", …
	Code  string `json:"code,omitempty"`
	Type  string `json:"type,omitempty"`
	Param string `json:"param,omitempty"`
	// Message explains the error.
	Message string `json:"message,omitempty"`
	// RetryAfter is the time for which the server asks to wait before the next attempt; 0 if it does not say.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// RequestID names the request in the server's logs.
	RequestID string `json:"request_id,omitempty"`
	// Kind is the class of the error; errors.Is finds it.
	Kind Kind `json:"kind,omitempty"`
	// Raw is the server's text, shortened.
	Raw string `json:"raw,omitempty"`
}

// Error implements error.
func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(e.Provider, "model") + ": ")
	if e.StatusCode != 0 {
		fmt.Fprintf(&b, "status %d: ", e.StatusCode)
	}
	b.WriteString(cmp.Or(e.Message, http.StatusText(e.StatusCode), "error without a message"))
	var notes []string
	note := func(name, value string) {
		if value != "" {
			notes = append(notes, name+" "+value)
		}
	}
	note("type", e.Type)
	note("code", e.Code)
	note("param", e.Param)
	note("request id", e.RequestID)
	if e.RetryAfter > 0 {
		note("retry after", e.RetryAfter.String())
	}
	if len(notes) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(notes, ", "))
	}
	return b.String()
}

// Is reports whether target is the kind of the error.
func (e *APIError) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// Retryable reports whether the same request may succeed a little later. Package adk/dispatch asks it.
func (e *APIError) Retryable() bool { return e.Kind.Retryable() }

// RetryIn is the time for which the server asks to wait before the next attempt; 0 if it does not say.
func (e *APIError) RetryIn() time.Duration { return e.RetryAfter }

// IsRetryable reports whether a request that failed with err may succeed when it is sent again: errors of the server
// and of the connection, answers that were cut off, bodies that are no answer, and calls that the model wrote in a wrong
// form. It is false for contexts that have ended.
func IsRetryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var api *APIError
	if errors.As(err, &api) {
		return api.Kind.Retryable()
	}
	var stopped *StoppedError
	if errors.As(err, &stopped) {
		return stopped.Finish == FinishMalformed
	}
	if errors.As(err, new(*NoAnswerError)) {
		return true
	}
	var timeout net.Error
	var operation *net.OpError
	return errors.Is(err, ErrTimeout) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errIdle) || errors.As(err, &operation) ||
		errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, context.DeadlineExceeded)
}

// maxErrorBody limits how much of an error response is read.
const maxErrorBody = 1 << 20

// newAPIError reads the error out of a response, whose body it consumes.
func newAPIError(resp *http.Response, hide Redactor) *APIError {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what is there of it
	e := ParseError(body)
	if e == nil {
		e = &APIError{Message: oneLine(body), Raw: string(body)}
	}
	e.StatusCode = resp.StatusCode
	if wait := retryAfter(resp.Header, time.Now()); wait > 0 {
		e.RetryAfter = wait
	}
	e.RequestID = RequestID(resp.Header)
	e.finish(hide)
	return e
}

// finish fills in the kind and takes out secrets.
func (e *APIError) finish(hide Redactor) {
	e.Provider = hide.provider
	e.Kind = kindOf(e)
	for _, text := range []*string{&e.Code, &e.Type, &e.Param, &e.Message, &e.RequestID, &e.Raw} {
		*text = hide.Text(*text)
	}
	e.Message, e.Raw = shorten(e.Message), shorten(e.Raw)
}

// errorBody has the fields in which servers describe an error; each server uses some of them. What they wrap in "error"
// or "detail" has the same form, or is just a text.
type errorBody struct {
	Message  string            `json:"message"`
	Msg      string            `json:"msg"` // FastAPI
	Type     string            `json:"type"`
	Status   string            `json:"status"` // Google
	Param    string            `json:"param"`
	Code     word              `json:"code"`
	Error    json.RawMessage   `json:"error"`
	Detail   json.RawMessage   `json:"detail"`
	Details  []json.RawMessage `json:"details"` // Google
	Metadata struct {
		Raw string `json:"raw"` // OpenRouter: what the provider behind it said
	} `json:"metadata"`
	RequestID  string `json:"request_id"`        // Anthropic
	Generation string `json:"failed_generation"` // Groq: what the model wrote
	InnerError struct {
		Code string `json:"code"` // Azure
	} `json:"innererror"`
}

// A word is a JSON string or number as text.
type word string

func (w *word) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		var number json.Number
		_ = json.Unmarshal(data, &number)
		text = number.String()
	}
	*w = word(text)
	return nil
}

// errorDepth is the depth to which the known forms wrap an error.
const errorDepth = 4

// ParseError makes an error of JSON in any of the forms that providers use, and returns nil if it is none of them. The
// status is the one that code or type stand for, if they do.
func ParseError(data []byte) *APIError {
	e := parseError(data, errorDepth)
	if e == nil {
		return nil
	}
	e.Raw = string(data)
	e.StatusCode = statusOf(e)
	return e
}

func parseError(data []byte, depth int) *APIError {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || depth == 0 {
		return nil
	}
	var (
		text string
		list []json.RawMessage
		body errorBody
	)
	switch {
	case data[0] == '"' && json.Unmarshal(data, &text) == nil && text != "":
		return &APIError{Message: text}
	case data[0] == '[' && json.Unmarshal(data, &list) == nil && len(list) > 0:
		return parseError(list[0], depth-1)
	case data[0] != '{' || DecodeLenient(data, &body) != nil:
		return nil
	}
	e := parseError(body.Error, depth-1)
	if e == nil {
		e = parseError(body.Detail, depth-1)
	}
	if e == nil {
		e = new(APIError)
	}
	e.Message = cmp.Or(e.Message, body.Message, body.Msg)
	e.Type = cmp.Or(e.Type, typeOf(body))
	e.Code = cmp.Or(e.Code, string(body.Code), body.InnerError.Code)
	e.Param = cmp.Or(e.Param, body.Param)
	e.RequestID = cmp.Or(e.RequestID, body.RequestID)
	e.RetryAfter = max(e.RetryAfter, retryInfo(body.Details))
	if raw := body.Metadata.Raw; raw != "" {
		e.Message += ": " + raw
	}
	if body.Generation != "" {
		e.Message += ": the model wrote " + strconv.Quote(body.Generation)
	}
	if *e == (APIError{}) {
		return nil
	}
	return e
}

// typeOf leaves out the word by which Anthropic marks what an error stands in.
func typeOf(body errorBody) string {
	if body.Type == "error" {
		return body.Status
	}
	return cmp.Or(body.Type, body.Status)
}

// retryInfo returns the delay of a google.rpc.RetryInfo among the details of an error.
func retryInfo(details []json.RawMessage) time.Duration {
	for _, raw := range details {
		var d struct {
			Type       string `json:"@type"`
			RetryDelay string `json:"retryDelay"`
		}
		if DecodeLenient(raw, &d) == nil && strings.HasSuffix(d.Type, "google.rpc.RetryInfo") {
			delay, _ := time.ParseDuration(d.RetryDelay)
			return max(0, min(delay, maxRetryAfter))
		}
	}
	return 0
}

// retryAfter returns how long to wait, from the headers that say so.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(seconds, time.Second)
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// maxRetryAfter keeps absurd values from overflowing.
const maxRetryAfter = 365 * 24 * time.Hour

func duration(n float64, unit time.Duration) time.Duration {
	switch {
	case !(n > 0): // NaN, too
		return 0
	case n > float64(maxRetryAfter/unit):
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}

// RequestID returns the name that the server gave a request, from whichever header has it.
func RequestID(h http.Header) string {
	for _, name := range [...]string{
		"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Ms-Request-Id", "X-Amzn-Requestid", "X-Goog-Request-Id",
	} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// DecodeLenient decodes an object, leaving out what is of another type than expected: servers that call themselves
// compatible differ in such details.
func DecodeLenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return nil
	}
	return err
}

// errIdle is a server that was silent for too long.
var errIdle = fmt.Errorf("%wthe request can be sent again: %w", silent{ErrTimeout}, os.ErrDeadlineExceeded)
