package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestSleepFor_NeedsNoWorker while it lasts.
// Rule distributed/D8.
func TestSleepFor_NeedsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		agent := agentOf(t, "a", toolNamed(t, "sleep", func(ctx context.Context) (string, error) {
			if err := dispatch.SleepFor(ctx, 72*time.Hour); err != nil {
				return "", err
			}
			return "slept", nil
		}))
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}
		d, stop := working(t, store, conf, dispatch.WorkerConfig{})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		o := waitFor(t, d, "1", runs.Waiting)
		require.Equal(t, runs.KindTimer, o.Questions[0].Kind)
		stop()
		time.Sleep(71 * time.Hour)
		d, stop = working(t, store, conf, dispatch.WorkerConfig{})
		defer stop()
		time.Sleep(59 * time.Minute)
		waitFor(t, d, "1", runs.Waiting)
		time.Sleep(2 * time.Minute)
		require.Equal(t, "done: slept", waitFor(t, d, "1", runs.Done).Message.Content)
	})
}

// TestAsRun_TheCallIsARunOfItsOwn, and its result is the tool's.
// Rule distributed/D8.
func TestAsRun_TheCallIsARunOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		child := agentOf(t, "child", toolNamed(t, "work", func(context.Context) (string, error) {
			time.Sleep(time.Hour)
			return "worked", nil
		}))
		failing := agentOf(t, "failing", toolNamed(t, "work", func(context.Context) (string, error) { return "", errors.New("no luck") }))
		parent := agentOf(t, "parent", dispatch.AsRun("child", "works"))
		other := agentOf(t, "other", dispatch.AsRun("failing", "fails"))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"parent": dispatch.RunnerOf(parent),
			"child": dispatch.RunnerOf(child), "failing": dispatch.RunnerOf(failing), "other": dispatch.RunnerOf(other)}}, dispatch.WorkerConfig{Slots: 1})
		defer stop()
		for _, id := range []string{"parent", "other"} {
			_, err := d.Submit(t.Context(), jobOf(id, id))
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		info, _, err := store.Inspect(t.Context(), "parent")
		require.NoError(t, err)
		require.Equal(t, runs.Waiting, info.Status)
		require.Equal(t, runs.KindRun, info.Waiting[0].Kind)
		children := 0
		for c, err := range d.List(t.Context(), runs.Query{Parent: "parent"}) {
			require.NoError(t, err)
			require.Equal(t, "child", c.Agent)
			children++
		}
		require.Equal(t, 1, children)
		time.Sleep(time.Hour)
		require.Equal(t, "done: done: worked", waitFor(t, d, "parent", runs.Done).Message.Content)
		require.ErrorContains(t, waitFor(t, d, "other", runs.Failed).Err, `agent "failing" failed: `)
	})
}

// TestAsRun_StoppingAndRemovingARunDoesSoWithItsChildren.
// Rule distributed/D9.
func TestAsRun_StoppingAndRemovingARunDoesSoWithItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		var calls atomic.Int32
		slow := func(context.Context) (string, error) {
			calls.Add(1)
			time.Sleep(time.Minute)
			return "worked", nil
		}
		child := agentOf(t, "child", toolNamed(t, "one", slow), toolNamed(t, "two", slow))
		parent := agentOf(t, "parent", dispatch.AsRun("child", "works"))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"parent": dispatch.RunnerOf(parent),
			"child": dispatch.RunnerOf(child)}}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "parent"))
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.NoError(t, d.Stop(t.Context(), "1", runs.StopRequest{Reason: "tea", Children: true}))
		time.Sleep(2 * time.Minute)
		counts, err := store.Count(t.Context(), runs.Query{})
		require.NoError(t, err)
		require.Equal(t, map[runs.Status]int64{runs.Paused: 2}, counts)
		require.NoError(t, d.Continue(t.Context(), "1"))
		time.Sleep(3 * time.Minute)
		waitFor(t, d, "1", runs.Done)
		require.EqualValues(t, 2, calls.Load())
		require.NoError(t, d.Remove(t.Context(), "1", false))
		counts, err = store.Count(t.Context(), runs.Query{})
		require.NoError(t, err)
		require.Empty(t, counts)
	})
}

// TestAsRun_AChildThatEndsWhileItsParentIsPausedIsNotForgotten.
// Rule distributed/C10.
func TestAsRun_AChildThatEndsWhileItsParentIsPausedIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		child := agentOf(t, "child", toolNamed(t, "one", func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "worked", nil
		}))
		parent := agentOf(t, "parent", dispatch.AsRun("child", "works"))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"parent": dispatch.RunnerOf(parent),
			"child": dispatch.RunnerOf(child)}}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "parent"))
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.NoError(t, d.Stop(t.Context(), "1", runs.StopRequest{Reason: "tea"}))
		time.Sleep(2 * time.Minute)
		waitFor(t, d, "1", runs.Paused)
		require.NoError(t, d.Continue(t.Context(), "1"))
		require.Equal(t, "done: done: worked", waitFor(t, d, "1", runs.Done).Message.Content)
	})
}

