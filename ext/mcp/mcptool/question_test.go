package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

const payForm = `{"type":"object","properties":{"sure":{"type":"boolean"},"note":{"type":"string","default":"none"}},` +
	`"required":["sure"]}`

// asksToPay is a tool that asks before it pays.
func asksToPay(paid *atomic.Int32) mcp.ToolHandler {
	return func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{RequestState: "sum:5", InputRequests: mcp.InputRequestMap{
				"ok": &mcp.ElicitParams{Message: "Pay 5?", RequestedSchema: json.RawMessage(payForm)}}}, nil
		}
		if r.Params.RequestState != "sum:5" {
			return nil, errors.New("the state was changed")
		}
		answer := r.Params.InputResponses["ok"].(*mcp.ElicitResult)
		if answer.Action != "accept" {
			return says("the user said " + answer.Action), nil
		}
		paid.Add(1)
		return says(fmt.Sprintf("paid, sure %v, note %v", answer.Content["sure"], answer.Content["note"])), nil
	}
}

// cashier is an agent that pays, in a process with a store.
func cashier(t adktest.TB, srv *mcptool.Server, store adk.CheckPointStore, script ...adktest.Reply) *adk.Runner {
	agent, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: "cashier",
		Model: adktest.NewModel(t, script...), Handlers: []adk.ChatModelAgentMiddleware{srv.Middleware()}})
	if err != nil {
		panic(err)
	}
	return adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: agent, CheckPointStore: store})
}

// asked are the questions with which a run stopped, and the ID of the first.
func asked(t *testing.T, e *adktest.Events[*adkMessage]) (*mcptool.Question, string) {
	t.Helper()
	all := e.ExpectNoError().All()
	last := all[len(all)-1].Action
	require.NotNil(t, last, e.Lines())
	point := last.Interrupted.InterruptContexts[0]
	return point.Info.(*mcptool.Question), point.ID
}

func resume(t *testing.T, r *adk.Runner, point string, answer any) (*adktest.Events[*adkMessage], error) {
	t.Helper()
	events, err := r.ResumeWithParams(t.Context(), "1", &adk.ResumeParams{Targets: map[string]any{point: answer}})
	if err != nil {
		return nil, err
	}
	return adktest.Collect(t, events), nil
}

func httpServer(t *testing.T, s *mcp.Server) string {
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(h.Close)
	return h.URL
}

// runUntilAsked is a process that runs an agent until it is asked something, and ends.
func runUntilAsked() {
	store, err := checkpoint.NewFileStore(os.Getenv("WEFT_MCP_TEST_DIR"))
	if err != nil {
		panic(err)
	}
	srv, err := mcptool.New(mcptool.Config{Name: "s", URL: os.Getenv("WEFT_MCP_TEST_URL")})
	if err != nil {
		panic(err)
	}
	r := cashier(panics{}, srv, store, adktest.Calls(adktest.Call("pay", `{"n":1}`)))
	for events := r.Query(context.Background(), "pay", adk.WithCheckPointID("1")); ; {
		e, ok := events.Next()
		if !ok {
			break
		}
		if e.Err != nil {
			panic(e.Err)
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			fmt.Println("point", e.Action.Interrupted.InterruptContexts[0].ID)
		}
	}
}

// panics fails by panics.
type panics struct{}

func (panics) Helper()                           {}
func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) Cleanup(func())                    {}

// Rules mcp/MC22, mcp/MC23.
func TestQuestion_IsAnsweredInAnotherProcess(t *testing.T) {
	var paid atomic.Int32
	s := newServer()
	addTool(s, "pay", asksToPay(&paid))
	url, dir := httpServer(t, s), t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childMode+"=asks", "WEFT_MCP_TEST_DIR="+dir, "WEFT_MCP_TEST_URL="+url)
	out, err := child.CombinedOutput()
	require.NoError(t, err, string(out))
	_, point, found := strings.Cut(strings.TrimSpace(string(out)), "point ")
	require.True(t, found, string(out))
	require.Zero(t, paid.Load())

	store, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	srv := open(t, mcptool.Config{URL: url})
	r := cashier(t, srv, store, adktest.Says("done").SeeingLast("tool pay#call_1: paid, sure true, note none"))
	events, err := resume(t, r, point, adk.JSONAnswer(`{"ok":{"action":"accept","content":{"sure":true}}}`))
	require.NoError(t, err)
	events.ExpectText("done")
	require.EqualValues(t, 1, paid.Load())
}

