package weft_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/middlewares/structured"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

type city struct {
	Name string `json:"name" jsonschema:"description=name of the city"`
}

func weather() weft.Tool {
	return weft.Func("weather", "Tells the weather.", func(_ context.Context, in city) (string, error) {
		if in.Name == "Atlantis" {
			return "", errors.New("no such city")
		}
		return "sunny in " + in.Name, nil
	})
}

func agentOf(t *testing.T, config weft.Config, script ...adktest.Answer) *weft.Agent {
	t.Helper()
	config.Model = adktest.NewModel(t, script...)
	agent, err := weft.New(config)
	require.NoError(t, err)
	return agent
}

var askWeather = adktest.Calls(adktest.Call("weather", `{"name":"Lisbon"}`))

func TestAsk_AnswersWithTextMessagesAndUsage(t *testing.T) {
	agent := agentOf(t, weft.Config{Instruction: "Be short.", Tools: []weft.Tool{weather()}}, askWeather,
		adktest.Messages(&schema.Message{Role: schema.Assistant, Content: "Sun.",
			ResponseMeta: &schema.ResponseMeta{Usage: &schema.TokenUsage{TotalTokens: 7}}}))
	answer, err := agent.Ask(t.Context(), "Weather in Lisbon?")
	require.NoError(t, err)
	require.Equal(t, "Sun.", answer.Text)
	require.Equal(t, "Sun.", answer.String())
	require.Equal(t, 7, answer.Usage.TotalTokens)
	require.Equal(t, []string{"user: Weather in Lisbon?", `assistant: [weather#call_1 {"name":"Lisbon"}]`,
		"tool weather#call_1: sunny in Lisbon", "assistant: Sun."}, adktest.Lines(answer.Messages))
}

func TestAsk_AfterAnAnswerSeesWhatWasSaid(t *testing.T) {
	agent := agentOf(t, weft.Config{}, adktest.Says("one"), adktest.Says("two"),
		adktest.Says("three").Seeing("user: 1", "assistant: one", "user: 2", "assistant: two", "user: 3"))
	var answer *weft.Answer
	for _, question := range []string{"1", "2", "3"} {
		var err error
		answer, err = agent.Ask(t.Context(), question, weft.After(answer))
		require.NoError(t, err)
	}
	require.Equal(t, "three", answer.Text)
}

func TestAsk_WithMessagesInPlaceOfAQuestion(t *testing.T) {
	agent := agentOf(t, weft.Config{}, adktest.Says("a cat").Seeing("user: what is it?"))
	_, err := agent.Ask(t.Context(), "", weft.With(schema.UserMessage("what is it?")))
	require.NoError(t, err)
	_, err = agent.Ask(t.Context(), "")
	require.ErrorContains(t, err, "there is no question")
}

// lines are the events of a stream in a form that is easy to compare.
func lines(t *testing.T, events func(func(weft.Event, error) bool)) (all []string, answer *weft.Answer) {
	t.Helper()
	for e, err := range events {
		switch {
		case err != nil:
			all = append(all, "error: "+err.Error())
		case e.Text != "":
			all = append(all, e.Agent+": "+e.Text)
		case e.Reasoning != "":
			all = append(all, e.Agent+" thinks: "+e.Reasoning)
		case e.Call != nil:
			all = append(all, e.Agent+" calls: "+e.Call.Function.Name)
		case e.Result != nil:
			all = append(all, "result: "+e.Result.Content)
		case e.Handover != "":
			all = append(all, e.Agent+" hands over to "+e.Handover)
		case e.Again:
			all = append(all, "again")
		case e.Answer != nil:
			answer = e.Answer
		}
	}
	return all, answer
}