// TestChildRun_OneThatHasEndedBeforeAnswersAtOnce, although no worker ends it any more.
func TestChildRun_OneThatHasEndedBeforeAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		child := agentOf(t, "child", toolNamed(t, "one", func(context.Context) (string, error) { return "worked", nil }))
		parent := agentOf(t, "parent", toolNamed(t, "delegate", func(ctx context.Context) (string, error) {
			if _, ok, outcome := tool.GetResumeContext[*dispatch.ChildResult](ctx); ok {
				return outcome.Message.(*schema.Message).Content, nil
			}
			return "", tool.Interrupt(ctx, &dispatch.ChildRun{Job: jobOf("shared", "child")})
		}))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"parent": dispatch.RunnerOf(parent),
			"child": dispatch.RunnerOf(child)}}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("shared", "child"))
		require.NoError(t, err)
		waitFor(t, d, "shared", runs.Done)
		for i := range 3 {
			_, err = d.Submit(t.Context(), jobOf(fmt.Sprint(i), "parent"))
			require.NoError(t, err)
		}
		begun := time.Now()
		for i := range 3 {
			for { // it waits for a moment
				o, err := d.Wait(t.Context(), fmt.Sprint(i))
				require.NoError(t, err)
				if o.Status == runs.Done {
					require.Equal(t, "done: done: worked", o.Message.Content)
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		require.Less(t, time.Since(begun), 10*time.Second)
	})
}

// TestAsRun_RunsThatWaitForEachOtherHaveALimit.
// Rule distributed/D9.
func TestAsRun_RunsThatWaitForEachOtherHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recursive := agentOf(t, "a", dispatch.AsRun("a", "does the same"))
		d, stop := working(t, checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(recursive)}},
			dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.ErrorContains(t, waitFor(t, d, "1", runs.Failed).Err, "8 is the most")
	})
}

// TestNewWebhook_IsAnsweredByWhoeverHasTheToken.
// Rule distributed/D8.
func TestNewWebhook_IsAnsweredByWhoeverHasTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type delivered struct{ Text string }
		var token atomic.Value
		agent := agentOf(t, "a", toolNamed(t, "deliver", func(ctx context.Context) (string, error) {
			if _, ok, answer := tool.GetResumeContext[delivered](ctx); ok {
				return answer.Text, nil
			}
			hook, err := dispatch.NewWebhook(ctx, time.Hour)
			if err != nil {
				return "", err
			}
			token.Store(hook.Token)
			return "", tool.Interrupt(ctx, hook)
		}))
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, Secret: []byte("sixteen bytes or more")}
		d, stop := working(t, checkpoint.NewMemoryStore(), conf, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", runs.Waiting)
		good := token.Load().(string)
		text, signature, _ := strings.Cut(good, ".")
		for _, bad := range []string{"", ".", "x", text, text + "." + signature + "x", text + "x." + signature} {
			require.ErrorIs(t, d.ReplyWebhook(t.Context(), bad, []byte(`{"Text":"x"}`)), dispatch.ErrBadToken, bad)
		}
		require.ErrorContains(t, d.ReplyWebhook(t.Context(), good, []byte(`{`)), "no JSON")
		require.NoError(t, d.ReplyWebhook(t.Context(), good, []byte(`{"Text":"it is there"}`)))
		require.Equal(t, "done: it is there", waitFor(t, d, "1", runs.Done).Message.Content)
		require.ErrorIs(t, d.ReplyWebhook(t.Context(), good, []byte(`{"Text":"again"}`)), runs.ErrNotWaiting)
	})
}

// A question out of a store, in a process that has not asked it, has what was asked, and is decided by its methods.
func TestReply_DecidesAQuestionOutOfTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(runs.Question) runs.Reply
		want   string
	}{
		"approve": {runs.Question.Approve, `{"n":1}`},
		"edit":    {func(q runs.Question) runs.Reply { return q.Edit(`{"n":2}`) }, `{"n":2}`},
		"reject":  {func(q runs.Question) runs.Reply { return q.Reject("too much") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pay := adktest.NewTool("pay", adktest.Says("paid"))
			store := checkpoint.Seal(checkpoint.NewMemoryStore(), checkpoint.OneKey("1", make([]byte, 32)))
			guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
			require.NoError(t, err)
			agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "d",
				Model:       adktest.NewModel(t, adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("done")),
				ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{pay}}},
				Handlers:    []adk.ChatModelAgentMiddleware{guard}})
			require.NoError(t, err)
			d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
			_, err = d.Submit(t.Context(), dispatch.Job{ID: "1", Agent: "desk", Messages: []*schema.Message{schema.UserMessage("pay")}})
			require.NoError(t, err)
			_, err = d.Execute(t.Context(), "1")
			require.NoError(t, err)

			info, _, err := dispatch.New(store, dispatch.Config{}).Inspect(t.Context(), "1")
			require.NoError(t, err)
			q := info.Waiting[0]
			require.Equal(t, []string{"desk", "pay", "call_1", `{"n":1}`, `May pay run with {"n":1}?`},
				[]string{q.Agent, q.Tool, q.Call, q.Arguments, q.Text})
			require.IsType(t, new(approval.Request), q.Value())
			require.NoError(t, d.Reply(t.Context(), "1", c.decide(q)))
			o, err := d.Execute(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, runs.Done, o.Status)
			var paid []string
			for _, call := range pay.Calls() {
				paid = append(paid, call.Arguments)
			}
			require.Equal(t, c.want, strings.Join(paid, " "))
		})
	}
}