func TestQuestion_AnswersThatDoNotFitAreAskedAgain(t *testing.T) {
	var paid atomic.Int32
	s := newServer()
	addTool(s, "pay", asksToPay(&paid))
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	r := cashier(t, srv, adktest.NewStore(), adktest.Calls(adktest.Call("pay", `{}`)),
		adktest.Says("done").SeeingLast("tool pay#call_1: the user said decline"))
	q, point := asked(t, adktest.Collect(t, r.Query(t.Context(), "pay", adk.WithCheckPointID("1"))))
	require.Equal(t, "Pay 5?", q.Inputs[0].Message)
	require.JSONEq(t, payForm, string(q.Inputs[0].Schema))
	require.Equal(t, adk.Question{Kind: adk.QuestionPlain, Summary: "MCP server s asks: Pay 5?"}, adk.QuestionOf(q))

	for _, bad := range []any{"yes", mcptool.Answers{"other": {Action: "accept"}}, mcptool.Answers{"ok": {Action: "sure"}},
		adk.JSONAnswer(`[]`)} {
		_, err := resume(t, r, point, bad)
		require.ErrorContains(t, err, "is refused", "%v", bad)
	}
	events, err := resume(t, r, point, mcptool.Answers{"ok": {Action: "accept", Content: map[string]any{"sure": "yes"}}})
	require.NoError(t, err)
	q, point = asked(t, events)
	require.Contains(t, q.Refused, "ok: sure must be of type boolean")
	events, err = resume(t, r, point, nil)
	require.NoError(t, err)
	_, point = asked(t, events)
	require.Zero(t, paid.Load())
	events, err = resume(t, r, point, mcptool.Answers{"ok": {Action: "decline"}})
	require.NoError(t, err)
	events.ExpectText("done")
	require.Zero(t, paid.Load())
}

func TestQuestion_RoundsAndPartsOfAnswers(t *testing.T) {
	s := newServer()
	form := func(text string) *mcp.ElicitParams {
		return &mcp.ElicitParams{Message: text, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"array"}}}`)}
	}
	addTool(s, "pay", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch r.Params.RequestState {
		case "":
			return &mcp.CallToolResult{RequestState: "1", InputRequests: mcp.InputRequestMap{"a": form("A?"), "b": form("B?")}}, nil
		case "1":
			a := r.Params.InputResponses["a"].(*mcp.ElicitResult).Content["x"]
			return &mcp.CallToolResult{RequestState: fmt.Sprint(a), InputRequests: mcp.InputRequestMap{
				"c": &mcp.ElicitParams{Mode: "url", Message: "Log in", URL: "https://example.com/in"}}}, nil
		}
		return says(r.Params.RequestState + r.Params.InputResponses["c"].(*mcp.ElicitResult).Action), nil
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	r := cashier(t, srv, adktest.NewStore(), adktest.Calls(adktest.Call("pay", `{}`)),
		adktest.Says("done").SeeingLast("tool pay#call_1: [one 2]accept"))
	q, point := asked(t, adktest.Collect(t, r.Query(t.Context(), "pay", adk.WithCheckPointID("1"))))
	require.Len(t, q.Inputs, 2)
	events, err := resume(t, r, point,
		mcptool.Answers{"a": {Action: "accept", Content: map[string]any{"x": []any{"one", 2}}}})
	require.NoError(t, err)
	q, point = asked(t, events)
	require.Equal(t, "b", q.Inputs[0].ID)
	events, err = resume(t, r, point, mcptool.Answers{"b": {Action: "cancel"}})
	require.NoError(t, err)
	q, point = asked(t, events)
	require.Equal(t, "MCP server s asks: Log in (opens example.com)", q.Asks().Summary)
	events, err = resume(t, r, point, mcptool.Answers{"c": {Action: "accept"}})
	require.NoError(t, err)
	events.ExpectText("done")
}

// Rules mcp/MC27, mcp/MC28.
func TestQuestion_WhatCannotBeAskedIsAnError(t *testing.T) {
	form := func(schema string) mcp.InputRequestMap {
		return mcp.InputRequestMap{"a": &mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(schema)}}
	}
	page := func(url string) mcp.InputRequestMap {
		return mcp.InputRequestMap{"a": &mcp.ElicitParams{Mode: "url", Message: "m", URL: url}}
	}
	many := mcp.InputRequestMap{}
	for i := range 33 {
		many[fmt.Sprint(i)] = &mcp.ElicitParams{Message: "m"}
	}
	for want, requests := range map[string]mcp.InputRequestMap{
		"nested":            form(`{"type":"object","properties":{"x":{"type":"object"}}}`),
		"not that of an":    form(`{"type":"string"}`),
		"is no object":      form(`{"type":"object","properties":{"x":1}}`),
		"not of https":      page("http://example.com"),
		"has a user in it":  page("https://bank.com@example.com/"),
		"33 things at once": many,
	} {
		s := newServer()
		addTool(s, "ask", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{RequestState: "s", InputRequests: requests}, nil
		})
		srv := open(t, mcptool.Config{Transport: inProcess(s)})
		_, err := call(t.Context(), named(t, srv, "ask"), "{}")
		var failed *mcptool.CallError
		require.ErrorAs(t, err, &failed, want)
		require.Equal(t, mcptool.Protocol, failed.Kind)
		require.ErrorContains(t, err, want)
	}
}

func TestElicit_AnswersAtOnce(t *testing.T) {
	var paid atomic.Int32
	s := newServer()
	addTool(s, "pay", asksToPay(&paid))
	srv := open(t, mcptool.Config{Transport: inProcess(s),
		Elicit: func(_ context.Context, in mcptool.Input, _ []mcptool.Call) (mcptool.Answer, error) {
			return mcptool.Answer{Action: "accept", Content: map[string]any{"sure": true, "note": in.Message}}, nil
		}})
	result, err := call(t.Context(), named(t, srv, "pay"), "{}")
	require.NoError(t, err)
	require.Equal(t, "paid, sure true, note Pay 5?", result.Parts[0].Text)
}
