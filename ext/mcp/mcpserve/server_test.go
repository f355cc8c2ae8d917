package mcpserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = bytes.Repeat([]byte("k"), 32)

func newServer(t *testing.T, conf mcpserve.Config) *mcpserve.Server {
	t.Helper()
	conf.Name, conf.Logger = "desk", slog.New(slog.DiscardHandler)
	if conf.Keys == nil {
		conf.Keys = [][]byte{key}
	}
	s, err := mcpserve.New(conf)
	require.NoError(t, err)
	return s
}

// connect is a client over HTTP that sees what it is asked, and can ask its user.
func connect(t *testing.T, s *mcpserve.Server, o mcpserve.HTTPOptions, client *http.Client) *mcp.ClientSession {
	t.Helper()
	return connectAs(t, s, o, client, &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}})
}

func connectAs(
	t *testing.T, s *mcpserve.Server, o mcpserve.HTTPOptions, client *http.Client, can *mcp.ClientCapabilities,
) *mcp.ClientSession {
	t.Helper()
	h, err := s.Handler(o)
	require.NoError(t, err)
	server := httptest.NewServer(h)
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, Capabilities: can})
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close(); server.Close() })
	return session
}

func call(t *testing.T, c *mcp.ClientSession, p mcp.CallToolParams) *mcp.CallToolResult {
	t.Helper()
	result, err := c.CallTool(t.Context(), &p)
	require.NoError(t, err)
	return result
}

// refuses holds that the state of a call is not accepted, as the protocol has it.
func refuses(t *testing.T, c *mcp.ClientSession, p mcp.CallToolParams) {
	t.Helper()
	_, err := c.CallTool(t.Context(), &p)
	var refused *jsonrpc.Error
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, jsonrpc.CodeInvalidParams, refused.Code)
	require.Contains(t, refused.Message, "not valid any more")
}

func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, r.Content)
	return r.Content[0].(*mcp.TextContent).Text
}

// desk is a server with an agent whose tool must be approved.
func desk(t *testing.T, conf mcpserve.Config, pay tool.BaseTool, script ...adktest.Answer) *mcpserve.Server {
	t.Helper()
	return deskOn(t, adktest.NewStore(), conf, pay, script...)
}

func deskOn(
	t *testing.T, store *adktest.Store, conf mcpserve.Config, pay tool.BaseTool, script ...adktest.Answer,
) *mcpserve.Server {
	t.Helper()
	ask, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "refund", Model: adktest.NewModel(t, script...),
		ToolsConfig: adktest.Tools(pay), Handlers: []adk.ChatModelAgentMiddleware{ask}})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: store})
	s := newServer(t, conf)
	require.NoError(t, mcpserve.AddAgent(s, runner, mcpserve.AgentOptions{Name: "refund", Description: "Refunds an order.", Structured: true}))
	return s
}

var request = mcp.CallToolParams{Name: "refund", Arguments: map[string]any{"request": "order 7"}}

// answered is the call again, with an answer to what was asked.
func answered(t *testing.T, r *mcp.CallToolResult, action string, content map[string]any) mcp.CallToolParams {
	t.Helper()
	require.True(t, r.NeedsInput())
	again := request
	again.RequestState, again.InputResponses = r.RequestState, mcp.InputResponseMap{}
	for id := range r.InputRequests {
		again.InputResponses[id] = &mcp.ElicitResult{Action: action, Content: content}
	}
	return again
}

// Rules mcp/MS2, mcp/MS4.
func TestAgent_AsksTheClientAndContinuesWithItsAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		action  string
		content map[string]any
		result  string
		runs    int
	}{
		"approved": {"accept", map[string]any{"approve": true}, "paid", 1},
		"rejected": {"accept", map[string]any{"approve": false, "text": "too dear"},
			"The user rejected this call of the tool: too dear", 0},
		"declined":  {"decline", nil, "The user rejected this call of the tool: the user declined", 0},
		"dismissed": {"cancel", nil, "The user rejected this call of the tool: the user dismissed the question without an answer", 0},
	} {
		t.Run(name, func(t *testing.T) {
			pay := adktest.NewTool("pay", adktest.Says("paid").Repeated())
			s := desk(t, mcpserve.Config{}, pay, adktest.Calls(adktest.Call("pay", `{}`)).Seeing("user: order 7"),
				adktest.Says("done").SeeingLast("tool pay#call_1: "+c.result))
			client := connect(t, s, mcpserve.HTTPOptions{}, nil)
			asked := call(t, client, request)
			require.Len(t, asked.InputRequests, 1)
			for _, r := range asked.InputRequests {
				require.Equal(t, "May pay run with {}?", r.(*mcp.ElicitParams).Message)
			}
			again := answered(t, asked, c.action, c.content)
			result := call(t, client, again)
			require.Equal(t, "done", text(t, result))
			require.Equal(t, "done", result.StructuredContent.(map[string]any)["text"])
			require.Len(t, pay.Calls(), c.runs)
			refuses(t, client, again)
			require.Len(t, pay.Calls(), c.runs)
		})
	}
}

