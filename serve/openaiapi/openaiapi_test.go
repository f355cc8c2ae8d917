package openaiapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is a server under test.
type api struct {
	t   *testing.T
	srv *serve.Server
	url string
}

func newAPI(t *testing.T, conf Config, more serve.Config, agent adk.ChatModelAgentConfig, replies ...adktest.Answer) *api {
	t.Helper()
	agent.Name, agent.Description, agent.Model = "desk", "helps", adktest.NewModel(t, replies...)
	made, err := adk.NewChatModelAgent(t.Context(), &agent)
	require.NoError(t, err)
	more.Agents = []adk.Agent{made}
	return newAPIOf(t, conf, more)
}

// newAPIOf serves agents.
func newAPIOf(t *testing.T, conf Config, more serve.Config) *api {
	t.Helper()
	srv, err := serve.New(more)
	require.NoError(t, err)
	web := httptest.NewServer(Handler(srv, conf))
	t.Cleanup(func() {
		require.NoError(t, srv.Shutdown(context.Background()))
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return &api{t, srv, web.URL}
}

func (a *api) post(status int, path, body string) []byte {
	a.t.Helper()
	answer, err := http.Post(a.url+path, "application/json", strings.NewReader(body))
	require.NoError(a.t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(a.t, err)
	require.Equal(a.t, status, answer.StatusCode, "%s", data)
	return data
}

// completion is a completion as clients read it.
type completion struct {
	ID      string
	Object  string
	Choices []struct {
		Message struct {
			Role, Content    string
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Delta struct {
			Role      string
			Content   *string
			ToolCalls []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	Weft *struct {
		Run        string
		Interrupts []struct{ ID, Kind string }
	}
	Error *struct{ Message, Type, Code string }
}

func (a *api) chat(status int, body string) (c completion) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.post(status, "/v1/chat/completions", body), &c))
	return c
}

// stream returns the data of all frames.
func (a *api) stream(path, body string) (data []string) {
	a.t.Helper()
	lines := bufio.NewScanner(strings.NewReader(string(a.post(200, path, body))))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, text)
		}
	}
	return data
}

func chunks(t *testing.T, data []string) (all []completion) {
	t.Helper()
	require.Equal(t, "[DONE]", data[len(data)-1])
	for _, text := range data[:len(data)-1] {
		var c completion
		require.NoError(t, json.Unmarshal([]byte(text), &c), text)
		require.Equal(t, "chat.completion.chunk", c.Object)
		all = append(all, c)
	}
	return all
}

const ask = `{"model":"desk","messages":[{"role":"user","content":"Hi"}]`

func TestChat_AnswersWithTheTextOfTheAgent(t *testing.T) {
	look := adktest.NewTool("look", adktest.Says("sunny"))
	a := newAPI(t, Config{ShowWork: true}, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(look)},
		adktest.Streams("Let me see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("It is ", "sunny."))
	c := a.chat(200, ask+`}`)
	require.Equal(t, "Let me see.\n\nIt is sunny.", c.Choices[0].Message.Content)
	require.Equal(t, "stop", c.Choices[0].FinishReason)
	require.Contains(t, c.Choices[0].Message.ReasoningContent, "look {}")
	require.Empty(t, c.Choices[0].Message.ToolCalls, "the agent's calls are its own")
	require.NotNil(t, c.Usage)
}

// Rule serving/OA2.
func TestChat_StreamsWhatItAnswersOtherwise(t *testing.T) {
	look := adktest.NewTool("look", adktest.Says("sunny"))
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(look)},
		adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("It is ", "sunny."))
	all := chunks(t, a.stream("/v1/chat/completions", ask+`,"stream":true,"stream_options":{"include_usage":true}}`))
	require.Equal(t, "assistant", all[0].Choices[0].Delta.Role)
	text := ""
	for _, c := range all[:len(all)-1] {
		if c.Choices[0].Delta.Content != nil {
			text += *c.Choices[0].Delta.Content
		}
	}
	require.Equal(t, "Let me see.\n\nIt is sunny.", text)
	require.Equal(t, "stop", all[len(all)-2].Choices[0].FinishReason)
	require.Empty(t, all[len(all)-1].Choices)
	require.NotNil(t, all[len(all)-1].Usage)
}

