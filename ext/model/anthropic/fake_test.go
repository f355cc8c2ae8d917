package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

const testKey = "sk-ant-test+secret/0123456789=="

var question = []*schema.Message{schema.UserMessage("question")}

var questionBlocks = []*schema.AgenticMessage{schema.UserAgenticMessage("question")}

// testConfig returns settings for Anthropic's server, which the transport plays.
func testConfig(transport http.RoundTripper, change ...func(*Config)) *Config {
	conf := &Config{
		APIKey: testKey, Model: "claude-sonnet-4-20250514", MaxTokens: 1000, MaxRetries: new(int),
		HTTPClient: &http.Client{Transport: transport},
	}
	for _, c := range change {
		c(conf)
	}
	return conf
}

func newChat(t testing.TB, transport http.RoundTripper, change ...func(*Config)) *ChatModel {
	t.Helper()
	m, err := NewChatModel(context.Background(), testConfig(transport, change...))
	require.NoError(t, err)
	return m
}

func newAgentic(t testing.TB, transport http.RoundTripper, change ...func(*Config)) *AgenticModel {
	t.Helper()
	m, err := NewAgenticModel(context.Background(), testConfig(transport, change...))
	require.NoError(t, err)
	return m
}

// serve returns settings for a real server.
func serve(t testing.TB, handler http.HandlerFunc) func(*Config) {
	t.Helper()
	server := httptest.NewServer(handler)
	transport := new(http.Transport)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return func(c *Config) { c.BaseURL, c.HTTPClient = server.URL, &http.Client{Transport: transport} }
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answering returns a transport whose responses have the given type and body.
func answering(contentType string, body io.Reader) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		req.Body.Close()
		return response(req, http.StatusOK, contentType, body), nil
	}
}

func response(req *http.Request, status int, contentType string, body io.Reader) *http.Response {
	closer, ok := body.(io.ReadCloser)
	if !ok {
		closer = io.NopCloser(body)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {contentType}, "Request-Id": {"req-1"}},
		Body: closer, ContentLength: -1, Request: req,
	}
}

func streaming(body string) roundTrip { return answering("text/event-stream", strings.NewReader(body)) }

func whole(body string) roundTrip { return answering("application/json", strings.NewReader(body)) }

const okAnswer = `{"type":"message","id":"msg_1","model":"m-1","role":"assistant",` +
	`"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":2,"output_tokens":1}}`

// answer returns a whole answer with blocks of content.
func answer(stop string, blocks ...string) string {
	return `{"type":"message","id":"msg_1","model":"m-1","role":"assistant","content":[` + strings.Join(blocks, ",") +
		`],"stop_reason":"` + stop + `","usage":{"input_tokens":2,"output_tokens":1}}`
}

// sse returns documents as a stream of events.
func sse(documents ...string) string {
	var b strings.Builder
	for _, d := range documents {
		var head struct{ Type string }
		_ = json.Unmarshal([]byte(d), &head)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", head.Type, d)
	}
	return b.String()
}

const (
	startEvent = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1",` +
		`"content":[],"usage":{"input_tokens":2,"output_tokens":1}}}`
	stopEvent = `{"type":"message_stop"}`
)

func blockStart(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func blockDelta(index int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta)
}

func blockStop(index int) string {
	return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)
}

func endEvent(stop string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":7}}`, stop)
}

// textEvents are the events of a block of text.
func textEvents(index int, pieces ...string) []string {
	events := []string{blockStart(index, `{"type":"text","text":""}`)}
	for _, p := range pieces {
		text, _ := json.Marshal(p)
		events = append(events, blockDelta(index, `{"type":"text_delta","text":`+string(text)+`}`))
	}
	return append(events, blockStop(index))
}

func messageEvents(stop string, blocks ...[]string) []string {
	events := []string{startEvent}
	for _, b := range blocks {
		events = append(events, b...)
	}
	return append(events, endEvent(stop), stopEvent)
}