func TestStream_GivesWhatHappensAsItHappens(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}}, askWeather,
		adktest.Messages(&schema.Message{Role: schema.Assistant, ReasoningContent: "hm"},
			&schema.Message{Role: schema.Assistant, Content: "Su"}, &schema.Message{Role: schema.Assistant, Content: "n."}))
	all, answer := lines(t, agent.Stream(t.Context(), "?"))
	require.Equal(t, []string{"assistant calls: weather", "result: sunny in Lisbon", "assistant thinks: hm",
		"assistant: Su", "assistant: n."}, all)
	require.Equal(t, "Sun.", answer.Text)
	require.Len(t, answer.Messages, 4)
}

func TestStream_SaysThatAFallbackBeginsAgain(t *testing.T) {
	agent := agentOf(t, weft.Config{Fallbacks: []weft.Model{adktest.NewModel(t, adktest.Streams("from ", "the other"))}},
		adktest.Streams("broken").ThenFails(errors.New("cut")))
	all, answer := lines(t, agent.Stream(t.Context(), "?"))
	require.Equal(t, []string{"assistant: broken", "again", "assistant: from ", "assistant: the other"}, all)
	require.Equal(t, "from the other", answer.Text)
}

func TestMistakes_AreTheModelsToMend(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}},
		adktest.Calls(adktest.Call("wether", `{}`)), adktest.Calls(adktest.Call("weather", `{"name":5}`)),
		adktest.Calls(adktest.Call("weather", `{"name":"Atlantis"}`)), adktest.Says("I do not know."))
	answer, err := agent.Ask(t.Context(), "?")
	require.NoError(t, err)
	require.Equal(t, "I do not know.", answer.Text)
	require.Contains(t, answer.Messages[6].Content, "no such city")
}

func TestLimit_IsAnErrorOrASentence(t *testing.T) {
	config := weft.Config{Tools: []weft.Tool{weather()}, MaxTurns: 2}
	_, err := agentOf(t, config, askWeather, askWeather).Ask(t.Context(), "?")
	require.ErrorIs(t, err, adk.ErrExceedMaxIterations)
	require.NotContains(t, err.Error(), "\n")
	config.LimitAnswer = "I give up."
	answer, err := agentOf(t, config, askWeather, askWeather).Ask(t.Context(), "?")
	require.NoError(t, err)
	require.Equal(t, "I give up.", answer.Text)
}

type report struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees" jsonschema:"maximum=60"`
}

func TestAskTyped_ReturnsAValue(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}}, askWeather,
		adktest.Calls(adktest.Call("final_answer", `{"city":"Lisbon","degrees":99}`)),
		adktest.Calls(adktest.Call("final_answer", `{"city":"Lisbon","degrees":25}`)))
	got, err := weft.Ask[report](t.Context(), agent, "?")
	require.NoError(t, err)
	require.Equal(t, report{"Lisbon", 25}, got)
}

func TestAskTyped_FailsWithWhatIsWrong(t *testing.T) {
	bad := adktest.Calls(adktest.Call("final_answer", `{"city":"Lisbon","degrees":99}`))
	_, err := weft.Ask[report](t.Context(), agentOf(t, weft.Config{}, bad, bad, bad), "?")
	var invalid *structured.InvalidError
	require.ErrorAs(t, err, &invalid)
	_, err = weft.Ask[chan int](t.Context(), agentOf(t, weft.Config{}), "?")
	require.ErrorContains(t, err, "weft.Ask")
}

func TestReply_ContinuesTheRunOfAnAnswerOnce(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}, Approve: []string{"weather"}}, askWeather, adktest.Says("Sun."))
	answer, err := agent.Ask(t.Context(), "?")
	require.NoError(t, err)
	require.Empty(t, answer.Text)
	require.Len(t, answer.Pending, 1)
	require.Equal(t, "weather", answer.Pending[0].Tool)
	require.Equal(t, `May weather run with {"name":"Lisbon"}?`, answer.Pending[0].Text)
	_, err = answer.Reply(t.Context(), weft.Reply{To: "nonsense"})
	require.ErrorContains(t, err, `no pending question "nonsense"`)
	done, err := answer.Reply(t.Context(), answer.Pending[0].Approve())
	require.NoError(t, err)
	require.Equal(t, "Sun.", done.Text)
	require.Len(t, done.Messages, 4)
	_, err = answer.Reply(t.Context(), answer.Pending[0].Approve())
	require.ErrorContains(t, err, "already")
	_, err = done.Reply(t.Context())
	require.ErrorContains(t, err, "no pending questions")
}

