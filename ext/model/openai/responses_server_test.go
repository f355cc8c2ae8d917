package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

const responsesTestKey = "sk-very-secret-key"

// responsesAt returns a configuration for a server.
func responsesAt(url string, change ...func(*openai.ResponsesConfig)) *openai.ResponsesConfig {
	conf := &openai.ResponsesConfig{APIKey: responsesTestKey, BaseURL: url + "/v1", Model: "gpt-5", MaxRetries: new(int)}
	for _, f := range change {
		f(conf)
	}
	return conf
}

func newResponses(t *testing.T, conf *openai.ResponsesConfig) *openai.ResponsesModel {
	t.Helper()
	m, err := openai.NewResponsesModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

func newResponsesChat(t *testing.T, conf *openai.ResponsesConfig) *openai.ResponsesChatModel {
	t.Helper()
	m, err := openai.NewResponsesChatModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

// responsesDoc returns a response with items.
func responsesDoc(id, status string, items ...string) string {
	return fmt.Sprintf(`{"id":%q,"object":"response","status":%q,"model":"gpt-5-2025","created_at":17,"output":[%s],`+
		`"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":5,`+
		`"output_tokens_details":{"reasoning_tokens":2},"total_tokens":8}}`, id, status, strings.Join(items, ","))
}

// responsesEvents returns a stream with items, each only added and done, and a terminal event.
func responsesEvents(id, status string, items ...string) kittest.Stream {
	data := []string{fmt.Sprintf(`{"type":"response.created","sequence_number":0,"response":{"id":%q,"status":"in_progress"}}`, id)}
	for n, item := range items {
		data = append(data,
			fmt.Sprintf(`{"type":"response.output_item.added","sequence_number":%d,"output_index":%d,"item":%s}`, 2*n+1, n, item),
			fmt.Sprintf(`{"type":"response.output_item.done","sequence_number":%d,"output_index":%d,"item":%s}`, 2*n+2, n, item))
	}
	return kittest.NamedSSE(append(data, fmt.Sprintf(`{"type":"response.%s","sequence_number":%d,"response":%s}`,
		status, 2*len(items)+1, responsesDoc(id, status, items...)))...)
}

const (
	textItemHi    = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[],"logprobs":[]}]}`
	thoughtItem1  = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"one"},{"type":"summary_text","text":"two"}],"encrypted_content":"gAAA/+=="}`
	callItemOne   = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}`
	callItemTwo   = `{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"f","arguments":"{\"a\":2}"}`
	searchItem    = `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q","sources":[{"type":"url","url":"https://a"}]}}`
	codeItem      = `{"id":"ci_1","type":"code_interpreter_call","status":"completed","code":"print(1)","container_id":"cntr_1","outputs":[{"type":"logs","logs":"1\n"}]}`
	fileItem      = `{"id":"fs_1","type":"file_search_call","status":"completed","queries":["q"],"results":[{"file_id":"f"}]}`
	imageItem     = `{"id":"ig_1","type":"image_generation_call","status":"completed","output_format":"webp","revised_prompt":"a cat","result":"aW1n"}`
	mcpListItem   = `{"id":"mcpl_1","type":"mcp_list_tools","server_label":"wiki","tools":[{"name":"ask","description":"d","input_schema":{"type":"object","properties":{"q":{"type":"string"}}}}]}`
	mcpCallItem   = `{"id":"mcp_1","type":"mcp_call","server_label":"wiki","name":"ask","arguments":"{\"q\":1}","output":"forty-two","error":null,"approval_request_id":null}`
	approvalItem  = `{"id":"mcpr_1","type":"mcp_approval_request","server_label":"wiki","name":"ask","arguments":"{\"q\":1}"}`
	compactItem   = `{"id":"cmp_1","type":"compaction","encrypted_content":"zzz"}`
	unknownItem   = `{"id":"un_1","type":"telepathy_call","thought":{"b":1,"a":[1.50]}}`
	customItem    = `{"id":"ctc_1","type":"custom_tool_call","call_id":"call_c","name":"sql","input":"select 1"}`
	computerItem  = `{"id":"cu_1","type":"computer_call","call_id":"call_u","status":"completed","action":{"type":"click","x":1,"y":2},"pending_safety_checks":[{"id":"sc_1","code":"c","message":"m"}]}`
	patchItem     = `{"id":"apc_1","type":"apply_patch_call","call_id":"call_p","status":"completed","operation":{"type":"delete_file","path":"a"}}`
	shellItem     = `{"id":"sh_1","type":"shell_call","call_id":"call_s","status":"completed","action":{"commands":["ls"]}}`
	refusalItem   = `{"id":"msg_r","type":"message","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"No way."}]}`
	toolSearchOwn = `{"id":"tsc_1","type":"tool_search_call","execution":"client","call_id":"call_t","status":"completed","arguments":{"q":"mail"}}`
)

func userSays(text string) []*schema.AgenticMessage {
	return []*schema.AgenticMessage{schema.UserAgenticMessage(text)}
}

// toolOf returns a tool with one optional argument.
func toolOf(name string) *schema.ToolInfo {
	return &schema.ToolInfo{Name: name, Desc: "d", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"a": {Type: schema.Integer, Desc: "number"},
	})}
}