// Only a JSON true approves.
// Rule mcp/MS4.
func TestAgent_WhatIsNoApprovalApprovesNothing(t *testing.T) {
	for _, content := range []map[string]any{nil, {}, {"approve": "true"}, {"approve": 1}, {"approve": true, "more": 1}, {"Approve": true}} {
		pay := adktest.NewTool("pay")
		client := connect(t, desk(t, mcpserve.Config{}, pay, adktest.Calls(adktest.Call("pay", `{}`))), mcpserve.HTTPOptions{}, nil)
		result := call(t, client, answered(t, call(t, client, request), "accept", content))
		require.True(t, result.IsError, "%v", content)
		require.Empty(t, pay.Calls())
	}
}

func TestAgent_TakesNoStateButItsOwn(t *testing.T) {
	pay := adktest.NewTool("pay")
	s := desk(t, mcpserve.Config{}, pay, adktest.Calls(adktest.Call("pay", `{}`)))
	client := connect(t, s, mcpserve.HTTPOptions{}, nil)
	good := answered(t, call(t, client, request), "accept", map[string]any{"approve": true})
	for name, change := range map[string]func(p *mcp.CallToolParams){
		"a changed byte":  func(p *mcp.CallToolParams) { p.RequestState = "A" + p.RequestState[1:] },
		"no signature":    func(p *mcp.CallToolParams) { p.RequestState = p.RequestState[:len(p.RequestState)-44] },
		"none":            func(p *mcp.CallToolParams) { p.RequestState = "" },
		"other arguments": func(p *mcp.CallToolParams) { p.Arguments = map[string]any{"request": "order 8"} },
	} {
		bad := good
		change(&bad)
		t.Log(name)
		refuses(t, client, bad)
	}
	require.Empty(t, pay.Calls())
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func TestAgent_AnswersBelongToWhoWasAsked(t *testing.T) {
	pay := adktest.NewTool("pay", adktest.Says("paid"))
	s := desk(t, mcpserve.Config{Keys: [][]byte{bytes.Repeat([]byte("n"), 32), key}}, pay,
		adktest.Calls(adktest.Call("pay", `{}`)), adktest.Says("done"))
	o := mcpserve.HTTPOptions{Verify: func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if token == "bad" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}}
	ann := connect(t, s, o, &http.Client{Transport: bearer("ann")})
	bob := connect(t, s, o, &http.Client{Transport: bearer("bob")})
	again := answered(t, call(t, ann, request), "accept", map[string]any{"approve": true})
	refuses(t, bob, again)
	require.Empty(t, pay.Calls())
	require.Equal(t, "done", text(t, call(t, ann, again)))
}

func TestAgent_AnswersCanComeTooLate(t *testing.T) {
	pay := adktest.NewTool("pay")
	s := desk(t, mcpserve.Config{AnswerTime: time.Nanosecond}, pay, adktest.Calls(adktest.Call("pay", `{}`)))
	client := connect(t, s, mcpserve.HTTPOptions{}, nil)
	again := answered(t, call(t, client, request), "accept", map[string]any{"approve": true})
	time.Sleep(1100 * time.Millisecond) // the time of a state is in seconds
	refuses(t, client, again)
	require.Empty(t, pay.Calls())
}

func TestAgent_ClientsThatCannotAskReadWhatTheyWouldBeAsked(t *testing.T) {
	s := desk(t, mcpserve.Config{}, adktest.NewTool("pay"), adktest.Calls(adktest.Call("pay", `{}`)))
	client := connectAs(t, s, mcpserve.HTTPOptions{}, nil, &mcp.ClientCapabilities{})
	result := call(t, client, request)
	require.True(t, result.IsError)
	require.Contains(t, text(t, result), "May pay run with {}?")
}

// Rule mcp/MS1.
func TestTool_AllKindsAreServed(t *testing.T) {
	s := newServer(t, mcpserve.Config{})
	png := "YWJj"
	parts := &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: "see"},
		{Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &png, MIMEType: "image/png"}}}}}
	for _, one := range []tool.BaseTool{adktest.NewTool("text", adktest.Says(`{"n":1}`)), adktest.NewStreamTool("stream", adktest.Streams("a", "b")),
		adktest.NewEnhancedTool("parts", adktest.Results(parts)), adktest.NewEnhancedStreamTool("part_stream", adktest.Results(parts)),
		adktest.NewTool("fails", adktest.Fails(errors.New("canary"))), adktest.NewTool("panics", adktest.Panics("canary"))} {
		require.NoError(t, s.AddTool(t.Context(), one, mcpserve.ToolOptions{}))
	}
	require.ErrorContains(t, s.AddTool(t.Context(), adktest.NewTool("a b"), mcpserve.ToolOptions{}), `tool "a b"`)
	require.Error(t, s.AddTool(t.Context(), nil, mcpserve.ToolOptions{}))
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	r := call(t, c, mcp.CallToolParams{Name: "text"})
	require.Equal(t, `{"n":1}`, text(t, r))
	require.Nil(t, r.StructuredContent)
	require.Equal(t, "ab", text(t, call(t, c, mcp.CallToolParams{Name: "stream"})))
	for _, name := range []string{"parts", "part_stream"} {
		r = call(t, c, mcp.CallToolParams{Name: name})
		require.Equal(t, "see", text(t, r))
		require.Equal(t, []byte("abc"), r.Content[1].(*mcp.ImageContent).Data)
	}
	for _, name := range []string{"fails", "panics"} {
		r = call(t, c, mcp.CallToolParams{Name: name})
		require.True(t, r.IsError)
		require.Equal(t, "the call failed", text(t, r))
	}
}

