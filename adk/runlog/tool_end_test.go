package runlog_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// remote is a tool of another program: its result is an error, with structured content, and it says how far it is.
type remote struct{}

func (remote) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "remote", Desc: "remote"}, nil
}

func (remote) InvokableRun(ctx context.Context, _ *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	err := adk.SendEvent(ctx, &adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: halfway{compose.GetToolCallID(ctx)}}})
	if err != nil {
		return nil, err
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: "no", Extra: map[string]any{
		"is_error": true, "mcp.result": `{"content":[],"structuredContent":{"why":"no"}}`}}}}, nil
}

// halfway says how far a call is.
type halfway struct{ call string }

func (h halfway) Progress() (call string, done, total float64, message string) {
	return h.call, 1, 2, "half"
}

// What tools of other programs say of a result, and how far they are, is recorded in the words of the log.
//
// Rule runlog/RL2.
func TestObserve_ResultsAndProgressOfOtherPrograms(t *testing.T) {
	events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, adktest.Calls(adktest.Call("remote", "{}")), adktest.Says("done"))}, remote{})})
	var end *runlog.ToolEndData
	var progress *runlog.ProgressData
	for i := range events {
		switch d := events[i].Data.(type) {
		case *runlog.ToolEndData:
			end = d
		case *runlog.ProgressData:
			progress = d
		case *runlog.CustomData:
			t.Errorf("%+v", d)
		}
	}
	require.True(t, end.IsError)
	require.Nil(t, end.Error)
	require.JSONEq(t, `{"why":"no"}`, string(end.Structured))
	require.Equal(t, end.Call, progress.Call)
	require.Equal(t, 2.0, *progress.Total)
	require.Equal(t, "half", progress.Message)
}

// form is a question whose answer has a form, and link one that sends the person somewhere.
type form struct{}

func (form) Asks() runs.Question {
	return runs.Question{Text: "who?", Schema: json.RawMessage(`{"type":"object"}`)}
}

type link struct{}

func (link) Asks() runs.Question {
	return runs.Question{Text: "sign in", URL: "https://example.com/in"}
}

// Rule runlog/RL2.
func TestObserve_QuestionsHaveTheFormOfTheirAnswers(t *testing.T) {
	for want, info := range map[string]any{`{"type":"object"} `: form{}, " https://example.com/in": link{}} {
		ask := adktest.NewTool("ask", adktest.Does(func(ctx context.Context, _ string) (string, error) {
			return "", tool.Interrupt(ctx, info)
		}))
		events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
			Model: adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")))}, ask)})
		var point runs.Question
		for i := range events {
			if d, ok := events[i].Data.(*runlog.WaitingData); ok {
				point = d.Questions[0]
			}
		}
		require.Equal(t, runs.KindQuestion, point.Kind)
		require.Equal(t, want, string(point.Schema)+" "+point.URL)
	}
}