func TestReply_RejectsAndEdits(t *testing.T) {
	config := weft.Config{Tools: []weft.Tool{weather()}, Approve: []string{"weather"}}
	for want, reply := range map[string]func(q weft.Question) weft.Reply{
		"not today":      func(q weft.Question) weft.Reply { return q.Reject("not today") },
		"sunny in Porto": func(q weft.Question) weft.Reply { return q.Edit(`{"name":"Porto"}`) },
	} {
		answer, err := agentOf(t, config, askWeather, adktest.Says("ok")).Ask(t.Context(), "?")
		require.NoError(t, err)
		answer, err = answer.Reply(t.Context(), reply(answer.Pending[0]))
		require.NoError(t, err)
		require.Contains(t, answer.Messages[2].Content, want)
	}
}

func TestReply_AnswersAToolsOwnQuestion(t *testing.T) {
	ask := weft.Func("ask", "Asks the user.", func(ctx context.Context, in struct{}) (string, error) {
		if is, given, name := tool.GetResumeContext[string](ctx); is && given {
			return "hello " + name, nil
		}
		return "", tool.Interrupt(ctx, "Your name?")
	})
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{ask}}, adktest.Calls(adktest.Call("ask", "{}")), adktest.Says("ok"))
	_, answer := lines(t, agent.Stream(t.Context(), "?"))
	require.Equal(t, "Your name?", answer.Pending[0].Text)
	all, answer := lines(t, answer.StreamReply(t.Context(), answer.Pending[0].Reply("Ana")))
	require.Equal(t, []string{"result: hello Ana", "assistant: ok"}, all)
	require.Equal(t, "ok", answer.Text)
}

func TestConversation_WaitsAcrossARestart(t *testing.T) {
	dir := t.TempDir()
	open := func(script ...adktest.Answer) *weft.Conversation {
		store, err := checkpoint.NewFileStore(dir)
		require.NoError(t, err)
		return agentOf(t, weft.Config{Tools: []weft.Tool{weather()}, Approve: []string{"weather"}}, script...).Conversation(store, "ana")
	}
	answer, err := open(adktest.Says("Hi.")).Ask(t.Context(), "Hello")
	require.NoError(t, err)
	require.Equal(t, "Hi.", answer.Text)
	answer, err = open(askWeather).Ask(t.Context(), "Weather?")
	require.NoError(t, err)
	require.Len(t, answer.Pending, 1)
	_, err = open().Ask(t.Context(), "Are you there?")
	var isOpen *conversation.OpenError
	require.ErrorAs(t, err, &isOpen)
	pending, err := open().Pending(t.Context())
	require.NoError(t, err)
	require.Equal(t, "weather", pending[0].Tool)
	answer, err = open(adktest.Says("Sun.").Seeing("user: Hello", "assistant: Hi.", "user: Weather?",
		`assistant: [weather#call_1 {"name":"Lisbon"}]`, "tool weather#call_1: sunny in Lisbon")).Reply(t.Context(), pending[0].Approve())
	require.NoError(t, err)
	require.Equal(t, "Sun.", answer.Text)
	_, err = open().Reply(t.Context(), pending[0].Approve())
	require.ErrorIs(t, err, conversation.ErrNotWaiting)
	history, err := open().History(t.Context())
	require.NoError(t, err)
	require.Len(t, history.Turns, 2)
	require.Nil(t, history.Open)
}

