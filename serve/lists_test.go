package serve

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/schema"
)

// What Authorize refuses is in no list either.
// Rule serving/SV13.
func TestServer_AsksAuthorizeForLists(t *testing.T) {
	var paid []string
	refused := ""
	d := newDesk(t, Config{Auth: byToken, Authorize: func(_ context.Context, _ Principal, a Action) error {
		if string(a.Verb)+" "+a.Run == refused || string(a.Verb) == refused {
			return errors.New("no")
		}
		return nil
	}}, agentOf(t, pay(t, &paid), adktest.Calls(adktest.Call("pay", `{"amount":7}`)).Repeated()))
	ana := d.as("ana")
	one := events(t, ana.stream("POST", "/agents/desk/runs", `{"input":"Pay!"}`))[0].Run
	two := events(t, ana.stream("POST", "/agents/desk/runs", `{"input":"Pay!"}`))[0].Run
	require.Len(t, ana.call(200, "GET", "/runs", "")["runs"], 2)
	require.Len(t, ana.call(200, "GET", "/questions", "")["questions"], 2)
	refused = "read " + one
	for path, list := range map[string]string{"/runs": "runs", "/questions": "questions"} {
		shown := fmt.Sprint(ana.call(200, "GET", path, "")[list])
		require.NotContains(t, shown, one)
		require.Contains(t, shown, two)
	}
	refused = "read"
	require.Equal(t, "forbidden", ana.refused(403, "GET", "/runs", ""))
	require.Equal(t, "forbidden", ana.refused(403, "GET", "/questions", ""))
	refused = "list_agents"
	require.Empty(t, ana.call(200, "GET", "/agents", "")["agents"])
}

// A decision that has to be signed is signed by the server, for who may decide.
// Rule serving/SV7.
func TestServer_SignsDecisions(t *testing.T) {
	key := []byte("0123456789abcdef")
	var paid []string
	conf := pay(t, &paid)
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}, Key: key})
	require.NoError(t, err)
	conf.Handlers = []adk.ChatModelAgentMiddleware{guard}
	signer := func(_ context.Context, p Principal, d *approval.Decision) error {
		if p.ID != "ana" {
			return errors.New("not yours")
		}
		d.Sign(key)
		return nil
	}
	for _, c := range []struct {
		who  string
		sign func(context.Context, Principal, *approval.Decision) error
		want []string
	}{{"ana", signer, []string{"7"}}, {"bob", signer, nil}, {"ana", nil, nil}} {
		paid = nil
		agent := agentOf(t, conf, adktest.Calls(adktest.Call("pay", `{"amount":7}`)), adktest.Says("Done.").Repeated())
		d := newDesk(t, Config{Auth: byToken, SignDecision: c.sign}, agent).as(c.who)
		run := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Pay!"}`))[0].Run
		id := d.call(200, "GET", "/questions", "")["questions"].([]any)[0].(map[string]any)["id"].(string)
		answer := d.do("POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":true}}}`, "Prefer", "wait=10")
		answer.Body.Close()
		require.Equal(t, c.who == "bob", answer.StatusCode == 403)
		require.Equal(t, c.want, paid)
		if len(paid) == 0 { // the model is asked again in the other cases only
			d.call(202, "POST", "/runs/"+run+"/stop", `{"mode":"now"}`)
		}
	}
}

// plainFront is a Front that cannot do more than it must.
type plainFront struct {
	dispatch.Client[*schema.Message]
}

// Where runs cannot be removed, the runs of a thread that was deleted are hidden from clients.
// Rule serving/SV4.
func TestServer_HidesTheRunsOfADeletedThread(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	chats, err := conversation.NewStore(store)
	require.NoError(t, err)
	agent := greeter(t)
	front := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)},
		Options: RunOptions(chats, conversation.HistoryOptions{})})
	d := newDesk(t, Config{Front: plainFront{front}, Conversations: chats}, agent)
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x","thread":"t"}`)["id"].(string)
	_, err = front.Execute(t.Context(), run)
	require.NoError(t, err)
	kept := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)["id"].(string)
	require.Len(t, d.call(200, "GET", "/runs", "")["runs"], 2)
	d.call(204, "DELETE", "/threads/t", "")
	require.Len(t, d.call(200, "GET", "/runs", "")["runs"], 1)
	d.call(200, "GET", "/runs/"+kept, "")
	require.Equal(t, "not_found", d.refused(404, "GET", "/runs/"+run, ""))
	require.Equal(t, "not_found", d.refused(404, "GET", "/runs/"+run+"/events", ""))
}
