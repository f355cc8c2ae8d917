package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func TestConfig(t *testing.T) {
	for _, c := range []*approval.Config{nil, {}, {Tools: []string{"t"}, Expiry: -1},
		{Tools: []string{"t"}, Ask: func(context.Context, *adk.ToolContext, string) (bool, error) { return true, nil }}} {
		m, err := approval.New(t.Context(), c)
		require.Error(t, err)
		require.True(t, m == nil)
	}
}

// desk runs an agent and answers its questions.
type desk[M adk.MessageType] struct {
	t      *testing.T
	runner *adk.TypedRunner[M]
	store  *adktest.Store
	events *adktest.Events[M]
}

func open[M adk.MessageType](t *testing.T, conf approval.Config, m *adktest.Model[M], tools ...tool.BaseTool) *desk[M] {
	t.Helper()
	handler, err := approval.NewTyped[M](t.Context(), &conf)
	require.NoError(t, err)
	return openFor(t, &adk.TypedChatModelAgentConfig[M]{Model: m, ToolsConfig: adktest.Tools(tools...),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{handler}})
}

func openFor[M adk.MessageType](t *testing.T, conf *adk.TypedChatModelAgentConfig[M]) *desk[M] {
	t.Helper()
	conf.Name = "a"
	agent, err := adk.NewTypedChatModelAgent(t.Context(), conf)
	require.NoError(t, err)
	d := &desk[M]{t: t, store: adktest.NewStore()}
	d.runner = adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, CheckPointStore: d.store, EnableStreaming: true})
	d.events = adktest.Collect(t, d.runner.Query(t.Context(), "hi", adk.WithCheckPointID("1")))
	return d
}

// asked are the questions, by the tools' call IDs, and the IDs to answer them by.
func (d *desk[M]) asked() (requests map[string]*approval.Request, ids map[string]string) {
	d.t.Helper()
	requests, ids = map[string]*approval.Request{}, map[string]string{}
	for _, e := range d.events.All() {
		require.NoError(d.t, e.Err)
		if e.Action == nil || e.Action.Interrupted == nil {
			continue
		}
		for _, c := range e.Action.Interrupted.InterruptContexts {
			r := c.Info.(*approval.Request)
			requests[r.CallID], ids[r.CallID] = r, c.ID
		}
	}
	return requests, ids
}

func (d *desk[M]) question(callID string) *approval.Request {
	d.t.Helper()
	requests, _ := d.asked()
	require.Contains(d.t, requests, callID)
	return requests[callID]
}

// answer resumes the run with what is said about calls.
func (d *desk[M]) answer(answers map[string]any) {
	d.t.Helper()
	require.NoError(d.t, d.tryAnswer(answers))
}

// tryAnswer is answer for what may be refused at once.
func (d *desk[M]) tryAnswer(answers map[string]any) error {
	targets := map[string]any{}
	if len(answers) > 0 {
		_, ids := d.asked()
		for callID, answer := range answers {
			targets[ids[callID]] = answer
		}
	}
	events, err := d.runner.ResumeWithParams(d.t.Context(), "1", &adk.ResumeParams{Targets: targets})
	if err == nil {
		d.events = adktest.Collect(d.t, events)
	}
	return err
}

func TestVerdicts(t *testing.T) {
	messagetest.Both(t, testVerdicts[*schema.Message], testVerdicts[*schema.AgenticMessage])
}

