package runlog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

type payment struct {
	To string `json:"to"`
}

// payer is a tool that pays alice when it has paid bob.
func payer(t *testing.T) tool.BaseTool {
	bob := make(chan struct{})
	pay, err := utils.InferTool("pay", "Pays.", func(ctx context.Context, p payment) (string, error) {
		if p.To == "alice" {
			<-bob
		} else {
			defer close(bob)
		}
		call := compose.GetToolCallID(ctx)
		err := adk.SendEvent(ctx, &adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: runlog.ProgressData{Call: call, Message: p.To}}})
		return "paid " + p.To, err
	})
	require.NoError(t, err)
	return pay
}

// approves asks before each payment.
func approves(t *testing.T) adk.ChatModelAgentMiddleware {
	m, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	return m
}

// twoPayments is an answer whose two calls have one ID, whole or in chunks.
func twoPayments(chunks bool) adktest.Answer {
	call := func(index int, to string) schema.ToolCall {
		c := schema.ToolCall{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "pay", Arguments: `{"to":"` + to + `"}`}}
		if chunks {
			c.Index = &index
		}
		return c
	}
	alice, bob := call(0, "alice"), call(1, "bob")
	if !chunks {
		return adktest.Messages(schema.AssistantMessage("", []schema.ToolCall{alice, bob}))
	}
	return adktest.Messages(schema.AssistantMessage("", []schema.ToolCall{alice}), schema.AssistantMessage("", []schema.ToolCall{bob}))
}

// requireOneToOne checks that what is recorded of each call is of that call: what it was asked, how far it was, what came
// of it.
func requireOneToOne(t *testing.T, events []runlog.Event) {
	t.Helper()
	asked, came, progress := map[string]string{}, map[string]string{}, map[string]string{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *runlog.ModelEndData:
			if d.Message == nil || d.Message.Chat == nil {
				continue
			}
			for i, c := range d.Message.Chat.ToolCalls {
				var p payment
				require.NoError(t, json.Unmarshal([]byte(c.Function.Arguments), &p))
				asked[d.Calls[i]] = p.To
			}
		case *runlog.ProgressData:
			progress[d.Call] = d.Message
		case *runlog.ToolEndData:
			if d.Parts != nil {
				came[d.Call] = d.Parts[0].Text
			}
		}
	}
	require.Equal(t, map[string]string{"c1": "alice", "c1~2": "bob"}, asked)
	require.Equal(t, asked, progress)
	require.Equal(t, map[string]string{"c1": "paid alice", "c1~2": "paid bob"}, came)
}

// What is recorded about calls is of the right one, also if several calls of an answer have one ID.
// Rule runlog/RL6.
func TestObserve_TellsCallsWithOneIDApart(t *testing.T) {
	for _, chunks := range []bool{false, true} {
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "pays",
			Model: adktest.NewModel(t, twoPayments(chunks), adktest.Says("Done.")), ToolsConfig: adktest.Tools(payer(t))})
		require.NoError(t, err)
		requireOneToOne(t, record(t, adk.RunnerConfig{Agent: agent, EnableStreaming: chunks}))
	}
}

