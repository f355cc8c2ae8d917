package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

const testKey = "sk-test+secret/0123456789=="

var question = []*schema.Message{schema.UserMessage("question")}

// newModel returns a model of a compatible server, which the transport plays.
func newModel(t testing.TB, transport http.RoundTripper, change ...func(*Config)) *ChatModel {
	t.Helper()
	conf := &Config{
		BaseURL:    "https://server.test/v1",
		APIKey:     testKey,
		Model:      "m",
		MaxRetries: new(0),
		HTTPClient: &http.Client{Transport: transport},
	}
	for _, c := range change {
		c(conf)
	}
	m, err := NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

// serve returns a model of a real server.
func serve(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *ChatModel {
	t.Helper()
	server := httptest.NewServer(handler)
	transport := new(http.Transport)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	atServer := func(c *Config) { c.BaseURL = server.URL + "/v1" }
	return newModel(t, transport, append([]func(*Config){atServer}, change...)...)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answering returns a transport whose responses have the given type and body.
func answering(contentType string, body io.Reader) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		req.Body.Close()
		closer, ok := body.(io.ReadCloser)
		if !ok {
			closer = io.NopCloser(body)
		}
		return &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {contentType}, "X-Request-Id": {"req-1"}},
			Body:       closer, ContentLength: -1, Request: req,
		}, nil
	}
}

func streaming(body string) roundTrip { return answering("text/event-stream", strings.NewReader(body)) }

func whole(body string) roundTrip { return answering("application/json", strings.NewReader(body)) }

// chunk returns an event with a piece of text.
func chunk(text string) string {
	data, _ := json.Marshal(text)
	return `data: {"id":"c-1","model":"m-1","choices":[{"index":0,"delta":{"content":` + string(data) + `}}]}` + "\n\n"
}

const (
	stopChunk = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	doneChunk = "data: [DONE]\n\n"
)

// capture returns what a call sends, as it is and decoded.
func capture(t *testing.T, change func(*Config), in []*schema.Message,
	opts ...model.Option,
) (*http.Request, map[string]any) {
	t.Helper()
	var sent *http.Request
	var body []byte
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		sent = req
		body, _ = io.ReadAll(req.Body)
		return whole(`{"choices":[{"message":{"content":"ok"}}]}`)(req)
	}), change)
	_, err := m.Generate(t.Context(), in, opts...)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(body, &fields), string(body))
	sent.Body = io.NopCloser(bytes.NewReader(body))
	return sent, fields
}

func unchanged(*Config) {}

// sentMessages returns the messages that a call sends, as JSON.
func sentMessages(t *testing.T, change func(*Config), in ...*schema.Message) string {
	t.Helper()
	_, body := capture(t, change, in)
	text, err := json.Marshal(body["messages"])
	require.NoError(t, err)
	return string(text)
}

// requireOneError reads a stream to its end. It must yield chunks, then one error, then the end.
func requireOneError(t *testing.T, sr *schema.StreamReader[*schema.Message]) (text string, failure error) {
	t.Helper()
	defer sr.Close()
	for {
		m, err := sr.Recv()
		if err == nil {
			require.NoError(t, failure, "a chunk after the error")
			text += m.Content
			continue
		}
		if err == io.EOF {
			require.Error(t, failure)
			_, err = sr.Recv()
			require.Equal(t, io.EOF, err)
			return text, failure
		}
		require.NoError(t, failure, "a second error")
		failure = err
	}
}

func stream(t *testing.T, m *ChatModel, opts ...model.Option) *schema.StreamReader[*schema.Message] {
	t.Helper()
	sr, err := m.Stream(t.Context(), question, opts...)
	require.NoError(t, err)
	return sr
}

func joined(t *testing.T, sr *schema.StreamReader[*schema.Message]) *schema.Message {
	t.Helper()
	m, err := schema.ConcatMessageStream(sr)
	require.NoError(t, err)
	return m
}

func engineOf(m *ChatModel) *engine { return m.Engine().(*engine) }

// streamBuffer is the number of chunks that are read ahead of a slow consumer, at most.
const streamBuffer = 16
