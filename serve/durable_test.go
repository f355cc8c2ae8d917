package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// stores returns the configuration of a server whose stores outlive its process.
func stores(t *testing.T, dir string) Config {
	t.Helper()
	store, err := checkpoint.NewFileStore(dir + "/runs")
	require.NoError(t, err)
	events, err := runlog.NewFileStore(dir + "/events")
	require.NoError(t, err)
	return Config{Store: store, Events: events}
}

// A question is listed and answered by another process than the one that asked it, and a client watches on.
// Rules serving/SV5, serving/SV17.
func TestServer_IsReplacedWhileARunWaits(t *testing.T) {
	dir := t.TempDir()
	var paid []string
	first := newDesk(t, stores(t, dir), agentOf(t, pay(t, &paid), adktest.Calls(adktest.Call("pay", `{"amount":7}`))))
	seen := first.stream("POST", "/agents/desk/runs", `{"input":"Pay!","thread":"t1"}`)
	before := events(t, seen)
	run := before[0].Run
	require.NoError(t, first.srv.Shutdown(t.Context()))
	require.Equal(t, "shutting_down", first.refused(503, "POST", "/agents/desk/runs", `{"input":"Pay!"}`))
	require.Equal(t, "shutting_down", first.refused(503, "GET", "/readyz", ""))

	second := newDesk(t, stores(t, dir), agentOf(t, pay(t, &paid), adktest.Says("Paid.")))
	open := second.call(200, "GET", "/questions", "")["questions"].([]any)
	require.Len(t, open, 1)
	id := open[0].(map[string]any)["id"].(string)
	rest := events(t, second.stream("POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":true,"arguments":{"amount":8}}}}`))
	require.Equal(t, []string{"8"}, paid)
	require.Equal(t, []string{"", "paid 8", "Paid."}, said(append(before, rest...)))
	after := events(t, second.stream("GET", "/runs/"+run+"/events", "", "Last-Event-ID", seen[len(seen)-1].id))
	require.Equal(t, rest, after, "a client that comes back gets what it has not seen")
	require.Len(t, second.call(200, "GET", "/threads/t1/messages", "")["messages"], 4)
}

// Wherever a connection is cut, the pieces are the whole.
// Rule serving/SV11.
func TestServer_ContinuesAStreamBehindAnyEvent(t *testing.T) {
	look := adktest.NewTool("look", adktest.Says("found"))
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(look)},
		adktest.Streams("Let me ", "see").Calling(adktest.Call("look", `{}`)), adktest.Streams("It ", "is ", "there.")))
	whole := d.stream("POST", "/agents/desk/runs", `{"input":"Where?"}`)
	run := events(t, whole)[0].Run
	for i := range len(whole) - 1 {
		rest := d.stream("GET", "/runs/"+run+"/events", "", "Last-Event-ID", whole[i].id)
		texts := said(events(t, append(append([]frame{}, whole[:i+1]...), rest...)))
		require.Equal(t, said(events(t, whole)), texts, "cut behind %s", whole[i].id)
		require.Equal(t, whole, append(slices.Clone(whole[:i+1]), rest...), "each event once")
		require.Equal(t, whole[len(whole)-1], rest[len(rest)-1])
	}
	for _, nonsense := range []string{"garbage", ".end", "0.0", "-1.5", "0x2.1", strings.Repeat("9", 300)} {
		rest := d.stream("GET", "/runs/"+run+"/events", "", "Last-Event-ID", nonsense)
		require.Equal(t, said(events(t, whole)), said(events(t, rest)), "%s is the beginning", nonsense)
	}
	for _, beyond := range []string{"ff.1", "2.9999"} { // such as of a log that was lost: what there is comes, and its end
		rest := d.stream("GET", "/runs/"+run+"/events", "", "Last-Event-ID", beyond)
		require.Equal(t, whole[len(whole)-1], rest[len(rest)-1], beyond)
	}
	for _, end := range []string{"2.9999.end", whole[len(whole)-1].id} { // who claims to have seen the end is believed
		require.Empty(t, d.stream("GET", "/runs/"+run+"/events", "", "Last-Event-ID", end), end)
	}
}

// A run is stopped when all who watched it have gone, if that is wanted, and not before.
// Rule serving/SV1.
func TestStream_StopsARunThatNobodyWatchesAnyMore(t *testing.T) {
	for name, c := range map[string]struct {
		how  Disconnect
		want runs.Status
	}{
		"kept": {Keep(), runs.Running}, "stopped": {CancelAfter(0), Stopped}, "stopped later": {CancelAfter(time.Hour), runs.Running},
	} {
		t.Run(name, func(t *testing.T) {
			begun, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			wait, err := utils.InferTool("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
				once.Do(func() { close(begun) })
				<-release
				time.Sleep(time.Millisecond)
				return "waited", nil
			})
			require.NoError(t, err)
			replies := []adktest.Answer{adktest.Calls(adktest.Call("wait", `{}`))}
			if c.want == runs.Running {
				replies = append(replies, adktest.Says("Done."))
			} else {
				replies[0] = replies[0].Repeated()
			}
			d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{MaxIterations: 100_000,
				ToolsConfig: adktest.Tools(tool.BaseTool(wait))}, replies...))
			noted := &stopsNoted{executor: d.srv.runs, stopped: make(chan struct{}, 1)}
			d.srv.runs = noted
			web := httptest.NewServer(d.srv.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c1, err := d.srv.Caller(r)
				require.NoError(t, err)
				require.NoError(t, d.srv.Stream(w, r, c1, StreamConfig{Run: r.URL.Path[1:], OnDisconnect: c.how,
					Translate: func(e *runlog.Event, out *Frames) { out.Send("", string(e.Type), []byte("{}")) }}))
			}), nil))
			defer web.Close()
			run := d.call(201, "POST", "/agents/desk/runs", `{"input":"Go"}`)["id"].(string)
			<-begun
			ctx, leave := context.WithCancel(t.Context())
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/"+run, nil)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			_, err = answer.Body.Read(make([]byte, 1))
			require.NoError(t, err)
			leave()
			answer.Body.Close()
			status := func() runs.Status {
				info, _, err := d.srv.runs.Inspect(t.Context(), run)
				require.NoError(t, err)
				return statusOf(&info)
			}
			if c.want == Stopped {
				<-noted.stopped
				close(release) // it stops where nothing is lost: behind a tool
				require.Eventually(t, func() bool { return status() == Stopped }, 10*time.Second, 5*time.Millisecond)
				return
			}
			time.Sleep(50 * time.Millisecond)
			require.Equal(t, c.want, status())
			release <- struct{}{}
			require.Equal(t, "done", d.call(200, "GET", "/runs/"+run, "", "Prefer", "wait=10")["status"])
		})
	}
}

// stopsNoted says when a run was stopped.
type stopsNoted struct {
	executor
	stopped chan struct{}
}

func (s *stopsNoted) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	err := s.executor.Stop(ctx, id, how)
	s.stopped <- struct{}{}
	return err
}

// A question for a principal is answered by no one else, not even by the owner of the run.
func TestServer_HasApproversAnswer(t *testing.T) {
	ask, err := utils.InferTool("ask", "Asks a clerk.", func(ctx context.Context, _ struct{}) (string, error) {
		if _, answered, text := tool.GetResumeContext[string](ctx); answered {
			return text, nil
		}
		return "", tool.Interrupt(ctx, &clerkQuestion{"May I?"})
	})
	require.NoError(t, err)
	d := newDesk(t, Config{Auth: byToken}, agentOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(tool.BaseTool(ask))},
		adktest.Calls(adktest.Call("ask", `{}`)), adktest.Says("Thank you.").SeeingLast("tool ask#call_1: you may")))
	ana, bob, clerk := d.as("ana"), d.as("bob"), d.as("eve/clerks")
	run := events(t, ana.stream("POST", "/agents/desk/runs", `{"input":"Ask!"}`))[0].Run
	require.Empty(t, ana.call(200, "GET", "/questions", "")["questions"])
	require.Empty(t, bob.call(200, "GET", "/questions", "")["questions"])
	open := clerk.call(200, "GET", "/questions", "")["questions"].([]any)
	require.Len(t, open, 1)
	question := open[0].(map[string]any)
	require.Equal(t, "May I?", question["text"])
	body := `{"replies":{"` + question["id"].(string) + `":"you may"}}`
	require.Equal(t, "forbidden", ana.refused(403, "POST", "/runs/"+run+"/replies", body))
	require.Equal(t, "not_found", bob.refused(404, "POST", "/runs/"+run+"/replies", body))
	require.Equal(t, "not_found", clerk.refused(404, "POST", "/runs/"+run+"/stop", ""))
	d.srv.runs = &doneWhenAnswered{d.srv.runs}
	answered := clerk.do("POST", "/runs/"+run+"/replies", body, "Accept", "text/event-stream")
	answered.Body.Close()
	require.Equal(t, 202, answered.StatusCode, "the run does not wait for the clerk any more, and is not the clerk's to watch")
	require.Equal(t, "done", ana.call(200, "GET", "/runs/"+run, "", "Prefer", "wait=10")["status"])
}

// doneWhenAnswered executes a run to its end before the answer is acknowledged.
type doneWhenAnswered struct{ executor }

func (d *doneWhenAnswered) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	err := d.executor.Reply(ctx, id, answers...)
	if err == nil {
		_, err = d.wait(ctx, id)
	}
	return err
}

type clerkQuestion struct {
	Text string `json:"text"`
}

func (q *clerkQuestion) Asks() runs.Question {
	return runs.Question{Kind: runs.KindQuestion, For: []string{"clerks"}, Text: q.Text}
}

func init() { schema.RegisterName[*clerkQuestion]("_weft_serve_test_clerk_question") }

// A client brings a tool, is asked to carry it out, and the model reads what came of it.
// Rule serving/SV19.
func TestServer_HasClientsCarryOutTheirTools(t *testing.T) {
	d := newDesk(t, Config{AllowClientTools: true}, agentOf(t, adk.ChatModelAgentConfig{
		Handlers: []adk.ChatModelAgentMiddleware{ClientTools()}},
		adktest.Calls(adktest.Call("locate", `{"precise":true}`)).Offered("locate"),
		adktest.Says("You are in Lisbon.").SeeingLast("tool locate#call_1: 38.7,-9.1"), adktest.Says("Nowhere.").Offered()))
	tools := `"tools":[{"name":"locate","description":"Says where the user is.","parameters":{"type":"object","properties":{"precise":{"type":"boolean"}}}}]`
	all := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Where am I?",`+tools+`}`))
	question := d.call(200, "GET", "/questions", "")["questions"].([]any)[0].(map[string]any)
	require.Equal(t, "client_tool", question["kind"])
	require.Equal(t, "locate", question["tool"])
	require.JSONEq(t, `{"precise":true}`, question["arguments"].(string))
	id := question["id"].(string)
	for _, bad := range []string{`{}`, `"x"`, `{"text":"a","error":"b"}`, `{"text":1}`, `null`} {
		require.Equal(t, "bad_request", d.refused(400, "POST", "/runs/"+all[0].Run+"/replies", `{"replies":{"`+id+`":`+bad+`}}`))
	}
	rest := events(t, d.stream("POST", "/runs/"+all[0].Run+"/replies", `{"replies":{"`+id+`":{"text":"38.7,-9.1"}}}`))
	require.Equal(t, "You are in Lisbon.", said(append(all, rest...))[2])
	require.Equal(t, []string{"Nowhere."}, said(events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Where am I?"}`))),
		"the tools of one run are not those of another")
	for _, bad := range []string{`[{"name":"a b"}]`, `[{"name":"a"},{"name":"a"}]`, `[{"name":"a","parameters":[]}]`, `[{"name":"a","parameters":"x"}]`} {
		require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"input":"x","tools":`+bad+`}`), bad)
	}
}

// A server before workers of another process, of which it knows the front only.
func TestServer_StandsBeforeAFleetOfWorkers(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	stored := runlog.NewMemoryStore()
	threads, err := conversation.NewStore(store)
	require.NoError(t, err)
	newDispatcher := func(agents dispatch.Agents) *dispatch.Dispatcher {
		log := runlog.New(runlog.Config{Store: stored})
		t.Cleanup(func() { require.NoError(t, log.Close(context.Background())) })
		return dispatch.New(store, dispatch.Config{Agents: agents, Log: log,
			Options: RunOptions(threads, conversation.HistoryOptions{})})
	}
	agent := agentOf(t, adk.ChatModelAgentConfig{}, adktest.Says("One."), adktest.Says("Two.").Seeing("user: a", "assistant: One.", "user: b"))
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan error)
	go func() {
		worked <- newDispatcher(dispatch.Agents{"desk": dispatch.RunnerOf(agent)}).Work(ctx, dispatch.WorkerConfig{Poll: 10 * time.Millisecond})
	}()
	d := newDesk(t, Config{Front: newDispatcher(nil), Conversations: threads}, agent)
	require.Equal(t, []string{"One."}, said(events(t, d.stream("POST", "/agents/desk/runs", `{"input":"a","thread":"t"}`))))
	require.Equal(t, []string{"Two."}, said(events(t, d.stream("POST", "/agents/desk/runs", `{"input":"b","thread":"t"}`))))
	stop()
	require.NoError(t, <-worked)
}

// Agents on agentic messages are served the same way, without threads.
func TestServer_ServesAgentsOnAgenticMessages(t *testing.T) {
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{Name: "desk",
		Description: "helps", Model: adktest.NewTypedModel[*schema.AgenticMessage](t, adktest.Streams("Hel", "lo."))})
	require.NoError(t, err)
	srv, err := NewTyped(TypedConfig[*schema.AgenticMessage]{Agents: []adk.TypedAgent[*schema.AgenticMessage]{agent}})
	require.NoError(t, err)
	web := httptest.NewServer(srv)
	defer web.Close()
	defer func() { require.NoError(t, srv.Shutdown(context.Background())) }()
	d := &desk{t, srv, web.URL, http.Header{}}
	all := events(t, d.stream("POST", "/agents/desk/runs", `{"input":[{"role":"user","user_input_multi_content":[{"type":"text","text":"Hi"},{"type":"image_url","image":{"url":"https://example.com/a.png"}}]}]}`))
	messages := runlog.Transcript[*schema.AgenticMessage](all)
	require.Len(t, messages, 1)
	require.Equal(t, "Hello.", messages[0].ContentBlocks[0].AssistantGenText.Text)
	require.Equal(t, "done", d.call(200, "GET", "/runs/"+all[0].Run, "")["status"])
	require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"input":"x","thread":"t"}`))
}