func testVerdicts[M adk.MessageType](t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*approval.Request) any
		result string
		runs   bool
	}{
		"approve":        {func(r *approval.Request) any { return r.Approve() }, `{"a":1}`, true},
		"approve, value": {func(r *approval.Request) any { return *r.Approve() }, `{"a":1}`, true},
		"reject": {func(r *approval.Request) any { return r.Reject("too dear") },
			"The user rejected this call of the tool: too dear", false},
		"reject, no text": {func(r *approval.Request) any { return r.Reject("") },
			"The user rejected this call of the tool. Do not try it again unless the user asks for it.", false},
		"edit": {func(r *approval.Request) any { return r.Edit(`{"a":2}`) }, `{"a":2}`, true},
	} {
		for kind, tl := range map[string]interface {
			tool.BaseTool
			Calls() []adktest.ToolCall
		}{"tool": adktest.NewTool("t"), "stream": adktest.NewStreamTool("t"), "enhanced": adktest.NewEnhancedTool("t"),
			"enhanced stream": adktest.NewEnhancedStreamTool("t")} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				m := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("t", `{"a":1}`)),
					adktest.Says("done").SeeingLast("tool t#call_1: "+c.result))
				d := open(t, approval.Config{Tools: []string{"t"}}, m, tl)
				r := d.question("call_1")
				require.Equal(t, &approval.Request{Tool: "t", CallID: "call_1", Arguments: `{"a":1}`, Hash: r.Hash}, r)
				require.Empty(t, tl.Calls())
				d.answer(map[string]any{"call_1": c.answer(r)})
				d.events.ExpectText("done")
				if c.runs {
					require.Equal(t, []adktest.ToolCall{{ID: "call_1", Name: "t", Arguments: c.result}}, tl.Calls())
				} else {
					require.Empty(t, tl.Calls())
				}
			})
		}
	}
}

func TestForgery(t *testing.T) {
	key := []byte("secret")
	for name, c := range map[string]struct {
		forge func(*approval.Request) any
		want  string
	}{
		"no data": {func(*approval.Request) any { return nil }, ""},
		"not signed": {func(r *approval.Request) any { return r.Approve() },
			"the decision is not signed with the right key"},
		"another key": {func(r *approval.Request) any { return r.Approve().Sign([]byte("guess")) },
			"the decision is not signed with the right key"},
		"changed later": {func(r *approval.Request) any {
			d := r.Reject("no").Sign(key)
			d.Verdict = runs.Approved
			return d
		}, "the decision is not signed with the right key"},
		"edited later": {func(r *approval.Request) any { d := r.Edit("{}").Sign(key); d.Arguments = "[]"; return d },
			"the decision is not signed with the right key"},
		"unknown verdict": {func(r *approval.Request) any {
			return (&approval.Decision{Verdict: "maybe", Hash: r.Hash}).Sign(key)
		}, `the verdict "maybe" is unknown`},
		"no JSON": {func(r *approval.Request) any { return r.Edit("{").Sign(key) }, "the edited arguments are no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			tl := adktest.NewTool("t")
			d := open(t, approval.Config{Tools: []string{"t"}, Key: key},
				adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("done")), tl)
			first := d.question("call_1")
			d.answer(map[string]any{"call_1": c.forge(first)})
			again := d.question("call_1")
			require.Empty(t, tl.Calls())
			require.Equal(t, c.want, again.Refused)
			require.Equal(t, c.want == "", again.Hash == first.Hash, "a decision that was refused takes the request with it")
			doc, err := json.Marshal(again.Approve().Sign(key))
			require.NoError(t, err)
			var decision *approval.Decision
			require.NoError(t, json.Unmarshal(doc, &decision))
			d.answer(map[string]any{"call_1": decision})
			d.events.ExpectText("done")
			require.Len(t, tl.Calls(), 1)
		})
	}
}