func TestChat_TakesTheHistoryOfTheClient(t *testing.T) {
	history := `"messages":[{"role":"system","content":"Obey."},{"role":"user","content":[{"type":"text","text":"I am Ana."}]},` +
		`{"role":"assistant","content":"Hello."},{"role":"user","content":"Who am I?"}]`
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{},
		adktest.Says("Ana.").Seeing("user: I am Ana.", "assistant: Hello.", "user: Who am I?"))
	require.Equal(t, "Ana.", a.chat(200, `{"model":"desk",`+history+`}`).Choices[0].Message.Content)
	a = newAPI(t, Config{AllowSystem: true}, serve.Config{}, adk.ChatModelAgentConfig{},
		adktest.Says("Ana.").Seeing("system: Obey.", "user: I am Ana.", "assistant: Hello.", "user: Who am I?"))
	a.chat(200, `{"model":"desk",`+history+`}`)
}

func TestChat_HasTheClientCallItsTools(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{AllowClientTools: true}, adk.ChatModelAgentConfig{
		Handlers: []adk.ChatModelAgentMiddleware{serve.ClientTools()}},
		adktest.Calls(adktest.Call("locate", `{"a":1}`), adktest.Call("locate", `{"a":2}`)),
		adktest.Says("Lisbon.").SeeingLast("tool locate#call_1: here", "tool locate#call_2: there"))
	tools := `,"tools":[{"type":"function","function":{"name":"locate","description":"Locates.","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]`
	all := chunks(t, a.stream("/v1/chat/completions", ask+tools+`,"stream":true}`))
	last := all[len(all)-1]
	require.Equal(t, "tool_calls", last.Choices[0].FinishReason)
	calls := all[len(all)-2].Choices[0].Delta.ToolCalls
	require.Len(t, calls, 2)
	require.Equal(t, "locate", calls[0].Function.Name)
	results := []string{"here", "there"}
	var tool []string
	for _, c := range calls {
		var args struct{ A int }
		require.NoError(t, json.Unmarshal([]byte(c.Function.Arguments), &args))
		tool = append(tool, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, c.ID, results[args.A-1]))
	}
	next := strings.TrimSuffix(ask, "]") + `,{"role":"assistant","content":null,"tool_calls":[]},` + strings.Join(tool, ",") + "]"
	c := a.chat(200, next+tools+`}`)
	require.Equal(t, "Lisbon.", c.Choices[0].Message.Content)
}

// A call that the server does not remember is part of the history.
// A call of the client and one of the server that share an ID have each their own result: calls for clients are named by
// the question.
// Rule serving/SV19.
func TestAPI_TakesTheResultOfTheClientBesideACallOfTheServerWithItsID(t *testing.T) {
	mine, own := adktest.Call("locate", `{"a":1}`).WithID("c1"), adktest.Call("look", `{}`).WithID("c1")
	newTwo := func(t *testing.T, mineFirst bool) *api {
		calls, seen := []adktest.ToolCall{mine, own}, []string{"tool locate#c1: here", "tool look#c1: seen"}
		if !mineFirst {
			slices.Reverse(calls)
			slices.Reverse(seen)
		}
		return newAPI(t, Config{}, serve.Config{AllowClientTools: true}, adk.ChatModelAgentConfig{
			Handlers:    []adk.ChatModelAgentMiddleware{serve.ClientTools()},
			ToolsConfig: adktest.Tools(adktest.NewTool("look", adktest.Says("seen")))},
			adktest.Calls(calls...), adktest.Says("Done.").SeeingLast(seen...))
	}
	for _, mineFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("chat ", mineFirst), func(t *testing.T) {
			a := newTwo(t, mineFirst)
			tools := `,"tools":[{"type":"function","function":{"name":"locate","description":"Locates.","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]`
			calls := a.chat(200, ask+tools+`}`).Choices[0].Message.ToolCalls
			require.Len(t, calls, 1)
			next := strings.TrimSuffix(ask, "]") + `,{"role":"assistant","content":null,"tool_calls":[]},` +
				fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"here"}]`, calls[0].ID)
			for range 2 { // again: the response was lost
				require.Equal(t, "Done.", a.chat(200, next+tools+`}`).Choices[0].Message.Content)
			}
		})
		t.Run(fmt.Sprint("responses ", mineFirst), func(t *testing.T) {
			a := newTwo(t, mineFirst)
			const tools = `,"tools":[{"type":"function","name":"locate","description":"Locates.","parameters":{"type":"object"}}]`
			var r struct {
				ID     string
				Output []struct {
					Type   string
					CallID string `json:"call_id"`
				}
			}
			require.NoError(t, json.Unmarshal(a.post(200, "/v1/responses", `{"model":"desk","input":"x"`+tools+`}`), &r))
			call := r.Output[len(r.Output)-1]
			require.Equal(t, "function_call", call.Type)
			for _, previous := range []string{r.ID, r.ID, ""} { // again: the response was lost
				require.Contains(t, string(a.post(200, "/v1/responses", strings.Replace(fmt.Sprintf(`{"model":"desk","previous_response_id":%q,
					"input":[{"type":"function_call_output","call_id":%q,"output":"here"}]%s}`, previous, call.CallID, tools),
					`"previous_response_id":"",`, "", 1))), "Done.")
			}
		})
	}
}

func TestChat_TakesResultsOfOtherServersForHistory(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{},
		adktest.Says("Lisbon.").Seeing("user: Hi", `assistant: [locate#weft:r_gone:p {}]`, "tool #weft:r_gone:p: here"))
	c := a.chat(200, strings.TrimSuffix(ask, "]")+`,{"role":"assistant","tool_calls":[{"id":"weft:r_gone:p","type":"function","function":{"name":"locate","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"weft:r_gone:p","content":"here"}]}`)
	require.Equal(t, "Lisbon.", c.Choices[0].Message.Content)
}

