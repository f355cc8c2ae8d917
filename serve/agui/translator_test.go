package agui

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// shownOf returns the events that a translator makes of the events of a run, which a client accepts.
func shownOf(t *testing.T, conf Config, legacy bool, events ...runlog.Event) *reader {
	t.Helper()
	r := newReader()
	tr := newTranslator("t", "r", conf, legacy, r.must(t))
	tr.parentRunID = "r0"
	tr.descriptions = map[string]string{"helper": "It helps."}
	for i := range events {
		tr.add(&events[i])
	}
	require.True(t, r.ended)
	return r
}

func data(kind runlog.Type, span, parent runlog.SpanID, d any) runlog.Event {
	return runlog.Event{Type: kind, Span: span, Parent: parent, Data: d}
}

func piece(kind runlog.DeltaKind, text string) runlog.Event {
	return data(runlog.ModelDelta, 2, 1, &runlog.ModelDeltaData{Kind: kind, Text: text})
}

func done(u runs.Usage) runlog.Event {
	return data(runlog.RunEnd, 0, 0, &runlog.RunEndData{Status: runs.Done, Usage: u})
}

// kinds returns the types of events, without the types of a beginning and an end.
func (r *reader) kinds() (all []string) {
	for _, e := range r.events[1 : len(r.events)-1] {
		all = append(all, e.Type)
	}
	return all
}

// A model that thinks again between texts is shown each time, under an ID of its own.
func TestTranslator_ShowsThoughtsBetweenTexts(t *testing.T) {
	begin := data(runlog.ModelStart, 2, 1, &runlog.ModelStartData{})
	end := data(runlog.ModelEnd, 2, 1, &runlog.ModelEndData{})
	args := data(runlog.ModelDelta, 2, 1, &runlog.ModelDeltaData{Kind: runlog.Args, Call: "c", Name: "look"})
	r := shownOf(t, Config{}, false, begin, piece(runlog.Reasoning, "a"), piece(runlog.Text, "1"), piece(runlog.Reasoning, "b"),
		piece(runlog.Text, "2"), args, piece(runlog.Reasoning, "c"), end, done(runs.Usage{}))
	thoughts := ""
	for _, e := range r.events {
		if e.Type == "REASONING_MESSAGE_CONTENT" {
			thoughts += e.Delta.(string)
		}
	}
	require.Equal(t, "abc", thoughts)
	require.Equal(t, []string{"1", "2"}, r.shown())
}

// Steps belong to the scope that they are in, messages end before them, and hidden ones do not show.
func TestTranslator_ShowsSteps(t *testing.T) {
	events := []runlog.Event{data(runlog.NodeStart, 1, 0, &runlog.NodeStartData{Node: "plan"}),
		data(runlog.NodeStart, 3, 0, &runlog.NodeStartData{Node: "plan"}), data(runlog.ModelStart, 2, 1, &runlog.ModelStartData{}),
		piece(runlog.Text, "Hi"), done(runs.Usage{})}
	r := shownOf(t, Config{Steps: true}, false, events...)
	require.Equal(t, []string{"STEP_STARTED", "STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
		"STEP_FINISHED", "STEP_FINISHED"}, r.kinds())
	require.Equal(t, []string{"plan", "plan (2)"}, []string{r.events[1].StepName, r.events[2].StepName})
	require.NotContains(t, shownOf(t, Config{}, false, events...).kinds(), "STEP_STARTED")

	inside := []runlog.Event{data(runlog.ToolStart, 1, 0, &runlog.ToolStartData{Call: "c", Name: "helper"}),
		data(runlog.AgentStart, 4, 1, &runlog.AgentStartData{Name: "helper", Call: "c"}),
		data(runlog.NodeStart, 5, 4, &runlog.NodeStartData{Node: "plan"}), data(runlog.NodeEnd, 5, 4, &runlog.NodeEndData{}), done(runs.Usage{})}
	require.NotContains(t, shownOf(t, Config{Steps: true}, true, inside...).kinds(), "STEP_FINISHED", "what began hidden ends hidden")
	r = shownOf(t, Config{Steps: true}, false, inside...)
	started := r.events[slices.Index(r.kinds(), "SUBAGENT_STARTED")+1]
	require.Equal(t, "It helps.", started.Description)
}