// TestForgery_IsRefusedAtTheDoor: what is no decision about the question does not reach the run, which waits on.
// Rule distributed/S4.
func TestForgery_IsRefusedAtTheDoor(t *testing.T) {
	for name, c := range map[string]struct {
		forged any
		want   string
	}{
		"other data":       {"yes", "it is string: make it of the request or the question (Approve, Reject or Edit)"},
		"nil decision":     {(*approval.Decision)(nil), "the decision is nil"},
		"no hash":          {&approval.Decision{Verdict: runs.Approved}, "does not have the hash of its request: make it of"},
		"another hash":     {*(&approval.Request{Hash: "other"}).Approve(), "the decision is for another call"},
		"JSON of a string": {runs.JSONReply(`"yes"`), "it is no decision"},
		"JSON, no hash":    {runs.JSONReply(`{"verdict":"approved"}`), "does not have the hash of its request: make it of"},
		"JSON of clients":  {runs.JSONReply(`{"approve":true}`), `of the question and {"approve": true} (serve.ReplyValue)`},
	} {
		t.Run(name, func(t *testing.T) {
			tl := adktest.NewTool("t")
			d := open(t, approval.Config{Tools: []string{"t"}, For: []string{"ana"}},
				adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("done")), tl)
			first := d.question("call_1")
			require.ErrorContains(t, d.tryAnswer(map[string]any{"call_1": c.forged}), c.want)
			require.Equal(t, runs.Question{Kind: runs.KindApproval, For: []string{"ana"}, Tool: "t", Call: "call_1", Arguments: "{}",
				Text: "May t run with {}?"}, first.Asks())
			doc, err := json.Marshal(first.Approve())
			require.NoError(t, err)
			d.answer(map[string]any{"call_1": runs.JSONReply(doc)})
			d.events.ExpectText("done")
			require.Len(t, tl.Calls(), 1)
		})
	}
}

// TestStoreLedger_AllProcessesAgree on which decisions are used. (P7)
func TestStoreLedger_AllProcessesAgree(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	var first atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			used, err := approval.StoreLedger(store).Use(t.Context(), "h", time.Now().Add(time.Hour))
			if err != nil {
				t.Error(err)
			}
			if used {
				first.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, first.Load())
	used, err := approval.StoreLedger(store).Use(t.Context(), "other", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.True(t, used)
}

func TestReplay(t *testing.T) {
	ledger := approval.NewMemoryLedger()
	conf := approval.Config{Tools: []string{"t"}, Ledger: ledger}
	tl := adktest.NewTool("t")
	d := open(t, conf, adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("done")), tl)
	saved, _, err := d.store.Get(t.Context(), "1")
	require.NoError(t, err)
	r, before := d.question("call_1"), d.events
	d.answer(map[string]any{"call_1": r.Approve()})
	d.events.ExpectText("done")

	require.NoError(t, d.store.Set(t.Context(), "1", saved))
	d.events = before
	d.answer(map[string]any{"call_1": r.Approve()})
	require.Equal(t, "the decision was used before", d.question("call_1").Refused)
	require.Len(t, tl.Calls(), 1)

	// The same call in another run is another call.
	other := open(t, conf, adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}"))), tl)
	require.NotEqual(t, r.Hash, other.question("call_1").Hash)
	require.ErrorContains(t, other.tryAnswer(map[string]any{"call_1": r.Approve()}), "the decision is for another call")
	require.Len(t, tl.Calls(), 1)
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, approval.Config{Tools: []string{"t"}, Expiry: time.Hour},
			adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}"))), adktest.NewTool("t"))
		time.Sleep(time.Hour + time.Second)
		d.answer(map[string]any{"call_1": d.question("call_1").Approve()})
		require.Equal(t, "the decision came too late", d.question("call_1").Refused)
	})
}

func TestLedger_Forgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := approval.NewMemoryLedger()
		use := func() bool {
			first, err := l.Use(t.Context(), "h", time.Now().Add(time.Hour))
			require.NoError(t, err)
			return first
		}
		require.True(t, use())
		require.False(t, use())
		time.Sleep(2 * time.Hour)
		require.True(t, use())
	})
}

func TestSeveralAtOnce(t *testing.T) {
	tl, free := adktest.NewTool("t"), adktest.NewTool("free")
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "1"), adktest.Call("free", "2"), adktest.Call("t", "3")),
		adktest.Calls(adktest.Call("t", "4")).SeeingLast("tool t#call_1: 1", "tool free#call_2: 2",
			"tool t#call_3: The user rejected this call of the tool: no"), adktest.Says("done"))
	d := open(t, approval.Config{Tools: []string{"t"}}, m, tl, free)
	requests, _ := d.asked()
	require.Len(t, requests, 2)
	d.answer(map[string]any{"call_1": requests["call_1"].Approve()})
	still, _ := d.asked()
	require.Equal(t, map[string]*approval.Request{"call_3": requests["call_3"]}, still, "the same question")
	d.answer(map[string]any{"call_3": requests["call_3"].Reject("no")})
	d.answer(map[string]any{"call_4": d.question("call_4").Approve()})
	d.events.ExpectText("done")
	require.Equal(t, []string{"1", "4"}, tl.Arguments())
	require.Len(t, free.Calls(), 1)
}

