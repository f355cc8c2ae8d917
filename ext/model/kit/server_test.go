package kit

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const testKey = "sk-test+secret/0123456789=="

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answering returns a transport whose responses have the given status, type and body.
func answering(status int, contentType string, body io.Reader) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {contentType}, "X-Request-Id": {"req-1"}},
			Body: io.NopCloser(body), ContentLength: -1, Request: req,
		}, nil
	}
}

// clientOf returns a client of a server that the transport plays.
func clientOf(transport http.RoundTripper, change ...func(*ClientConfig)) *Client {
	conf := ClientConfig{
		Provider: "test", BaseURL: "https://server.test/v1", HTTPClient: &http.Client{Transport: transport},
		MaxRetries: new(0), Authorize: Bearer(testKey, nil), Secrets: []string{testKey},
	}
	for _, c := range change {
		c(&conf)
	}
	return NewClient(conf)
}

func responseOf(t *testing.T, contentType string, body io.Reader) *Response {
	t.Helper()
	resp, err := clientOf(answering(http.StatusOK, contentType, body)).
		Do(t.Context(), Request{Path: "x", Body: []byte("{}"), Stream: true})
	require.NoError(t, err)
	t.Cleanup(resp.Close)
	return resp
}

func eventsOf(t *testing.T, body io.Reader) *Events {
	t.Helper()
	return responseOf(t, "text/event-stream", body).Events()
}