func TestTranslator_ShowsProgressUsageAndWhereARunComesFrom(t *testing.T) {
	r := shownOf(t, Config{}, false, data(runlog.ModelStart, 2, 1, &runlog.ModelStartData{Provider: "p", Model: "m"}),
		data(runlog.ModelEnd, 2, 1, &runlog.ModelEndData{}),
		data(runlog.Progress, 0, 3, &runlog.ProgressData{Call: "c", Message: "half"}),
		data(runlog.Custom, 0, 3, &runlog.CustomData{Name: "news", Value: json.RawMessage(`{"a":1}`)}),
		done(runs.Usage{Input: 1, InputCached: 2, InputCacheWrite: 3, Output: 4, OutputReasoning: 5, Total: 6}))
	require.Equal(t, "r0", r.events[0].ParentRunID)
	require.Equal(t, []string{"ACTIVITY_SNAPSHOT", "CUSTOM"}, r.kinds())
	require.Equal(t, "PROGRESS", r.events[1].ActivityType)
	require.True(t, r.events[1].Replace)
	require.Equal(t, []usage{{Provider: "p", Model: "m", Input: 1, CachedInput: 2, CachedWrites: 3, Output: 4, Reasoning: 5, Total: 6}},
		r.last().Usage)
}

// A client of before 1.0 is shown neither sub-agents nor the outcome cancelled, and what sub-agents say only if it is to.
// Rule serving/AG1.
func TestTranslator_ServesClientsOfBefore(t *testing.T) {
	inside := []runlog.Event{data(runlog.ToolStart, 3, 0, &runlog.ToolStartData{Call: "c", Name: "helper"}),
		data(runlog.AgentStart, 1, 3, &runlog.AgentStartData{Name: "helper", Call: "c"}),
		data(runlog.ModelStart, 2, 1, &runlog.ModelStartData{}), piece(runlog.Text, "I help."),
		data(runlog.RunEnd, 0, 0, &runlog.RunEndData{Status: runs.Paused})}
	r := shownOf(t, Config{}, true, inside...)
	require.Empty(t, r.shown())
	require.Equal(t, "RUN_ERROR cancelled", r.last().Type+" "+r.last().Code)
	r = shownOf(t, Config{ShowSubagents: true}, true, inside...)
	require.Equal(t, []string{"I help."}, r.shown())
	require.NotContains(t, r.kinds(), "SUBAGENT_STARTED")
}

// The tools and the model of an agent learn what the page sends beside its message: the model only if it is to.
// Rule serving/AG9.
func TestContext_ReachesTheAgent(t *testing.T) {
	var items []ContextItem
	var props struct{ Theme string }
	look, err := utils.InferTool("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
		var err error
		if items, err = Context(ctx); err != nil {
			return "", err
		}
		_, err = ForwardedProps(ctx, &props)
		return "seen", err
	})
	require.NoError(t, err)
	sent := strings.Replace(body("r1", user("u1", "Hi"), `,"forwardedProps":{"Theme":"dark"},"state":null`), `"context":[]`,
		`"context":[{"description":"The page","value":"Invoice 7"}]`, 1)
	for _, shows := range []bool{false, true} {
		conf := adk.ChatModelAgentConfig{Instruction: "Help.", ToolsConfig: adktest.Tools(tool.BaseTool(look))}
		instruction := "system: Help."
		if shows {
			conf.Handlers = []adk.ChatModelAgentMiddleware{ContextInstruction()}
			instruction += "\n\nThe page that the user looks at says:\n- The page: Invoice 7"
		}
		d := newDesk(t, Config{AllowState: true}, serve.Config{}, conf, adktest.Calls(adktest.Call("look", `{}`)).Seeing(instruction, "user: Hi"),
			adktest.Says("Done."))
		r := d.talk(sent)
		require.Equal(t, []string{"Done."}, r.shown())
		require.NotContains(t, r.kinds(), "STATE_SNAPSHOT", "null is no state")
		require.Equal(t, []ContextItem{{"The page", "Invoice 7"}}, items)
		require.Equal(t, "dark", props.Theme)
	}
	d := newDesk(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{})
	status, _ := d.post(body("r1", user("u1", "Hi"), `,"forwardedProps":{"x":"`+strings.Repeat("x", maxContext)+`"}`))
	require.Equal(t, 413, status)
}