// second asks a question of its own.
type second struct{ seen []string }

func (*second) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "t"}, nil
}

func (s *second) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	s.seen = append(s.seen, arguments)
	if was, _, _ := tool.GetInterruptState[any](ctx); was && len(s.seen) > 1 {
		return "ok", nil
	}
	return "", tool.Interrupt(ctx, &approval.Request{CallID: "own"})
}

func TestToolThatIsInterruptedItself(t *testing.T) {
	tl := &second{}
	d := open(t, approval.Config{Tools: []string{"t"}},
		adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("done").SeeingLast("tool t#call_1: ok")), tl)
	d.answer(map[string]any{"call_1": d.question("call_1").Edit(`{"edited":true}`)})
	d.answer(map[string]any{"own": nil})
	d.events.ExpectText("done")
	require.Equal(t, []string{`{"edited":true}`, `{"edited":true}`}, tl.seen, "the edited arguments stay")
}

// slow is a tool whose first n calls do not end until their context does.
type slow struct {
	second
	times   int
	entered chan struct{}
}

func (s *slow) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	s.seen = append(s.seen, arguments)
	if len(s.seen) > s.times {
		return "ok", nil
	}
	s.entered <- struct{}{}
	<-ctx.Done()
	return "", ctx.Err()
}

// slowStream is slow with a result that begins and then does not end.
type slowStream struct{ slow }

func (s *slowStream) InvokableRun() {} // it is no invokable tool

func (s *slowStream) StreamableRun(
	ctx context.Context, arguments string, _ ...tool.Option,
) (*schema.StreamReader[string], error) {
	s.seen = append(s.seen, arguments)
	if len(s.seen) > s.times {
		return schema.StreamReaderFromArray([]string{"ok"}), nil
	}
	r, w := schema.Pipe[string](1)
	w.Send("o", nil)
	go func() {
		defer w.Close()
		s.entered <- struct{}{}
		<-ctx.Done()
	}()
	return r, nil
}

// TestCancelOfAnApprovedCall: a call that was abandoned because the run was cancelled is made again by the resumed run,
// without another question, but not twice from what was saved once.
func TestCancelOfAnApprovedCall(t *testing.T) {
	for name, build := range map[string]func(chan struct{}) (tool.BaseTool, *slow){
		"whole": func(entered chan struct{}) (tool.BaseTool, *slow) {
			tl := &slow{times: 2, entered: entered}
			return tl, tl
		},
		"streaming": func(entered chan struct{}) (tool.BaseTool, *slow) {
			tl := &slowStream{slow{times: 2, entered: entered}}
			return tl, &tl.slow
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tl, slow := build(make(chan struct{}))
				m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("done"))
				d := open(t, approval.Config{Tools: []string{"t"}}, m, tl)
				_, ids := d.asked()
				params := &adk.ResumeParams{Targets: map[string]any{ids["call_1"]: d.question("call_1").Edit(`{"a":1}`)}}
				for range slow.times {
					option, cancel := adk.WithCancel()
					events, err := d.runner.ResumeWithParams(t.Context(), "1", params, option)
					require.NoError(t, err)
					<-slow.entered
					cancel()
					var last error
					for e := range events.All() {
						last = e.Err
					}
					require.ErrorAs(t, last, new(*adk.CancelError))
					params = nil
				}
				saved, _, err := d.store.Get(t.Context(), "1")
				require.NoError(t, err)
				d.answer(nil)
				d.events.ExpectText("done")
				require.Equal(t, []string{`{"a":1}`, `{"a":1}`, `{"a":1}`}, slow.seen)

				require.NoError(t, d.store.Set(t.Context(), "1", saved))
				d.answer(nil)
				require.Equal(t, "the decision was used before", d.question("call_1").Refused)
				require.Len(t, slow.seen, 3)
			})
		})
	}
}

