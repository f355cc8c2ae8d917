package gemini_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// FuzzStream feeds bytes of streams: whatever comes, there is an answer or one error, the answer can be sent back, and
// plain messages say the same.
func FuzzStream(f *testing.F) {
	for _, recording := range recordings(f) {
		c, err := kittest.LoadCassette(recording.File)
		require.NoError(f, err)
		for _, i := range c.Interactions {
			f.Add([]byte(i.Response.Body), streams(i))
		}
	}
	f.Add([]byte(sse(piece(`{"newThing":{}}`), ended("CONTINUATION", text("a")))), true)
	f.Fuzz(func(t *testing.T, body []byte, stream bool) {
		conf, _ := fake(t, "")
		requests := 0
		conf.HTTPClient.Transport = transport(func(req *http.Request) (*http.Response, error) {
			requests++
			kind := "application/json"
			if stream {
				kind = "text/event-stream"
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
		})
		m, err := ask(t.Context(), agentic(t, conf), hello, stream)
		require.LessOrEqual(t, requests, 9)
		plain, plainErr := ask(t.Context(), chat(t, conf), []*schema.Message{schema.UserMessage("Hello")}, stream)
		require.Equal(t, err == nil, plainErr == nil)
		if err != nil {
			return
		}
		in := []*schema.AgenticMessage{hello[0], m}
		for _, c := range calls(m) {
			in = append(in, result(c.ID, "f", "x"))
		}
		_, err = agentic(t, conf).Generate(t.Context(), append(in, hello[0]))
		if err != nil {
			require.NotContains(t, err.Error(), "panic")
		}
		text := ""
		for _, b := range m.ContentBlocks {
			if b.AssistantGenText != nil {
				text += b.AssistantGenText.Text
			}
		}
		require.Equal(t, text, plain.Content)
	})
}

// FuzzErrors feeds bodies of errors.
func FuzzErrors(f *testing.F) {
	f.Add([]byte(`{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"}]}}`), 429)
	f.Add([]byte(`[{"error":{"code":400}}]`), 400)
	f.Add([]byte(`<html>`), 502)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		conf, _ := fake(t, "")
		conf.HTTPClient.Transport = transport(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 300 + (status%300+300)%300, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
		})
		err := refused(t, conf, hello)
		require.True(t, strings.HasPrefix(err.Error(), "gemini: "), err.Error())
		require.NotContains(t, err.Error(), testKey)
	})
}