func TestConversation_OfSeveralAgentsGoesToTheOneThatAnsweredLast(t *testing.T) {
	billing := agentOf(t, weft.Config{Name: "billing", Description: "invoices"}, adktest.Says("Paid."),
		adktest.Says("Yes.").Repeated())
	desk := agentOf(t, weft.Config{Name: "desk", Description: "everything else", Agents: []*weft.Agent{billing}},
		adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"billing"}`)))
	chat := desk.Conversation(checkpoint.NewMemoryStore(), "1")
	all, answer := lines(t, chat.Stream(t.Context(), "my invoice?"))
	require.Equal(t, []string{"desk hands over to billing", "billing: Paid."}, all)
	require.Equal(t, "Paid.", answer.Text)
	all, _ = lines(t, chat.Stream(t.Context(), "sure?"))
	require.Equal(t, []string{"billing: Yes."}, all)
}

func TestConversation_KeepsATurnThatFailedAsFarAsItGot(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}}, askWeather, adktest.Fails(errors.New("overloaded")),
		adktest.Says("As I said.").Seeing("user: Weather?", `assistant: [weather#call_1 {"name":"Lisbon"}]`,
			"tool weather#call_1: sunny in Lisbon", "user: Well?"))
	chat := agent.Conversation(checkpoint.NewMemoryStore(), "1")
	_, err := chat.Ask(t.Context(), "Weather?")
	require.ErrorContains(t, err, "overloaded")
	_, err = chat.Ask(t.Context(), "Well?")
	require.NoError(t, err)
}

func TestConversation_IsAbandonedAndDeleted(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}, Approve: []string{"weather"}}, askWeather, adktest.Says("Hi."))
	store := checkpoint.NewMemoryStore()
	chat := agent.Conversation(store, "1")
	answer, err := chat.Ask(t.Context(), "Weather?")
	require.NoError(t, err)
	_, err = answer.Reply(t.Context(), answer.Pending[0].Approve())
	require.ErrorContains(t, err, "Conversation.Reply")
	require.NoError(t, chat.Discard(t.Context()))
	require.NoError(t, chat.Discard(t.Context()))
	_, err = chat.Ask(t.Context(), "Hello")
	require.NoError(t, err)
	require.NoError(t, chat.Delete(t.Context()))
	history, err := chat.History(t.Context())
	require.NoError(t, err)
	require.Empty(t, history.Turns)
	for info := range store.ListCheckPoints(t.Context(), "") {
		t.Errorf("%s is left in the store", info.ID)
	}
}

func TestConversation_OfABadStoreFails(t *testing.T) {
	agent := agentOf(t, weft.Config{})
	for _, store := range []weft.Store{nil, (*checkpoint.MemoryStore)(nil), struct{ weft.Store }{}} {
		_, err := agent.Conversation(store, "1").Ask(t.Context(), "?")
		require.ErrorContains(t, err, "store")
		_, err = agent.Conversation(store, "1").Pending(t.Context())
		require.Error(t, err)
		require.Error(t, agent.Conversation(store, "1").Delete(t.Context()))
	}
}

