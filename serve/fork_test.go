package serve

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// weather is an agent with a tool that counts its calls.
func weather(t *testing.T, conf adk.ChatModelAgentConfig, calls *int, replies ...adktest.Answer) adk.Agent {
	t.Helper()
	look, err := utils.InferTool("look", "Looks.", func(context.Context, struct{}) (string, error) {
		*calls++
		return "sunny", nil
	})
	require.NoError(t, err)
	conf.ToolsConfig = adktest.Tools(tool.BaseTool(look))
	return agentOf(t, conf, replies...)
}

// stepsOf reads the steps of a run.
func (d *desk) stepsOf(run string) (steps []map[string]any) {
	d.t.Helper()
	for _, s := range d.call(200, "GET", "/runs/"+run+"/steps", "")["steps"].([]any) {
		steps = append(steps, s.(map[string]any))
	}
	return steps
}

// stepOf is the number of the first step of a kind.
func stepOf(t *testing.T, steps []map[string]any, kind string) int {
	t.Helper()
	for _, s := range steps {
		if s["kind"] == kind {
			return int(s["n"].(float64))
		}
	}
	require.Fail(t, "no step", "%s in %v", kind, steps)
	return 0
}

// A run is read step by step, and made again from one of them as if its tool had said something else: nothing is done
// twice, and the origin stays as it is.
// Rules serving/SV22, steps/FK-2, steps/FK-3.
func TestServer_ForksARunWithAnotherResult(t *testing.T) {
	calls := 0
	d := newDesk(t, Config{AllowFork: true}, weather(t, adk.ChatModelAgentConfig{Instruction: "canary-prompt"}, &calls,
		adktest.Calls(adktest.Call("look", `{}`)), adktest.Says("Go out."),
		adktest.Says("Stay in.").SeeingLast("tool look#call_1: rain")))
	origin := d.call(201, "POST", "/agents/desk/runs", `{"input":"Weather?","labels":{"a":"b"}}`,
		"Prefer", "wait=10")["id"].(string)
	steps := d.stepsOf(origin)
	require.NotContains(t, fmt.Sprint(steps), "canary")
	require.Equal(t, "begin", steps[0]["kind"])
	require.Len(t, steps[0]["messages"].(map[string]any)["add"], 1)
	at := stepOf(t, steps, "result")
	require.Equal(t, "sunny", steps[at-1]["text"])
	require.Equal(t, "look", steps[at-1]["call"].(map[string]any)["name"])
	last := steps[len(steps)-1]["messages"].(map[string]any)
	require.EqualValues(t, 2, last["keep"], "only what is new is there: %v", last)
	require.Len(t, last["add"], 2)

	fork := d.call(201, "POST", "/runs/"+origin+"/fork", fmt.Sprintf(`{"at":%d,"edit":{"text":"rain"}}`, at),
		"Prefer", "wait=10")
	require.Equal(t, "done", fork["status"])
	require.Equal(t, "Stay in.", fork["result"].(map[string]any)["content"])
	require.Equal(t, map[string]any{"run": origin, "step": float64(at)}, fork["forked"])
	require.Equal(t, map[string]any{"a": "b"}, fork["labels"])
	require.Equal(t, 1, calls)
	start := events(t, d.stream("GET", "/runs/"+fork["id"].(string)+"/events", ""))[0].Data.(*runlog.RunStartData)
	require.Equal(t, &runlog.Fork{Run: origin, Step: at}, start.Forked)
	require.Equal(t, "Go out.", d.call(200, "GET", "/runs/"+origin, "")["result"].(map[string]any)["content"])
	require.Equal(t, steps, d.stepsOf(origin))
	for _, body := range []string{`{}`, `{"at":0}`, `{"at":99}`, `{"at":1,"edit":{"text":"x"}}`,
		fmt.Sprintf(`{"at":%d,"edit":{"messages":[]}}`, at),
		`{"at":1,"edit":{"messages":[{"role":"system","content":"x"}]}}`,
		`{"at":1,"edit":{"values":{"weft.serve.client_tools":"x"}}}`,
		`{"at":1,"edit":{"messages":[{"role":"tool","content":"x","tool_call_id":"y"}]}}`, `{"at":1,"at":2}`, `{"At":1}`} {
		require.Equal(t, "bad_request", d.refused(400, "POST", "/runs/"+origin+"/fork", body), body)
	}
}