// sentInput returns the input items of a request.
func sentInput(t *testing.T, body []byte) (items []json.RawMessage) {
	t.Helper()
	var o struct{ Input []json.RawMessage }
	require.NoError(t, json.Unmarshal(body, &o), "%s", body)
	return o.Input
}

func sentFields(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var o map[string]any
	require.NoError(t, json.Unmarshal(body, &o), "%s", body)
	return o
}

func texts(raw []json.RawMessage) (out []string) {
	for _, r := range raw {
		out = append(out, string(r))
	}
	return out
}

// capture returns a client that keeps what is sent and answers with a text.
type captured struct {
	bodies  [][]byte
	headers []http.Header
	urls    []string
	answer  string
}

func (c *captured) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c.bodies, c.headers, c.urls = append(c.bodies, body), append(c.headers, req.Header.Clone()), append(c.urls, req.URL.String())
	answer := c.answer
	if answer == "" {
		answer = responsesDoc("resp_1", "completed", textItemHi)
	}
	return responsesBody{"application/json", func() io.Reader { return strings.NewReader(answer) }}.RoundTrip(req)
}

// sendResponses returns the body of a request.
func sendResponses(
	t *testing.T, in []*schema.AgenticMessage, change func(*openai.ResponsesConfig), opts ...model.Option,
) ([]byte, error) {
	t.Helper()
	c := new(captured)
	conf := &openai.ResponsesConfig{
		APIKey: responsesTestKey, Model: "gpt-5", MaxRetries: new(int), HTTPClient: &http.Client{Transport: c},
	}
	if change != nil {
		change(conf)
	}
	_, err := newResponses(t, conf).Generate(t.Context(), in, opts...)
	if len(c.bodies) == 0 {
		return nil, err
	}
	require.NoError(t, err)
	return c.bodies[0], nil
}

func mustSendResponses(
	t *testing.T, in []*schema.AgenticMessage, change func(*openai.ResponsesConfig), opts ...model.Option,
) map[string]any {
	t.Helper()
	body, err := sendResponses(t, in, change, opts...)
	require.NoError(t, err)
	return sentFields(t, body)
}

// A conversation is led with either kind of model: ask adds the answer, result a result for a call.
type responsesTalk struct {
	t       *testing.T
	blocks  *openai.ResponsesModel
	chat    *openai.ResponsesChatModel
	history []*schema.AgenticMessage
	said    []*schema.Message
	stream  bool
	opts    []model.Option
}

func (c *responsesTalk) user(text string) {
	c.history = append(c.history, schema.UserAgenticMessage(text))
	c.said = append(c.said, schema.UserMessage(text))
}

func (c *responsesTalk) result(id, text string) {
	c.history = append(c.history, schema.FunctionToolResultAgenticMessage(id, "f", text))
	c.said = append(c.said, schema.ToolMessage(text, id))
}

func (c *responsesTalk) ask() {
	c.t.Helper()
	if c.chat != nil {
		c.said = append(c.said, ask(c.t, c.chat, c.said, c.stream, c.opts...))
		return
	}
	var answer *schema.AgenticMessage
	var err error
	if c.stream {
		var sr *schema.StreamReader[*schema.AgenticMessage]
		sr, err = c.blocks.Stream(c.t.Context(), c.history, c.opts...)
		require.NoError(c.t, err)
		answer, err = joinResponses(sr)
	} else {
		answer, err = c.blocks.Generate(c.t.Context(), c.history, c.opts...)
	}
	require.NoError(c.t, err)
	c.history = append(c.history, answer)
}

func (c *responsesTalk) answer() *schema.AgenticMessage { return c.history[len(c.history)-1] }

// eachTalk runs a test with both kinds of models, streamed and not. The script has a document and its events in turn.
func eachTalk(
	t *testing.T, change func(*openai.ResponsesConfig), docs []kittest.Stream, whole []string,
	test func(t *testing.T, c *responsesTalk, server *kittest.FakeServer),
) {
	for _, chat := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("chat=%v stream=%v", chat, stream), func(t *testing.T) {
				var script []http.Handler
				for n := range whole {
					if stream {
						script = append(script, docs[n])
					} else {
						script = append(script, kittest.JSON(whole[n]))
					}
				}
				server := kittest.Server(t, kittest.Responses(), script...)
				conf := responsesAt(server.URL)
				if change != nil {
					change(conf)
				}
				c := &responsesTalk{t: t, stream: stream}
				if chat {
					c.chat = newResponsesChat(t, conf)
				} else {
					c.blocks = newResponses(t, conf)
				}
				test(t, c, server)
				require.Zero(t, server.Left())
			})
		}
	}
}

// scriptOf returns both forms of answers, each a list of items, with IDs resp_1, resp_2, …
func scriptOf(answers ...[]string) (docs []kittest.Stream, whole []string) {
	for n, items := range answers {
		id := fmt.Sprintf("resp_%d", n+1)
		docs = append(docs, responsesEvents(id, "completed", items...))
		whole = append(whole, responsesDoc(id, "completed", items...))
	}
	return docs, whole
}