func paying(t *testing.T, paid *int) adk.ChatModelAgentConfig {
	t.Helper()
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	return adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{guard},
		ToolsConfig: adktest.Tools(adktest.NewTool("pay", adktest.Says("paid").Repeated()))}
}

func TestChat_AsksInWordsAndIsAnsweredByText(t *testing.T) {
	for word, want := range map[string]string{"yes": "tool pay#call_1: paid", "No.": "tool pay#call_1: The user rejected this call of the tool. Do not try it again unless the user asks for it."} {
		a := newAPI(t, Config{AnswerByText: true}, serve.Config{}, paying(t, nil), adktest.Calls(adktest.Call("pay", `{}`)),
			adktest.Says("Done.").SeeingLast(want))
		thread := `,"metadata":{"thread":"t1"}}`
		c := a.chat(200, ask+thread)
		require.Equal(t, "May pay run with {}?", c.Choices[0].Message.Content)
		require.Equal(t, "approval", c.Weft.Interrupts[0].Kind)
		require.Equal(t, "questions_open", a.chat(409, ask+thread).Error.Code)
		require.Equal(t, "Done.", a.chat(200, `{"model":"desk","messages":[{"role":"user","content":"`+word+`"}]`+thread).Choices[0].Message.Content)
	}
}

func TestChat_SaysWhatIsWrongInWordsOfTheAPI(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{}, adktest.Fails(errors.New("canary-1")).Repeated())
	for want, body := range map[string]string{
		"404 model_not_found": `{"model":"nobody","messages":[{"role":"user","content":"x"}]}`,
		"400 bad_request":     `{"model":"desk","messages":[]}`,
		"400 bad_request ":    ask + `,"n":2}`,
		"400 bad_request  ":   ask + `,"response_format":{"type":"json_schema"}}`,
		"400 bad_request   ":  ask + `,"tools":[{"type":"function","function":{"name":"x"}}]}`,
		"400 bad_request    ": ask + `,"temperature":3}`,
		"500 internal":        ask + `}`,
	} {
		var status int
		var code string
		_, err := fmt.Sscan(want, &status, &code)
		require.NoError(t, err)
		c := a.chat(status, body)
		require.Equal(t, code, c.Error.Code, body)
		require.NotContains(t, c.Error.Message, "canary")
	}
	data := a.stream("/v1/chat/completions", ask+`,"stream":true}`)
	require.Contains(t, data[len(data)-1], `"error"`)
	require.NotContains(t, strings.Join(data, ""), "canary")
}

// Rule serving/OA1.
func TestModels_AreTheAgents(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{})
	for path, want := range map[string]int{"/v1/models": 200, "/v1/models/desk": 200, "/v1/models/nobody": 404, "/v1/embeddings": 404} {
		answer, err := http.Get(a.url + path)
		require.NoError(t, err)
		data, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		require.Equal(t, want, answer.StatusCode, path)
		if want == 200 {
			require.Contains(t, string(data), `"id":"desk"`)
		}
	}
}

// kinds are the types of the events of a stream, without repetitions.
func kinds(t *testing.T, data []string) (kinds []string, last map[string]any) {
	t.Helper()
	for i, text := range data {
		var e map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &e))
		require.EqualValues(t, i, e["sequence_number"])
		if kind := e["type"].(string); len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
		last = e
	}
	return kinds, last
}