// A fork of a turn of a thread sees what that turn has seen, and is no turn: not at its beginning, and not when the thread
// has continued or left the turn out since.
// Rules serving/SV22, serving/SV4.
func TestServer_ForksATurnOfAThread(t *testing.T) {
	seen := []string{"user: 1?", "assistant: One.", "user: 2?"}
	d := newDesk(t, Config{AllowFork: true}, agentOf(t, adk.ChatModelAgentConfig{},
		adktest.Says("One."), adktest.Says("Two.").Seeing(seen...), adktest.Says("Three."),
		adktest.Says("Two again.").Seeing(seen...),
		adktest.Says("Other.").Seeing("user: 1?", "assistant: One.", "user: Another?"),
		adktest.Says("Two once more.").Seeing(seen...), adktest.Says("Two!").Seeing(seen...),
		adktest.Says("As it was.").Seeing(seen...)))
	ask := func(path, body string) string {
		run := d.call(201, "POST", path, body, "Prefer", "wait=10")
		require.Equal(t, "done", run["status"], "%v", run)
		return run["id"].(string)
	}
	ask("/agents/desk/runs", `{"input":"1?","thread":"t"}`)
	second := ask("/agents/desk/runs", `{"input":"2?","thread":"t"}`)
	ask("/agents/desk/runs", `{"input":"3?","thread":"t"}`)
	fork := ask("/runs/"+second+"/fork", `{"at":1}`)
	ask("/runs/"+second+"/fork", `{"at":1,"edit":{"messages":[{"role":"user","content":"Another?"}]}}`)
	ask("/runs/"+fork+"/fork", `{"at":1}`)
	require.Equal(t, []string{"1?", "One.", "2?", "Two.", "3?", "Three."}, d.texts("t"))
	require.Len(t, d.call(200, "GET", "/runs?thread=t", "")["runs"], 3, "forks are not in the thread")
	ask("/agents/desk/runs", `{"thread":"t","replaces":"`+second+`"}`)
	ask("/runs/"+second+"/fork", `{"at":1}`)
	require.Equal(t, []string{"1?", "One.", "2?", "Two!"}, d.texts("t"))
}

// A fork that is paused is continued on request, and a request that is sent again makes no other one.
// Rules serving/SV22, serving/SV6.
func TestServer_HoldsAFork(t *testing.T) {
	calls := 0
	d := newDesk(t, Config{AllowFork: true}, weather(t, adk.ChatModelAgentConfig{}, &calls,
		adktest.Calls(adktest.Call("look", `{}`)), adktest.Says("Go out."), adktest.Says("Well.")))
	origin := d.call(201, "POST", "/agents/desk/runs", `{"input":"Weather?"}`, "Prefer", "wait=10")["id"].(string)
	at := stepOf(t, d.stepsOf(origin), "result")
	body := fmt.Sprintf(`{"at":%d,"hold":true}`, at)
	fork := d.call(201, "POST", "/runs/"+origin+"/fork", body, "Idempotency-Key", "k")
	require.Equal(t, "paused", fork["status"])
	require.Equal(t, fork["id"], d.call(201, "POST", "/runs/"+origin+"/fork", body, "Idempotency-Key", "k")["id"])
	require.Equal(t, "conflict", d.refused(422, "POST", "/runs/"+origin+"/fork", `{"at":1}`, "Idempotency-Key", "k"))
	require.Equal(t, "conflict", d.refused(422, "POST", "/agents/desk/runs", `{"input":"x"}`, "Idempotency-Key", "k"))
	require.Len(t, d.call(200, "GET", "/runs?status=paused", "")["runs"], 1)
	require.Empty(t, d.call(200, "GET", "/runs?status=stopped", "")["runs"])
	id := fork["id"].(string)
	require.Equal(t, "conflict", d.refused(422, "POST", "/runs/"+id+"/stop", ""))
	done := d.call(202, "POST", "/runs/"+id+"/continue", `{}`, "Prefer", "wait=10")
	require.Equal(t, "Well.", done["result"].(map[string]any)["content"])
	require.Equal(t, "already_answered", d.refused(409, "POST", "/runs/"+id+"/continue", `{}`))
	require.Equal(t, 1, calls)
}

