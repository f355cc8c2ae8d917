package agui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
)

// body returns the JSON that a client posts: its messages, and what else it sends.
func body(run, messages, more string) string {
	return `{"threadId":"t1","runId":"` + run + `","protocolVersion":"1.0","messages":[` + messages + `],"context":[]` + more + `}`
}

func user(id, text string) string {
	return `{"id":"` + id + `","role":"user","content":"` + text + `"}`
}

const locate = `,"tools":[{"name":"locate","description":"Locates.","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}]`

// last is the last event of a stream.
func (r *reader) last() event { return r.events[len(r.events)-1] }

// both serves an agent that asks for an approval and calls a tool of the client, at once.
func both(t *testing.T) (*desk, *adktest.Tool) {
	agent, pay := guarded(t)
	agent.Handlers = append(agent.Handlers, serve.ClientTools())
	return newDesk(t, Config{}, serve.Config{AllowClientTools: true}, agent,
		adktest.Calls(adktest.Call("pay", `{"n":1}`), adktest.Call("locate", `{"q":"x"}`)),
		adktest.Says("Done.").SeeingLast("tool pay#call_1: paid", "tool locate#call_2: 38.7")), pay
}

// Rule serving/AG5.
func TestHandler_TakesAnApprovalAndTheResultOfAClientAtOnce(t *testing.T) {
	d, pay := both(t)
	first := d.talk(body("r1", user("u1", "Pay."), locate))
	asked := first.last().Outcome
	require.Equal(t, "interrupt", asked.Type)
	require.Len(t, asked.Interrupts, 1)
	require.Equal(t, []string{"call_2"}, asked.Pending)
	entry := `{"interruptId":"` + asked.Interrupts[0].ID + `","status":"resolved","payload":{"approved":true}}`
	messages := user("u1", "Pay.") + `,{"id":"a","role":"assistant","toolCalls":[{"id":"call_1","type":"function","function":{"name":"pay",
		"arguments":"{}"}},{"id":"call_2","type":"function","function":{"name":"locate","arguments":"{}"}}]}`
	result := `,{"id":"x","role":"tool","toolCallId":"call_2","content":"38.7"}`

	for what, half := range map[string]string{"the approval alone": body("r2", messages, `,"resume":[`+entry+`]`),
		"the result alone": body("r2", messages+result, "")} {
		r := d.talk(half)
		require.Equal(t, "questions_open", r.last().Code, what)
	}
	require.Empty(t, pay.Calls())

	second := d.talk(body("r3", messages+result, `,"resume":[`+entry+`]`))
	require.Equal(t, []string{"Done."}, second.shown())
	require.Len(t, pay.Calls(), 1)
}

// A call is answered whatever it was made with.
func TestHandler_TakesTheResultOfACallWithLongArguments(t *testing.T) {
	long := strings.Repeat("long ", 5000)
	agent, _ := guarded(t)
	agent.Handlers = append(agent.Handlers, serve.ClientTools())
	d := newDesk(t, Config{}, serve.Config{AllowClientTools: true}, agent,
		adktest.Calls(adktest.Call("locate", `{"q":"`+long+`"}`)), adktest.Says("Done.").SeeingLast("tool locate#call_1: 38.7"))
	first := d.talk(body("r1", user("u1", "Where?"), locate))
	require.Equal(t, []string{"call_1"}, first.last().Outcome.Pending)
	require.Contains(t, first.args["call_1"], long)
	second := d.talk(body("r2", user("u1", "Where?")+`,{"id":"x","role":"tool","toolCallId":"call_1","content":"38.7"}`, ""))
	require.Equal(t, []string{"Done."}, second.shown())
}

// Rule serving/AG5.
func TestHandler_ShowsWhatCameOfAnswersThatAreSentAgain(t *testing.T) {
	agent, pay := guarded(t)
	d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done."))
	asked := d.talk(hello("Pay.")).last().Outcome.Interrupts[0]
	yes := resume(`{"interruptId":"` + asked.ID + `","status":"resolved","payload":{"approved":true}}`)
	first := d.talk(yes)
	again := d.talk(yes)
	require.Equal(t, first.shown(), again.shown())
	require.Equal(t, first.results, again.results)
	require.Len(t, pay.Calls(), 1)
	for _, other := range []string{`"payload":{"approved":false}`, `"payload":{"approved":true,"editedArgs":{"n":2}}`} {
		r := d.talk(resume(`{"interruptId":"` + asked.ID + `","status":"resolved",` + other + `}`))
		require.Equal(t, "already_answered", r.last().Code, other)
	}
	require.Len(t, pay.Calls(), 1)
}

func TestHandler_SaysWhatIsWrongWithAnswersInTheStream(t *testing.T) {
	agent, pay := guarded(t)
	d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Calls(adktest.Call("pay", `{"n":1}`), adktest.Call("pay", `{"n":2}`)),
		adktest.Says("Done."))
	asked := d.talk(hello("Pay.")).last().Outcome.Interrupts
	require.Len(t, asked, 2)
	entry := func(id string) string {
		return `{"interruptId":"` + id + `","status":"resolved","payload":{"approved":true}}`
	}
	for entries, code := range map[string]string{
		entry(asked[0].ID): "questions_open", entry("nobody"): "not_found",
		entry(asked[0].ID) + "," + entry(asked[1].ID) + "," + entry("nobody"): "not_found",
	} {
		r := d.talk(resume(entries))
		require.Equal(t, []string{"RUN_STARTED", "RUN_ERROR"}, []string{r.events[0].Type, r.last().Type})
		require.Equal(t, code, r.last().Code, entries)
	}
	r := d.talk(body("r3", user("u1", "Pay.")+","+user("u2", "Or not?"), ""))
	require.Equal(t, "questions_open", r.last().Code)
	r = d.talk(body("r4", user("u1", "Pay.")+","+user("u2", "Or not?"), `,"resume":[`+entry(asked[0].ID)+","+entry(asked[1].ID)+`]`))
	require.Equal(t, "bad_request", r.last().Code, "a new message beside answers would be lost")
	require.Empty(t, pay.Calls())
	d.talk(resume(entry(asked[0].ID) + "," + entry(asked[1].ID)))
	require.Len(t, pay.Calls(), 2)
}