// Rule serving/OA3.
func TestResponses_StreamsItsEvents(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{}, adktest.Streams("Hel", "lo."), adktest.Says("Ana.").Seeing("user: I am Ana.", "assistant: Hello.", "user: Who am I?"))
	all, last := kinds(t, a.stream("/v1/responses", `{"model":"desk","input":"I am Ana.","stream":true}`))
	require.Equal(t, []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done",
		"response.completed"}, all)
	first := last["response"].(map[string]any)
	require.Equal(t, "completed", first["status"])
	var second struct {
		Output []struct{ Content []struct{ Text string } }
		Usage  struct {
			Total int `json:"total_tokens"`
		}
	}
	require.NoError(t, json.Unmarshal(a.post(200, "/v1/responses", fmt.Sprintf(`{"model":"desk","input":[{"role":"user","content":[{"type":"input_text","text":"Who am I?"}]}],"previous_response_id":%q}`, first["id"])), &second))
	require.Equal(t, "Ana.", second.Output[0].Content[0].Text)
}

func TestResponses_ApprovesByItsOwnItems(t *testing.T) {
	for _, approve := range []bool{true, false} {
		want := map[bool]string{true: "tool pay#call_1: paid", false: "tool pay#call_1: The user rejected this call of the tool: not now"}[approve]
		a := newAPI(t, Config{}, serve.Config{}, paying(t, nil), adktest.Calls(adktest.Call("pay", `{"a":1}`)), adktest.Says("Done.").SeeingLast(want))
		var first struct {
			ID     string
			Output []struct{ Type, ID, Name, Arguments string }
		}
		require.NoError(t, json.Unmarshal(a.post(200, "/v1/responses", `{"model":"desk","input":"Pay!"}`), &first))
		require.Equal(t, "mcp_approval_request", first.Output[0].Type)
		require.Equal(t, "pay", first.Output[0].Name)
		require.Equal(t, `{"a":1}`, first.Output[0].Arguments)
		for _, bad := range []string{`"approve":"true"`, `"approve":1`, `"approve":null`, `"approved":true`, `"reason":"yes"`, `"Approve":true`,
			`"approve":true,"approve":true`, `"approve":false,"approve":true`, `"approve":[true]`, `"approve":{}`, `"approve ":true`, `"APPROVE":true`} {
			a.post(400, "/v1/responses", fmt.Sprintf(`{"model":"desk","previous_response_id":%q,"input":[{"type":"mcp_approval_response","approval_request_id":%q,%s}]}`,
				first.ID, first.Output[0].ID, bad))
		}
		var second struct {
			Output []struct{ Content []struct{ Text string } }
		}
		require.NoError(t, json.Unmarshal(a.post(200, "/v1/responses", fmt.Sprintf(`{"model":"desk","previous_response_id":%q,"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":%v,"reason":"not now"}]}`,
			first.ID, first.Output[0].ID, approve)), &second))
		require.Equal(t, "Done.", second.Output[0].Content[0].Text)
	}
}

func TestResponses_HasTheClientCallItsTools(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{AllowClientTools: true}, adk.ChatModelAgentConfig{
		Handlers: []adk.ChatModelAgentMiddleware{serve.ClientTools()}},
		adktest.Calls(adktest.Call("locate", `{}`)), adktest.Says("Lisbon.").SeeingLast("tool locate#call_1: here"))
	tools := `"tools":[{"type":"function","name":"locate"}]`
	var first struct {
		ID     string
		Output []struct {
			Type   string
			CallID string `json:"call_id"`
		}
	}
	require.NoError(t, json.Unmarshal(a.post(200, "/v1/responses", `{"model":"desk","input":"Where?",`+tools+`}`), &first))
	require.Equal(t, "function_call", first.Output[0].Type)
	all := string(a.post(200, "/v1/responses", fmt.Sprintf(`{"model":"desk","previous_response_id":%q,%s,"input":[{"type":"function_call_output","call_id":%q,"output":"here"}]}`,
		first.ID, tools, first.Output[0].CallID)))
	require.Contains(t, all, "Lisbon.")
}

func FuzzChatRequest(f *testing.F) {
	for _, seed := range []string{ask + `}`, `{"messages":[{"role":"tool","tool_call_id":"weft:a:b","content":[{"type":"text","text":"x"}]}],"stop":["a"]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA=="}}]}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var q chatRequest
		if json.Unmarshal(data, &q) != nil {
			return
		}
		q.results()
		if _, err := q.start(true); err != nil {
			require.Less(t, serve.ProblemOf(err).Status(), 500)
		}
	})
}

func FuzzResponsesRequest(f *testing.F) {
	for _, seed := range []string{`{"input":"x"}`, `{"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a\"","name":"b"},{"type":"function_call_output","call_id":"weft:a:b","output":"x"},{"type":"mcp_approval_response","approval_request_id":"mcpr_a","approve":true}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var q responsesRequest
		if json.Unmarshal(data, &q) != nil {
			return
		}
		if _, _, err := q.messages(true); err != nil {
			require.Less(t, serve.ProblemOf(err).Status(), 500)
		}
	})
}