// Steps and forks are allowed of the principal's own runs, only where they are allowed, within the limits of starts.
// Rules serving/SV22, serving/SV13, serving/SV15.
func TestServer_ForksOnlyWhatIsAllowed(t *testing.T) {
	calls := 0
	conf := Config{Auth: byToken, AllowFork: true, Limits: Limits{StartsPerMinute: 2},
		Authorize: func(_ context.Context, p Principal, a Action) error {
			if p.ID == "reader" && (a.Verb == ForkRun || a.Verb == ReadSteps) {
				return fmt.Errorf("no")
			}
			return nil
		}}
	d := newDesk(t, conf, weather(t, adk.ChatModelAgentConfig{}, &calls, adktest.Says("Hi.").Repeated()))
	ana := d.as("ana")
	run := ana.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	require.Equal(t, "not_found", d.as("bob").refused(404, "GET", "/runs/"+run+"/steps", ""))
	require.Equal(t, "not_found", d.as("bob").refused(404, "POST", "/runs/"+run+"/fork", `{"at":1}`))
	require.Equal(t, "not_found", ana.refused(404, "GET", "/runs/nobody/steps", ""))
	ana.call(201, "POST", "/runs/"+run+"/fork", `{"at":1}`)
	require.Equal(t, "too_many", ana.refused(429, "POST", "/runs/"+run+"/fork", `{"at":1}`))
	reader := d.as("reader")
	own := reader.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	require.Equal(t, "forbidden", reader.refused(403, "GET", "/runs/"+own+"/steps", ""))
	require.Equal(t, "forbidden", reader.refused(403, "POST", "/runs/"+own+"/fork", `{"at":1}`))

	off := newDesk(t, Config{}, greeter(t))
	run = off.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	require.Equal(t, "not_found", off.refused(404, "GET", "/runs/"+run+"/steps", ""))
	require.Equal(t, "not_found", off.refused(404, "POST", "/runs/"+run+"/fork", `{"at":1}`))
	_, err := New(Config{Agents: []adk.Agent{greeter(t)}, Front: noFront{}, AllowFork: true})
	require.ErrorContains(t, err, "dispatch.Forker")
}

// A Front that was executed without it keeps no steps.
func TestServer_SaysThatNoStepsAreKept(t *testing.T) {
	front := dispatch.New(checkpoint.NewMemoryStore(),
		dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(greeter(t))}})
	d := newDesk(t, Config{Front: front, AllowFork: true}, greeter(t))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)["id"].(string)
	_, err := front.Execute(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, "not_found", d.refused(404, "GET", "/runs/"+run+"/steps", ""))
}

// A turn of a fork can be given another history, and session values of their own types.
func TestServer_ForksATurnWithAnotherHistory(t *testing.T) {
	calls := 0
	agent := weather(t, adk.ChatModelAgentConfig{}, &calls, adktest.Calls(adktest.Call("look", `{}`)), adktest.Says("Go out."),
		adktest.Says("Cold.").Seeing("user: Temperature?"))
	d := newDesk(t, Config{AllowFork: true}, agent)
	caller := &Caller{server: d.srv, principal: Principal{ID: "local"}}
	run, err := caller.Start(t.Context(), Start{Agent: "desk", Messages: []*schema.Message{schema.UserMessage("Weather?")},
		SessionValues: map[string]any{"n": 3}})
	require.NoError(t, err)
	_, err = caller.Result(t.Context(), run.ID, 1e10)
	require.NoError(t, err)
	at := stepOf(t, d.stepsOf(run.ID), "turn")
	require.Equal(t, "bad_request", d.refused(400, "POST", "/runs/"+run.ID+"/fork",
		fmt.Sprintf(`{"at":%d,"edit":{"values":{"n":"three"}}}`, at)))
	fork := d.call(201, "POST", "/runs/"+run.ID+"/fork", fmt.Sprintf(`{"at":%d,"edit":{"values":{"n":4,"new":true},
		"messages":[{"role":"user","content":"Temperature?"}]}}`, at), "Prefer", "wait=10")
	require.Equal(t, "Cold.", fork["result"].(map[string]any)["content"], "%v", fork)
	values := fmt.Sprint(d.stepsOf(fork["id"].(string))[at-1]["values"])
	require.True(t, strings.Contains(values, "n:4") && strings.Contains(values, "new:true"), values)
}
