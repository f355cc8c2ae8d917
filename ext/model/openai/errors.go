package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// APIError is what a server answered in place of a message, with an error status or in the middle of a stream. Texts
// are the server's, without the credentials of the request should it repeat them.
type APIError struct {
	// StatusCode is the HTTP status. For an error inside a response of success it is the status that the error itself
	// names, or 0.
	StatusCode int
	// Code, Type and Param are the server's words, if it says them: "rate_limit_exceeded", "invalid_request_error", …
	Code, Type, Param string
	// Message explains the error.
	Message string
	// RetryAfter is how long the server asks to wait before the next attempt; 0 if it does not say.
	RetryAfter time.Duration
	// RequestID names the request in the server's logs.
	RequestID string
}

// Error implements error.
func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString("openai: ")
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

// newAPIError reads the error out of a response, whose body it consumes.
func newAPIError(resp *http.Response, hide redactor) *APIError {
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body) // what is there of it
	e := parseError(body, errorDepth)
	if e == nil {
		e = &APIError{Message: excerpt(body)}
	}
	e.StatusCode = resp.StatusCode
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	e.RequestID = requestID(resp.Header)
	return e.redact(hide)
}

func (e *APIError) redact(hide redactor) *APIError {
	for _, text := range []*string{&e.Code, &e.Type, &e.Param, &e.Message, &e.RequestID} {
		*text = hide.text(*text)
	}
	e.Message = shorten(e.Message)
	return e
}

// errorBody is what servers say about an error, each in some of these fields. What they wrap in "error" or "detail"
// has the same form, or is just a text.
type errorBody struct {
	Message  string          `json:"message"`
	Msg      string          `json:"msg"` // FastAPI
	Type     string          `json:"type"`
	Status   string          `json:"status"` // Google
	Param    string          `json:"param"`
	Code     word            `json:"code"`
	Error    json.RawMessage `json:"error"`
	Detail   json.RawMessage `json:"detail"`
	Metadata struct {
		Raw string `json:"raw"` // OpenRouter: what the provider behind it said
	} `json:"metadata"`
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

// errorDepth is how deep the known forms wrap an error.
const errorDepth = 4

// parseError makes an error of JSON in any of the known forms, and returns nil if it is none of them.
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
	case data[0] != '{' || decode(data, &body) != nil:
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
	e.Type = cmp.Or(e.Type, body.Type, body.Status)
	e.Code = cmp.Or(e.Code, string(body.Code))
	e.Param = cmp.Or(e.Param, body.Param)
	if raw := body.Metadata.Raw; raw != "" {
		e.Message += ": " + raw
	}
	if *e == (APIError{}) {
		return nil
	}
	if status, err := strconv.Atoi(e.Code); err == nil && status >= 400 && status < 600 {
		e.StatusCode = status
	}
	return e
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

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Apim-Request-Id", "X-Ms-Request-Id", "Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// maxExcerpt is how much of a text from a server goes into an error.
const maxExcerpt = 1000

// excerpt is a text for people out of something unexpected. It must be redacted before it is shortened.
func excerpt(data []byte) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(data), "\uFFFD")), " ")
}

func shorten(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
}