func TestNew_RefusesABadConfiguration(t *testing.T) {
	model := adktest.NewModel(t)
	other, err := weft.New(weft.Config{Name: "other", Model: model})
	require.NoError(t, err)
	for want, config := range map[string]weft.Config{
		"set Config.Model":                          {},
		"there are two tools 'weather'":             {Model: model, Tools: []weft.Tool{weather(), weather()}},
		"tool 0 of Config.Tools is nil":             {Model: model, Tools: []weft.Tool{nil}},
		"tool x: the function is nil":               {Model: model, Tools: []weft.Tool{weft.Func[city, string]("x", "", nil)}},
		"tool x: its argument is of type string":    {Model: model, Tools: []weft.Tool{weft.Func("x", "", func(context.Context, string) (int, error) { return 0, nil })}},
		"tool x: its argument is of type array":     {Model: model, Tools: []weft.Tool{weft.Func("x", "", func(context.Context, []int) (int, error) { return 0, nil })}},
		"has no JSON form":                          {Model: model, Tools: []weft.Tool{weft.Func("x", "", func(context.Context, struct{ C chan int }) (int, error) { return 0, nil })}},
		"Config.Approve: there is no tool 'pay'":    {Model: model, Approve: []string{"pay"}},
		"agent 'other' has no Description":          {Model: model, Agents: []*weft.Agent{other}},
		"agent 0 of Config.Agents is nil":           {Model: model, Agents: []*weft.Agent{nil}},
		"there are two agents 'other'":              {Name: "other", Model: model, Agents: []*weft.Agent{other}},
		"Config.ToolTimeout is -1s":                 {Model: model, ToolTimeout: -time.Second},
		"Config.MaxTurns is -1":                     {Model: model, MaxTurns: -1},
		"a model of Config.Fallbacks is nil":        {Model: model, Fallbacks: []weft.Model{nil}},
		"a middleware of Config.Middlewares is nil": {Model: model, Middlewares: []weft.Middleware{nil}},
	} {
		_, err := weft.New(config)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "weft.New: agent '")
		require.NotContains(t, err.Error(), "\n")
	}
	_, err = weft.Wrap(nil)
	require.Error(t, err)
}

func TestAgent_TakesItsPlaceInPackageADK(t *testing.T) {
	inner := agentOf(t, weft.Config{Name: "inner", Description: "knows"}, adktest.Says("42").Repeated())
	for _, made := range []adk.Agent{inner, inner.ADK()} {
		adktest.Ask(t.Context(), t, made, "?").ExpectText("42")
	}
	outer := agentOf(t, weft.Config{Tools: []weft.Tool{inner.Tool()}}, adktest.Calls(adktest.Call("inner", `{"request":"?"}`)), adktest.Says("it is 42"))
	answer, err := outer.Ask(t.Context(), "?")
	require.NoError(t, err)
	require.Equal(t, "42", answer.Messages[2].Content)
	fresh := agentOf(t, weft.Config{Name: "inner", Description: "knows"}, adktest.Says("42")) // one that has run takes no other place
	sequence, err := adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "two", SubAgents: []adk.Agent{fresh.ADK()}})
	require.NoError(t, err)
	wrapped, err := weft.Wrap(sequence)
	require.NoError(t, err)
	answer, err = wrapped.Ask(t.Context(), "?")
	require.NoError(t, err)
	require.Equal(t, "42", answer.Text)
}

func TestStream_EndsWithABreak(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}}, adktest.Streams("a", "b", "c"))
	for e, err := range agent.Stream(t.Context(), "?") {
		require.NoError(t, err)
		if e.Text == "b" {
			break
		}
		require.Equal(t, "a", e.Text)
	}
}

func TestAsk_WithoutAContextFails(t *testing.T) {
	agent := agentOf(t, weft.Config{Tools: []weft.Tool{weather()}, Approve: []string{"weather"}}, askWeather)
	answer, err := agent.Ask(t.Context(), "?")
	require.NoError(t, err)
	var none context.Context
	chat := agent.Conversation(checkpoint.NewMemoryStore(), "1")
	for _, call := range []func() (*weft.Answer, error){
		func() (*weft.Answer, error) { return agent.Ask(none, "?") },
		func() (*weft.Answer, error) { return answer.Reply(none, answer.Pending[0].Approve()) },
		func() (*weft.Answer, error) { return chat.Ask(none, "?") },
		func() (*weft.Answer, error) { return chat.Reply(none) },
	} {
		_, err := call()
		require.ErrorContains(t, err, "the context is nil")
	}
}

func TestStream_AThousandAtOnce(t *testing.T) {
	agent := lookupAgent(t)
	var group sync.WaitGroup
	for i := range 1000 {
		group.Go(func() {
			for e, err := range agent.Stream(context.Background(), "hello") {
				if err != nil {
					t.Error(err)
				}
				if i%3 == 0 && e.Result != nil {
					break
				}
			}
		})
	}
	group.Wait()
}
