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
	"github.com/weftgo/weft/runs"
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
func cashier(t adktest.TB, srv *mcptool.Server, store adk.CheckPointStore, script ...adktest.Answer) *adk.Runner {
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
	events, err := resume(t, r, point, runs.JSONReply(`{"ok":{"action":"accept","content":{"sure":true}}}`))
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
	listed := runs.NewQuestion(point, q)
	require.Equal(t, runs.KindQuestion, listed.Kind)
	require.Equal(t, "MCP server s asks: Pay 5?", listed.Text)
	require.JSONEq(t, `{"type":"object","required":["ok"],"properties":{"ok":{"type":"object","required":["action"],"properties":{
		"action":{"enum":["accept","decline","cancel"]},"content":`+payForm+`}}}}`, string(listed.Schema))

	for _, bad := range []any{"yes", mcptool.Answers{"other": {Action: "accept"}}, mcptool.Answers{"ok": {Action: "sure"}},
		runs.JSONReply(`[]`)} {
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
	require.Equal(t, "MCP server s asks: Log in (opens example.com)", q.Asks().Text)
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
		"\"y\" is nested":   form(`{"type":"object","properties":{"y":{"type":["null","object"]}}}`),
		"\"i\" is nested":   form(`{"type":"object","properties":{"i":{"type":"array","items":{"type":"object"}}}}`),
		"\"l\" is nested":   form(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"array"}}}}`),
		"\"r\" is nested":   form(`{"type":"object","properties":{"r":{"$ref":"#/$defs/r"}}}`),
		"\"u\" is nested":   form(`{"type":"object","properties":{"u":{"anyOf":[{"type":"string"},{"properties":{"z":{}}}]}}}`),
		"a form has none":   form(`{"type":"object","allOf":[{"properties":{"z":{"type":"object"}}}]}`),
		"schema is too":     form(`{"type":"object","description":"` + strings.Repeat("x", 64<<10) + `"}`),
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

// Fields with plain values, titled choices, and lists of them, are forms.
// Rule mcp/MC28.
func TestQuestion_ChoicesAreNotNested(t *testing.T) {
	s := newServer()
	addTool(s, "ask", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := r.Params.InputResponses["a"]; a != nil {
			return says(fmt.Sprint(a.(*mcp.ElicitResult).Content)), nil
		}
		return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{Message: "m",
			RequestedSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
				"size":{"type":"string","oneOf":[{"const":"s","title":"small"},{"const":"l","title":"large"}]},
				"colors":{"type":"array","items":{"anyOf":[{"const":"red","title":"Red"},{"const":"blue","title":"Blue"}]}}}}`)}}}, nil
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s),
		Elicit: func(context.Context, mcptool.Input, []mcptool.Call) (mcptool.Answer, error) {
			return mcptool.Answer{Action: "accept", Content: map[string]any{"size": "s", "colors": []any{"red"}}}, nil
		}})
	result, err := call(t.Context(), named(t, srv, "ask"), "{}")
	require.NoError(t, err)
	require.Equal(t, "map[colors:[red] size:s]", result.Parts[0].Text)
}

// An error of ours is not said to be one of the server.
// Rule mcp/MC22.
func TestElicit_ThatFailsLeavesTheCallUnanswered(t *testing.T) {
	s := newServer()
	addTool(s, "pay", asksToPay(new(atomic.Int32)))
	for want, elicit := range map[string]func() (mcptool.Answer, error){
		"nobody is there":     func() (mcptool.Answer, error) { return mcptool.Answer{}, errors.New("nobody is there") },
		"panic in":            func() (mcptool.Answer, error) { panic("bad") },
		"the action \"sure\"": func() (mcptool.Answer, error) { return mcptool.Answer{Action: "sure"}, nil },
	} {
		srv := open(t, mcptool.Config{Transport: inProcess(s),
			Elicit: func(context.Context, mcptool.Input, []mcptool.Call) (mcptool.Answer, error) { return elicit() }})
		_, err := call(t.Context(), named(t, srv, "pay"), "{}")
		require.ErrorContains(t, failure(t, err, mcptool.Unanswered), want)
		require.NotContains(t, err.Error(), "refused")
	}
}

// What the user has done on a page of the server is progress of the calls in flight, and resumes nothing.
// Rule mcp/MC27.
func TestQuestion_ThatWasAnsweredElsewhereIsProgress(t *testing.T) {
	s := newServer()
	working, done := make(chan struct{}), make(chan struct{})
	addTool(s, "login", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		notice := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 3}
		if err := r.Session.NotifyProgress(ctx, notice); err != nil {
			return nil, err
		}
		<-working
		err := r.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: "page-1"})
		<-done
		return says("in"), err
	})
	r := cashier(t, open(t, mcptool.Config{Transport: inProcess(s)}), adktest.NewStore(),
		adktest.Calls(adktest.Call("login", `{}`)), adktest.Says("done"))
	var seen []mcptool.Progress
	for e := range r.Query(t.Context(), "log in").All() {
		require.NoError(t, e.Err)
		if e.Output == nil {
			continue
		}
		p, ok := e.Output.CustomizedOutput.(*mcptool.Progress)
		if !ok {
			continue
		}
		if seen = append(seen, *p); p.Elicitation == "" {
			close(working)
		} else {
			close(done)
		}
	}
	whole := mcptool.Progress{Server: "s", Tool: "login", CallID: "call_1", Done: 1, Total: 3}
	finished := whole
	finished.Elicitation = "page-1"
	require.Equal(t, []mcptool.Progress{whole, finished}, seen)
	callID, n, of, message := finished.Progress()
	require.Equal(t, []any{"call_1", 1.0, 3.0, ""}, []any{callID, n, of, message})
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