// A recorder answers and keeps what was sent. It refuses what the service would.
type recorder struct {
	requests []*http.Request
	bodies   [][]byte
	answers  []string // one after the other; the last one for all further requests
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	next := okAnswer
	if n := len(r.bodies); len(r.answers) > 0 {
		next = r.answers[min(n, len(r.answers)-1)]
	}
	r.requests, r.bodies = append(r.requests, req), append(r.bodies, body)
	service := kittest.Anthropic()
	service.Unsigned = req.URL.Host != "api.anthropic.com"
	if faults := service.Validate(req, body); len(faults) > 0 {
		w := httptest.NewRecorder()
		service.Refuse(w, faults)
		return w.Result(), nil
	}
	if strings.HasPrefix(next, "event:") {
		return response(req, http.StatusOK, "text/event-stream", strings.NewReader(next)), nil
	}
	return response(req, http.StatusOK, "application/json", strings.NewReader(next)), nil
}

func (r *recorder) body(t testing.TB, n int) (o map[string]any) {
	t.Helper()
	require.Greater(t, len(r.bodies), n)
	require.NoError(t, json.Unmarshal(r.bodies[n], &o))
	return o
}

// capture returns what a call sends.
func capture(t *testing.T, change func(*Config), in []*schema.AgenticMessage, opts ...model.Option) map[string]any {
	t.Helper()
	r := new(recorder)
	_, err := newAgentic(t, r, change).Generate(t.Context(), in, opts...)
	require.NoError(t, err)
	return r.body(t, 0)
}

// refused returns the error of a call that is not sent.
func refused(t *testing.T, change func(*Config), in []*schema.AgenticMessage, opts ...model.Option) error {
	t.Helper()
	r := new(recorder)
	_, err := newAgentic(t, r, change).Generate(t.Context(), in, opts...)
	require.Error(t, err)
	require.Empty(t, r.bodies)
	return err
}

func unchanged(*Config) {}

// sentMessages returns the messages that a call sends, as JSON.
func sentMessages(t *testing.T, change func(*Config), in ...*schema.AgenticMessage) string {
	t.Helper()
	r := new(recorder)
	_, err := newAgentic(t, r, change).Generate(t.Context(), in)
	require.NoError(t, err)
	var body struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal(r.bodies[0], &body))
	return string(body.Messages)
}

func user(blocks ...*schema.ContentBlock) *schema.AgenticMessage {
	return &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: blocks}
}

// own returns an answer of the server that the tests ask.
func own(blocks ...*schema.ContentBlock) *schema.AgenticMessage {
	return &schema.AgenticMessage{
		Role: schema.AgenticRoleTypeAssistant, ContentBlocks: blocks,
		Extra: map[string]any{"origin": "anthropic/api.anthropic.com/messages"},
	}
}

func inputText(text string) *schema.ContentBlock {
	return schema.NewContentBlock(&schema.UserInputText{Text: text})
}

func genText(text string) *schema.ContentBlock {
	return schema.NewContentBlock(&schema.AssistantGenText{Text: text})
}

func toolCall(id, name, arguments string) *schema.ContentBlock {
	return schema.NewContentBlock(&schema.FunctionToolCall{CallID: id, Name: name, Arguments: arguments})
}

func toolResult(id, text string) *schema.ContentBlock {
	return schema.NewContentBlock(&schema.FunctionToolResult{
		CallID: id, Content: []*schema.FunctionToolResultContentBlock{{
			Type: schema.FunctionToolResultContentBlockTypeText, Text: &schema.UserInputText{Text: text},
		}},
	})
}

func thought(text, signature string) *schema.ContentBlock {
	return schema.NewContentBlock(&schema.Reasoning{Text: text, Signature: signature})
}

// readAll reads a stream to its end: chunks, then perhaps one error.
func readAll(t testing.TB, sr *schema.StreamReader[*schema.AgenticMessage]) (*schema.AgenticMessage, error) {
	t.Helper()
	defer sr.Close()
	var acc schema.AgenticMessageAccumulator
	var failure error
	for chunk, err := range sr.All() {
		require.NoError(t, failure, "something behind the error")
		if err != nil {
			failure = err
			continue
		}
		require.NoError(t, acc.Add(chunk))
	}
	if failure != nil {
		return nil, failure
	}
	m, err := acc.Message()
	require.NoError(t, err)
	return m, nil
}

// streamed returns the answer that a body of events makes.
func streamed(t testing.TB, body string, change ...func(*Config)) (*schema.AgenticMessage, error) {
	t.Helper()
	sr, err := newAgentic(t, streaming(body), change...).Stream(context.Background(), questionBlocks)
	if err != nil {
		return nil, err
	}
	return readAll(t, sr)
}

var toolA = &schema.ToolInfo{Name: "a", Desc: "does a"}
