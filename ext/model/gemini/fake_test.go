package gemini_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// A service answers requests with given bodies, one after the other, the last one again and again, and validates the
// requests as strictly as Google does.
type service struct {
	t       testing.TB
	backend kittest.GeminiBackend
	bodies  []string
	faulty  bool // faults are no failure of the test

	mu       sync.Mutex // mu guards requests, sent
	requests []*http.Request
	sent     [][]byte
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.sent)
	s.requests, s.sent = append(s.requests, req), append(s.sent, body)
	if !s.faulty && strings.Contains(req.URL.Path, ":generate") {
		require.Empty(s.t, kittest.Gemini(s.backend).Validate(req, body), "%s", body)
	}
	answer := s.bodies[min(n, len(s.bodies)-1)]
	kind := "application/json"
	if strings.HasPrefix(answer, "data:") || strings.HasPrefix(answer, ":") || strings.HasPrefix(answer, "event:") {
		kind = "text/event-stream"
	}
	status := http.StatusOK
	if strings.HasPrefix(answer, `{"error"`) {
		status = http.StatusBadRequest
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(answer)),
		Request: req,
	}, nil
}

// body returns what was sent in a request.
func (s *service) body(n int) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o object
	require.NoError(s.t, json.Unmarshal(s.sent[n], &o))
	return o
}

// contents returns the contents of a request as JSON.
func (s *service) contents(n int) string {
	data, err := json.Marshal(s.body(n)["contents"])
	require.NoError(s.t, err)
	return string(data)
}

// fake returns a configuration of a model on a service that answers with these bodies.
func fake(t testing.TB, bodies ...string) (*gemini.Config, *service) {
	s := &service{t: t, backend: kittest.GeminiAPI, bodies: bodies}
	return &gemini.Config{
		APIKey: testKey, Model: "gemini-2.5-flash", HTTPClient: &http.Client{Transport: s}, MaxRetries: new(int),
	}, s
}

// vertex makes the configuration one for Vertex.
func vertex(conf *gemini.Config, s *service) {
	s.backend = kittest.GeminiVertex
	conf.APIKey, conf.Backend = "", gemini.NewVertexBackend("p", "us-east5", testKey, nil)
}

func agentic(t testing.TB, conf *gemini.Config) *gemini.AgenticModel {
	t.Helper()
	m, err := gemini.NewAgenticModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

func chat(t testing.TB, conf *gemini.Config) *gemini.ChatModel {
	t.Helper()
	m, err := gemini.NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

// parts is a whole answer with these parts.
func parts(list ...string) string { return ended("STOP", list...) }

func ended(reason string, list ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(list, ",") + `],"role":"model"},"finishReason":"` + reason +
		`"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"v",` +
		`"responseId":"r"}`
}

// piece is an event that does not end an answer.
func piece(list ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(list, ",") + `],"role":"model"}}],"responseId":"r"}`
}

func text(s string) string {
	data, _ := json.Marshal(object{"text": s})
	return string(data)
}

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\r\n\r\n")
	}
	return b.String()
}

var hello = []*schema.AgenticMessage{schema.UserAgenticMessage("Hello")}

// generate asks for a whole answer.
func generate(t testing.TB, conf *gemini.Config, in []*schema.AgenticMessage, opts ...model.Option) *schema.AgenticMessage {
	t.Helper()
	m, err := agentic(t, conf).Generate(t.Context(), in, opts...)
	require.NoError(t, err)
	return m
}

// refused asks for an answer and returns the error.
func refused(t testing.TB, conf *gemini.Config, in []*schema.AgenticMessage, opts ...model.Option) error {
	t.Helper()
	_, err := agentic(t, conf).Generate(t.Context(), in, opts...)
	require.Error(t, err)
	return err
}

func own(blocks ...*schema.ContentBlock) *schema.AgenticMessage {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: blocks}
	kit.Origin{Provider: "gemini", Host: "generativelanguage.googleapis.com", API: "gemini"}.Mark(&m.Extra)
	return m
}

func call(id, name, args, signature string) *schema.ContentBlock {
	b := schema.NewContentBlock(&schema.FunctionToolCall{CallID: id, Name: name, Arguments: args})
	if signature != "" {
		b.Extra = map[string]any{"gemini_signature": signature}
	}
	return b
}

func result(id, name, text string) *schema.AgenticMessage {
	return schema.FunctionToolResultAgenticMessage(id, name, text)
}

func functions(names ...string) model.Option {
	var infos []*schema.ToolInfo
	for _, name := range names {
		infos = append(infos, &schema.ToolInfo{Name: name, Desc: "does " + name})
	}
	return model.WithTools(infos)
}

func compact(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, data))
	return b.String()
}