// Rule serving/SV3.
func TestHandler_TakesAMessageOnce(t *testing.T) {
	agent, _ := guarded(t)
	d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Says("One.").Seeing("user: 1"),
		adktest.Says("Two.").Seeing("user: 1", "assistant: One.", "user: 2"))
	first := d.talk(body("r1", user("u1", "1"), ""))
	again := d.talk(body("r1", user("u1", "1"), ""))
	require.Equal(t, first.shown(), again.shown(), "the response was lost: the same run")
	second := d.talk(body("r2", user("u1", "1")+","+user("u2", "2"), ""))
	require.Equal(t, []string{"Two."}, second.shown())
}

// Rule serving/AG5.
func TestTranslator_NamesTheReasonOfEachQuestion(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	points := []runs.Question{
		{ID: "a", Kind: runs.KindApproval, Call: "c1"}, {ID: "b", Kind: runs.KindQuestion, Schema: schema, Text: "Who?"},
		{ID: "c", Kind: runs.KindQuestion, URL: "https://x", Expires: time.Unix(1, 0)}, {ID: "d", Kind: runs.KindOutcome}, {ID: "e", Kind: runs.KindQuestion},
		{ID: "f", Kind: runs.KindClientTool, Call: "c2"}, {ID: "g", Kind: runs.KindApproval, Schema: json.RawMessage(`{"type":"string"}`)},
	}
	r := newReader()
	tr := newTranslator("t", "r", Config{}, false, r.must(t))
	tr.add(&runlog.Event{Type: runlog.Waiting, Data: &runlog.WaitingData{Questions: points}})
	tr.add(&runlog.Event{Type: runlog.RunEnd, Data: &runlog.RunEndData{Status: runs.Waiting}})
	asked := r.last().Outcome
	var got []string
	for _, i := range asked.Interrupts {
		got = append(got, i.ID+" "+i.Reason+" "+string(i.ResponseSchema))
	}
	require.Equal(t, []string{"a tool_call " + string(approvalSchema), `b input_required {"type":"object"}`, "c weft:url ",
		"d weft:outcome_unknown ", "e weft:interrupt ", `g tool_call {"type":"string"}`}, got)
	require.Equal(t, "1970-01-01T00:00:01Z", asked.Interrupts[2].ExpiresAt)
	require.Equal(t, []string{"c2"}, asked.Pending)
	data, err := json.Marshal(outcome{Type: "interrupt"})
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"interrupt","interrupts":[]}`, string(data), "the list is required")
	require.Equal(t, fmt.Sprint([]string{"RUN_STARTED", "RUN_FINISHED"}), fmt.Sprint([]string{r.events[0].Type, r.events[1].Type}))
}

// A call of the client and one of the server that share an ID have each their own result, in whatever order they are.
// Rule serving/SV19.
func TestHandler_TakesTheResultOfTheClientBesideACallOfTheServerWithItsID(t *testing.T) {
	mine, own := adktest.Call("locate", `{"q":"x"}`).WithID("c1"), adktest.Call("look", `{}`).WithID("c1")
	for name, calls := range map[string][]adktest.ToolCall{"first": {mine, own}, "last": {own, mine}} {
		t.Run(name, func(t *testing.T) {
			seen := []string{"tool locate#c1: 38.7", "tool look#c1: seen"}
			if name == "last" {
				seen = []string{seen[1], seen[0]}
			}
			agent := adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{serve.ClientTools()},
				ToolsConfig: adktest.Tools(adktest.NewTool("look", adktest.Says("seen")))}
			d := newDesk(t, Config{}, serve.Config{AllowClientTools: true}, agent, adktest.Calls(calls...),
				adktest.Says("Done.").SeeingLast(seen...))
			first := d.talk(body("r1", user("u1", "Where?"), locate))
			require.Len(t, first.last().Outcome.Pending, 1)
			asked := first.last().Outcome.Pending[0]
			var made []string
			results := ""
			for _, e := range first.events {
				if e.Type != "TOOL_CALL_START" {
					continue
				}
				require.Equal(t, e.ToolCallName == "locate", e.ToolCallID == asked, "the call that waits is the one of the client")
				made = append(made, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}`, e.ToolCallID, e.ToolCallName))
				content := "38.7"
				if e.ToolCallName == "look" {
					content = "seen"
				}
				results += fmt.Sprintf(`,{"id":"t%d","role":"tool","toolCallId":%q,"content":%q}`, len(made), e.ToolCallID, content)
			}
			second := d.talk(body("r2", user("u1", "Where?")+`,{"id":"a","role":"assistant","toolCalls":[`+strings.Join(made, ",")+`]}`+results, ""))
			require.Equal(t, []string{"Done."}, second.shown())
		})
	}
}