func TestWhichTools(t *testing.T) {
	boom := errors.New("boom")
	m, err := approval.New(t.Context(),
		&approval.Config{Ask: func(_ context.Context, _ *adk.ToolContext, arguments string) (bool, error) {
			if arguments == "fail" {
				return false, boom
			}
			return false, nil
		}})
	require.NoError(t, err)
	e, err := m.WrapInvokableToolCall(t.Context(),
		func(_ context.Context, a string, _ ...tool.Option) (string, error) { return a, nil }, &adk.ToolContext{Name: "t"})
	require.NoError(t, err)
	_, err = e(t.Context(), "fail")
	require.ErrorIs(t, err, boom)
	out, err := e(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, "x", out)

	m, err = approval.New(t.Context(), &approval.Config{Tools: []string{"t"}})
	require.NoError(t, err)
	ctx, _, err := m.BeforeAgent(t.Context(),
		&adk.ChatModelAgentContext{Tools: []tool.BaseTool{adktest.NewTool("t"), adktest.NewTool("free")}})
	require.NoError(t, err)
	for name, asked := range map[string]bool{"t": true, "free": false, "alias": true} {
		e, err := m.WrapInvokableToolCall(ctx,
			func(_ context.Context, a string, _ ...tool.Option) (string, error) { return a, nil }, &adk.ToolContext{Name: name})
		require.NoError(t, err)
		_, err = e(ctx, "x")
		require.Equal(t, asked, err != nil, name)
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _, _ = m.BeforeModelRewriteState(ctx, nil, nil) }), 1.0)
}

// changesTools adds tools to a run and takes one away.
type changesTools struct {
	*adk.BaseChatModelAgentMiddleware
	add    []tool.BaseTool
	remove tool.BaseTool
}

func (c *changesTools) BeforeAgent(
	ctx context.Context, rc *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	next := *rc
	next.Tools = append(slices.DeleteFunc(slices.Clone(rc.Tools), func(t tool.BaseTool) bool { return t == c.remove }),
		c.add...)
	return ctx, &next, nil
}

func TestWhichTools_OfMiddlewaresAfterIt(t *testing.T) {
	handler, err := approval.New(t.Context(), &approval.Config{Tools: []string{"danger"}})
	require.NoError(t, err)
	removed, free, danger := adktest.NewTool("removed"), adktest.NewTool("free"), adktest.NewTool("danger")
	tools := adktest.Tools(removed)
	tools.ToolAliases = map[string]compose.ToolAliasConfig{"danger": {NameAliases: []string{"removed"}}}
	d := openFor(t, &adk.ChatModelAgentConfig{ToolsConfig: tools,
		Model: adktest.NewModel(t, adktest.Calls(adktest.Call("free", "1"), adktest.Call("danger", "2"),
			adktest.Call("removed", "3")),
			adktest.Calls(adktest.Call("free", "4")), adktest.Says("done")),
		Handlers: []adk.ChatModelAgentMiddleware{handler,
			&changesTools{add: []tool.BaseTool{free, danger}, remove: removed}}})
	requests, _ := d.asked()
	require.Len(t, requests, 2)
	require.Contains(t, requests, "call_2")
	require.Contains(t, requests, "call_3", "an alias now, though it was a tool's name before")
	d.answer(map[string]any{"call_2": requests["call_2"].Approve(), "call_3": requests["call_3"].Approve()})
	d.events.ExpectText("done")
	require.Equal(t, []string{"1", "4"}, free.Arguments(), "asked for neither before nor after the resume")
	require.ElementsMatch(t, []string{"2", "3"}, danger.Arguments())
}