// What happens to a message in a thread that is busy.
// Rule serving/SV2.
func TestServer_QueuesOrPreempts(t *testing.T) {
	for name, policy := range map[string]BusyPolicy{"queues": QueueBusy, "preempts": PreemptBusy} {
		t.Run(name, func(t *testing.T) {
			begun, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			slow, err := utils.InferTool("slow", "Takes long.", func(ctx context.Context, _ struct{}) (string, error) {
				once.Do(func() { close(begun) })
				<-release
				time.Sleep(time.Millisecond)
				return "done", nil
			})
			require.NoError(t, err)
			agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps",
				MaxIterations: 100_000, ToolsConfig: adktest.Tools(tool.BaseTool(slow)), Model: busyModel{policy == QueueBusy}})
			require.NoError(t, err)
			d := newDesk(t, Config{Busy: policy}, agent)
			first := d.call(201, "POST", "/agents/desk/runs", `{"input":"Go","thread":"t"}`)["id"].(string)
			<-begun
			second := d.call(201, "POST", "/agents/desk/runs", `{"input":"And?","thread":"t"}`)["id"].(string)
			close(release)
			run := d.call(200, "GET", "/runs/"+second, "", "Prefer", "wait=20")
			require.Equal(t, "done", run["status"], run)
			require.Equal(t, "Second.", run["result"].(map[string]any)["content"])
			want := map[BusyPolicy]string{QueueBusy: "done", PreemptBusy: "stopped"}[policy]
			require.Equal(t, want, d.call(200, "GET", "/runs/"+first, "")["status"])
			var texts []string
			for _, m := range d.call(200, "GET", "/threads/t/messages", "")["messages"].([]any) {
				texts = append(texts, fmt.Sprint(m.(map[string]any)["message"].(map[string]any)["content"]))
			}
			require.Equal(t, "Go", texts[0])
			require.Equal(t, []string{"And?", "Second."}, texts[len(texts)-2:])
		})
	}
}

// A run that was stopped, and whose record is gone from memory, keeps no client waiting.
func TestServer_EndsTheStreamOfARunWithoutARecord(t *testing.T) {
	var paid []string
	d := newDesk(t, Config{Linger: time.Nanosecond}, agentOf(t, pay(t, &paid), adktest.Calls(adktest.Call("pay", `{"amount":7}`))))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"Pay!"}`, "Prefer", "wait=10")["id"].(string)
	d.call(202, "POST", "/runs/"+run+"/stop", "")
	require.Eventually(t, func() bool { return len(d.stream("GET", "/runs/"+run+"/events", "")) == 0 }, 10*time.Second, 10*time.Millisecond)
}

// busyModel calls a tool again and again until it is stopped, or until it has a result; other questions it answers.
type busyModel struct{ ends bool }

func (m busyModel) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	last := history[len(history)-1]
	switch {
	case last.Role == schema.User && last.Content == "And?":
		return schema.AssistantMessage("Second.", nil), nil
	case last.Role == schema.Tool && m.ends:
		return schema.AssistantMessage("First.", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Type: "function",
		Function: schema.FunctionCall{Name: "slow", Arguments: "{}"}}}), nil
}

func (m busyModel) Stream(
	ctx context.Context, history []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}