// Results and media that a client sends are read as they are.
func TestInput_MakesTheHistoryOfATrustedClient(t *testing.T) {
	var in input
	require.NoError(t, json.Unmarshal([]byte(`{"messages":[{"role":"system","content":"Obey"},{"role":"reasoning","content":"hm"},
		{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}}]},
		{"role":"assistant","content":"sub","subagentRunId":"x"},
		{"role":"assistant","content":"See.","toolCalls":[{"id":"c","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","toolCallId":"c","error":"cut"}]}`), &in))
	for allow, want := range map[bool][]schema.RoleType{false: {schema.User, schema.Assistant, schema.Tool},
		true: {schema.System, schema.User, schema.Assistant, schema.Tool}} {
		messages, err := in.History(allow)
		require.NoError(t, err)
		var roles []schema.RoleType
		for _, m := range messages {
			roles = append(roles, m.Role)
		}
		require.Equal(t, want, roles)
		require.Equal(t, "cut", messages[len(messages)-1].Content)
	}
}

// A call is begun when its name is known, with the arguments that came before.
// Rule serving/AG1.
func TestTranslator_BeginsACallWhenItsNameIsKnown(t *testing.T) {
	args := func(name, text string) runlog.Event {
		return data(runlog.ModelDelta, 2, 1, &runlog.ModelDeltaData{Kind: runlog.Args, Call: "c1", Name: name, Text: text})
	}
	said := runlog.MessageOf(schema.AssistantMessage("", []schema.ToolCall{{ID: "c1",
		Function: schema.FunctionCall{Name: "look", Arguments: `{"a":1}`}}}))
	r := shownOf(t, Config{}, false, data(runlog.ModelStart, 2, 1, &runlog.ModelStartData{}), args("", ""), args("", `{"a"`),
		args("look", ""), args("", `:1}`), data(runlog.ModelEnd, 2, 1, &runlog.ModelEndData{Message: &said, Calls: []string{"c1"}}),
		done(runs.Usage{}))
	require.Equal(t, []string{"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_ARGS", "TOOL_CALL_END"}, r.kinds())
	require.Equal(t, "look", r.events[1].ToolCallName)
	require.JSONEq(t, `{"a":1}`, r.args["c1"])
}

// Clients of before 1.0 end a run with an error at a result that is no text; a result that the client has is not sent again.
// Rules serving/AG1, serving/AG11.
func TestTranslator_SendsResultsAsTheClientTakesThem(t *testing.T) {
	url := "https://example.com/a.png"
	parts := []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: "See"}, {Type: schema.ToolPartTypeImage,
		Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url, MIMEType: "image/png"}}}}
	events := []runlog.Event{data(runlog.ToolStart, 2, 1, &runlog.ToolStartData{Call: "c", Name: "look"}),
		data(runlog.ToolEnd, 2, 1, &runlog.ToolEndData{Call: "c", Parts: parts}), done(runs.Usage{})}
	results := func(legacy, has bool) (all []any) {
		tr := newTranslator("t", "r", Config{}, legacy, func(e event) {
			if e.Type == "TOOL_CALL_RESULT" {
				all = append(all, e.Content)
			}
		})
		tr.has = map[string]bool{"c": has}
		for i := range events {
			tr.add(&events[i])
		}
		return all
	}
	require.Equal(t, []any{"See\n(image)"}, results(true, false))
	require.IsType(t, []any{}, results(false, false)[0])
	require.Empty(t, results(false, true))
}

// Parts of type binary, which clients of before 1.0 send, are of the kind of their type.
// Rule serving/AG11.
func TestInput_TakesBinaryParts(t *testing.T) {
	var m inMessage
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","content":[{"type":"text","text":"x"},
		{"type":"binary","mimeType":"image/png","data":"AAAA"},
		{"type":"binary","mimeType":"application/pdf","url":"https://example.com/a.pdf","filename":"a.pdf"}]}`), &m))
	message, err := m.user()
	require.NoError(t, err)
	require.Equal(t, "AAAA", *message.UserInputMultiContent[1].Image.Base64Data)
	require.Equal(t, "a.pdf", message.UserInputMultiContent[2].File.Name)
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","content":[{"type":"binary","mimeType":"image/png","id":"f"}]}`), &m))
	_, err = m.user()
	require.Equal(t, serve.BadRequest, serve.ProblemOf(err).Code)
}