// A tool that has a schema of results answers what fits it, or an error: the protocol allows nothing else.
// Rule mcp/MS1.
func TestTool_WithAnOutputSchemaAnswersWhatFitsIt(t *testing.T) {
	s := newServer(t, mcpserve.Config{MaxText: 100})
	png := "YWJj"
	picture := schema.ToolOutputPart{Type: schema.ToolPartTypeImage,
		Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &png, MIMEType: "image/png"}}}
	object := schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: `{"n":1}`}
	parts := func(p ...schema.ToolOutputPart) adktest.Answer { return adktest.Results(&schema.ToolResult{Parts: p}) }
	output := schema.NewParamsOneOfByRawJSON(json.RawMessage(
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	for name, c := range map[string]struct {
		tool tool.BaseTool
		fits bool
	}{
		"text":    {adktest.NewTool("text", adktest.Says(`{"n":1}`)), true},
		"stream":  {adktest.NewStreamTool("stream", adktest.Streams(`{"n"`, `:1}`)), true},
		"both":    {adktest.NewEnhancedTool("both", parts(object, picture)), true},
		"prose":   {adktest.NewTool("prose", adktest.Says("one")), false},
		"list":    {adktest.NewTool("list", adktest.Says("[1]")), false},
		"other":   {adktest.NewTool("other", adktest.Says(`{"m":1}`)), false},
		"long":    {adktest.NewTool("long", adktest.Says(`{"n":1,"m":"`+strings.Repeat("m", 100)+`"}`)), false},
		"picture": {adktest.NewEnhancedStreamTool("picture", parts(picture)), false},
		"two":     {adktest.NewEnhancedTool("two", parts(object, object)), false},
	} {
		require.NoError(t, s.AddTool(t.Context(), c.tool, mcpserve.ToolOptions{Output: output}), name)
		r := call(t, connect(t, s, mcpserve.HTTPOptions{}, nil), mcp.CallToolParams{Name: name})
		require.Equal(t, !c.fits, r.IsError, name)
		if c.fits {
			require.Equal(t, map[string]any{"n": 1.0}, r.StructuredContent, name)
		} else {
			require.Nil(t, r.StructuredContent, name)
			require.Contains(t, text(t, r), "not of the form", name)
		}
	}
}

// Rule mcp/MS7.
func TestServer_BoundsResultsAsAWhole(t *testing.T) {
	s := newServer(t, mcpserve.Config{MaxText: 10})
	six := schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: "sixsix"}
	require.NoError(t, s.AddTool(t.Context(), adktest.NewEnhancedTool("long",
		adktest.Results(&schema.ToolResult{Parts: []schema.ToolOutputPart{six, six}})), mcpserve.ToolOptions{}))
	r := call(t, connect(t, s, mcpserve.HTTPOptions{}, nil), mcp.CallToolParams{Name: "long"})
	require.Equal(t, "sixsix", r.Content[0].(*mcp.TextContent).Text)
	require.Equal(t, "si\n[2 bytes are left out here]\nix", r.Content[1].(*mcp.TextContent).Text)
}

// Rule mcp/MS7.
func TestServer_SaysWhenItIsBusy(t *testing.T) {
	s := newServer(t, mcpserve.Config{MaxRuns: 1})
	began, stop := make(chan struct{}), make(chan struct{})
	require.NoError(t, s.AddTool(t.Context(), adktest.NewTool("sleep", adktest.Does(func(context.Context, string) (string, error) {
		close(began)
		<-stop
		return "slept", nil
	})), mcpserve.ToolOptions{}))
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	slept := make(chan *mcp.CallToolResult, 1)
	go func() {
		r, _ := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "sleep"})
		slept <- r
	}()
	<-began
	r := call(t, c, mcp.CallToolParams{Name: "sleep"})
	require.True(t, r.NeedsInput())
	require.Empty(t, r.InputRequests)
	close(stop)
	require.Equal(t, "slept", text(t, <-slept))
}

func TestNew_RefusesBadConfigurations(t *testing.T) {
	for want, conf := range map[string]mcpserve.Config{"Name is empty": {}, "less than 32 bytes": {Name: "s", Keys: [][]byte{[]byte("short")}},
		"negative": {Name: "s", MaxRuns: -1}} {
		_, err := mcpserve.New(conf)
		require.ErrorContains(t, err, want)
	}
}