// A question about a call names the right one, also if several calls of an answer have one ID, in this process and in
// another one that continues the run.
// Rules runlog/RL6, runlog/RL1.
func TestObserve_TellsQuestionsAboutCallsWithOneIDApart(t *testing.T) {
	for _, chunks := range []bool{false, true} {
		t.Run(fmt.Sprint(chunks), func(t *testing.T) {
			store, events, pay := checkpoint.NewMemoryStore(), runlog.NewMemoryStore(), payer(t)
			model := adktest.NewModel(t, twoPayments(chunks), adktest.Says("Done."))
			runner := func() *adk.Runner {
				agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "pays",
					Model: model, ToolsConfig: adktest.Tools(pay),
					Handlers: []adk.ChatModelAgentMiddleware{approves(t)}})
				require.NoError(t, err)
				return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: chunks, CheckPointStore: store})
			}
			log := runlog.New(runlog.Config{Store: events})
			opts := append(runlog.Observe(log, runlog.About{ID: "run"}), adk.WithCheckPointID("run"))
			for range runner().Query(t.Context(), "Pay both!", opts...).All() {
			}
			points := pointsAsked(t, eventsOf(t, log))
			require.Equal(t, map[string]string{"c1": "alice", "c1~2": "bob"}, points.asked)
			require.NoError(t, log.Close(t.Context()))

			log = runlog.New(runlog.Config{Store: events})
			resumed, err := runner().ResumeWithParams(t.Context(), "run", &adk.ResumeParams{Targets: points.approvals},
				runlog.Observe(log, runlog.About{ID: "run"})...)
			require.NoError(t, err)
			for range resumed.All() {
			}
			require.NoError(t, log.Close(t.Context()))
			var all []runlog.Event
			for e, err := range runlog.New(runlog.Config{Store: events}).Events(t.Context(), "run", runs.Cursor{}) {
				require.NoError(t, err)
				if all = append(all, e); e.Type == runlog.RunEnd && e.Data.(*runlog.RunEndData).Status == runs.Done {
					break
				}
			}
			requireOneToOne(t, all)
		})
	}
}

// asked are the questions of a run: whom each is about, by the name of its call, and what approves them.
type asked struct {
	asked     map[string]string
	approvals map[string]any
}

func pointsAsked(t *testing.T, events []runlog.Event) (a asked) {
	a = asked{map[string]string{}, map[string]any{}}
	for _, e := range events {
		d, ok := e.Data.(*runlog.WaitingData)
		if !ok {
			continue
		}
		for _, p := range d.Questions {
			var request approval.Request
			require.NoError(t, json.Unmarshal(p.Info, &request))
			var to payment
			require.NoError(t, json.Unmarshal([]byte(request.Arguments), &to))
			a.asked[p.Call], a.approvals[p.ID] = to.To, request.Approve()
		}
	}
	return a
}

// Agents that work for two calls at a time use one ID each: their questions are about their own calls.
// Rule runlog/RL6.
func TestObserve_TellsQuestionsOfParallelAgentsApart(t *testing.T) {
	helper := func(to string) adk.Agent {
		call := schema.ToolCall{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "pay", Arguments: `{"to":"` + to + `"}`}}
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "helper", Description: "pays",
			Model:       adktest.NewModel(t, adktest.Messages(schema.AssistantMessage("", []schema.ToolCall{call}))),
			ToolsConfig: adktest.Tools(payer(t)),
			Handlers:    []adk.ChatModelAgentMiddleware{approves(t)}})
		require.NoError(t, err)
		return agent
	}
	named := func(name string, of adk.Agent) tool.BaseTool {
		return renamed{adk.NewAgentTool(t.Context(), of).(tool.InvokableTool), name}
	}
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "asks",
		Model:       adktest.NewModel(t, adktest.Calls(adktest.Call("one", `{"request":"x"}`), adktest.Call("two", `{"request":"x"}`))),
		ToolsConfig: adktest.Tools(named("one", helper("alice")), named("two", helper("bob")))})
	require.NoError(t, err)
	events := record(t, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()}, adk.WithCheckPointID("run"))
	made := map[string]string{}
	for _, e := range events {
		if d, ok := e.Data.(*runlog.ModelEndData); ok && d.Message != nil && e.Agent == "helper" {
			var p payment
			require.NoError(t, json.Unmarshal([]byte(d.Message.Chat.ToolCalls[0].Function.Arguments), &p))
			made[d.Calls[0]] = p.To
		}
	}
	require.Len(t, made, 2)
	require.Equal(t, made, pointsAsked(t, events).asked)
}

// renamed is a tool by another name.
type renamed struct {
	tool.InvokableTool
	name string
}

func (r renamed) Info(ctx context.Context) (*schema.ToolInfo, error) {
	info, err := r.InvokableTool.Info(ctx)
	if err != nil {
		return nil, err
	}
	named := *info
	named.Name = r.name
	return &named, nil
}
