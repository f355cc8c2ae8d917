package kit

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Rule providers/K28.
func TestParseError_Dialects(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want *APIError
	}{
		"OpenAI": {
			`{"error":{"message":"too fast","type":"requests","param":"model","code":"rate_limit_exceeded"}}`,
			&APIError{Message: "too fast", Type: "requests", Param: "model", Code: "rate_limit_exceeded",
				StatusCode: 429},
		},
		"nulls": {`{"error":{"message":"no","type":"t","param":null,"code":null}}`,
			&APIError{Message: "no", Type: "t"}},
		"text":           {`{"error":"model not found"}`, &APIError{Message: "model not found"}},
		"text with code": {`{"code":"bad","error":"no such model"}`, &APIError{Message: "no such model", Code: "bad"}},
		"numeric code": {`{"error":{"message":"down","code":502}}`,
			&APIError{Message: "down", Code: "502", StatusCode: 502}},
		"without error": {`{"object":"error","message":"long","type":"BadRequestError","code":400}`,
			&APIError{Message: "long", Type: "BadRequestError", Code: "400", StatusCode: 400}},
		"detail": {`{"detail":"Not Found"}`, &APIError{Message: "Not Found"}},
		"list of details": {`{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}`,
			&APIError{Message: "field required", Type: "missing"}},
		"list": {`[{"error":{"code":400,"message":"bad key","status":"INVALID_ARGUMENT"}}]`,
			&APIError{Message: "bad key", Code: "400", StatusCode: 400, Type: "INVALID_ARGUMENT"}},
		"provider behind": {`{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"slow down"}}}`,
			&APIError{Message: "Provider returned error: slow down", Code: "429", StatusCode: 429}},
		"odd types":           {`{"error":{"message":{"a":1},"type":3,"code":true,"param":[1]}}`, nil},
		"null":                {`null`, nil},
		"empty object":        {`{"error":{}}`, nil},
		"empty text":          {`{"error":""}`, nil},
		"no JSON":             {`<html>`, nil},
		"nested without end":  {strings.Repeat(`{"error":`, 1000), nil},
		"nested without need": {strings.Repeat(`{"error":`, 9) + `"x"` + strings.Repeat("}", 9), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := ParseError([]byte(c.body))
			if got != nil {
				require.Equal(t, c.body, got.Raw)
				got.Raw = ""
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "20", 20 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Wed, 02 Jan 2030 03:05:05 GMT", time.Minute},
		{"Retry-After", "Wed, 02 Jan 2020 03:05:05 GMT", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", maxRetryAfter},
		{"Retry-After", "", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		require.Equal(t, c.want, retryAfter(h, now), c)
	}
}
