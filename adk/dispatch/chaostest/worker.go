package chaostest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// How workers are configured: everything goes fast, so that little time passes where something can happen.
const (
	leaseTime = time.Second
	pollTime  = 50 * time.Millisecond
	slots     = 12
	// briefly is the time for which a brief question waits, and longest how long steps sleep, models think and tools take.
	briefly      = 400 * time.Millisecond
	longestSleep = 600 * time.Millisecond
	longestStep  = 40 * time.Millisecond
)

// secret signs the tokens of webhooks.
var secret = []byte("the secret of the chaos of workers")

// settings say what a worker process is to do. They are in its environment.
type settings struct {
	Number      int
	Where, Bank string
}

// worker is the program of a worker process.
type worker struct {
	settings
	opened Opened
	client *http.Client
	log    *slog.Logger
}

func newWorker(o Opened, s settings, logs io.Writer) *worker {
	return &worker{settings: s, opened: o, client: &http.Client{Transport: &http.Transport{}},
		log: slog.New(slog.NewTextHandler(logs, nil))}
}

// work executes runs of all tenants until ctx ends. Then it drains, in a hurry when that is closed.
func (w *worker) work(ctx context.Context, hurry <-chan struct{}) error {
	defer w.client.CloseIdleConnections()
	pool := dispatch.NewPool(slots, slots/len(tenants))
	errs := make([]error, len(tenants))
	var all sync.WaitGroup
	for i, tenant := range tenants {
		all.Go(func() { errs[i] = w.workFor(ctx, tenant, pool, hurry) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (w *worker) workFor(ctx context.Context, tenant string, pool *dispatch.Pool, hurry <-chan struct{}) error {
	store, events, err := w.opened.Tenant(tenant)
	if err != nil {
		return err
	}
	talks, err := conversation.NewStore(store)
	if err != nil {
		return err
	}
	agents, err := w.agents(tenant)
	if err != nil {
		return err
	}
	log := runlog.New(runlog.Config{Store: events, Logger: w.log})
	defer func() { _ = log.Close(context.WithoutCancel(ctx)) }()
	d := dispatch.New(store, dispatch.Config{Agents: agents, Owner: fmt.Sprint("worker ", w.Number), TTL: leaseTime, Retry: soon,
		Secret: secret, Log: log, Logger: w.log.With("tenant", tenant),
		Context: func(ctx context.Context, run runs.Info) context.Context {
			return context.WithValue(ctx, runKey{}, run.ID)
		},
		Options: func(_ context.Context, run runs.Info) (options []adk.AgentRunOption, err error) {
			if talk := run.Tags[talkTag]; talk != "" {
				options = append(options, conversation.Open(talks, talk).RunOption(conversation.HistoryOptions{}))
			}
			return options, nil
		}})
	return d.Work(ctx, dispatch.WorkerConfig{Pool: pool, Poll: pollTime, DrainTimeout: time.Minute, Hurry: hurry,
		SweepEvery: time.Second})
}

// soon tries again what the default of dispatch.Config.Retry tries again, and sooner.
func soon(err error, failures int) (after time.Duration, again bool) {
	var passing interface{ Retryable() bool }
	return 100 * time.Millisecond, errors.As(err, &passing) && passing.Retryable() && failures < 100
}

// runKey asks the context of a tool for the ID of its run.
type runKey struct{}

// question is a question to people.
type question struct {
	Name string
	// Whom it is for.
	Whom    string
	Expires time.Time
}

func (q *question) Asks() runs.Question {
	return runs.Question{Kind: runs.KindQuestion, For: []string{q.Whom}, Text: q.Name, Expires: q.Expires}
}

func init() { schema.RegisterName[*question]("_weft_chaostest_question") }

// agents are the same but for their names: a plan says what they do.
func (w *worker) agents(tenant string) (dispatch.Agents, error) {
	c := &caller{w, tenant}
	tools := []tool.BaseTool{
		&payment{c.tool(doPay, c.book(doPay)), c},
		c.tool(doRisk, c.book(doRisk)),
		c.tool(doBook, c.book(doBook), utils.WithIdempotent()),
		c.tool(doAsk, c.ask, utils.WithIdempotent()),
		c.tool(doBrief, c.askBriefly, utils.WithIdempotent()),
		c.tool(doHook, c.hook, utils.WithIdempotent()),
		c.tool(doSleep, c.sleep, utils.WithIdempotent()),
		dispatch.AsRun(doClerk, "does what it is told in a run of its own"),
	}
	inner, err := newAgent(doInner, tools)
	if err != nil {
		return nil, err
	}
	all := dispatch.Agents{}
	for _, name := range []string{desk, doClerk} {
		agent, err := newAgent(name, append(tools[:len(tools):len(tools)], adk.NewAgentTool(context.Background(), inner)))
		if err != nil {
			return nil, err
		}
		all[name] = dispatch.RunnerOf(agent)
	}
	return all, nil
}

func newAgent(name string, tools []tool.BaseTool) (adk.Agent, error) {
	return adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: name, Description: "follows its plan",
		Model: planned{}, MaxIterations: 100, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}})
}

// caller calls the bank for the tools of a tenant.
type caller struct {
	*worker
	tenant string
}

// tool makes a tool of a step.
func (c *caller) tool(
	name string, do func(ctx context.Context, name string) (string, error), options ...utils.Option,
) tool.InvokableTool {
	info := &schema.ToolInfo{Name: name, Desc: name, ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"name": {Type: schema.String, Required: true}})}
	return utils.NewTool(info, func(ctx context.Context, in struct {
		Name string `json:"name"`
	},
	) (string, error) {
		if err := pause(ctx, longestStep); err != nil {
			return "", err
		}
		return do(ctx, in.Name)
	}, options...)
}

// pause takes a while.
func pause(ctx context.Context, most time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(rand.N(most)):
		return nil
	}
}

// call asks the bank.
func (c *caller) call(ctx context.Context, r request) (text string, err error) {
	r.Tenant, r.Token, r.Worker = c.tenant, adk.GetFencingToken(ctx), c.Number
	r.Run, _ = ctx.Value(runKey{}).(string)
	if r.Key == "" {
		r.Key = adk.GetIdempotencyKey(ctx)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	h, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Bank, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := c.client.Do(h)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the bank refuses %q: %s", r.Name, bytes.TrimSpace(said))
	}
	return string(said), err
}

func (c *caller) book(do string) func(ctx context.Context, name string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		return c.call(ctx, request{Do: do, Name: name})
	}
}

// payment can ask the bank what became of it.
type payment struct {
	tool.InvokableTool
	*caller
}

func (p *payment) Outcome(ctx context.Context, u *adk.OutcomeUnknown) (*adk.ToolOutcome, error) {
	var in struct{ Name string }
	if err := json.Unmarshal([]byte(u.Arguments), &in); err != nil {
		return nil, err
	}
	text, err := p.call(ctx, request{Do: doPay, Name: in.Name, Key: u.IdempotencyKey, Looks: true})
	if err != nil {
		return nil, err
	}
	return &adk.ToolOutcome{Result: text, Rerun: text == ""}, nil
}

func (c *caller) ask(ctx context.Context, name string) (string, error) {
	if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
		return c.call(ctx, request{Do: doAsk, Name: name, Says: answer})
	}
	return "", tool.Interrupt(ctx, &question{Name: name, Whom: "ana"})
}

// askBriefly asks the same question, until the same time, whenever it is called.
func (c *caller) askBriefly(ctx context.Context, name string) (string, error) {
	if _, expired, _ := tool.GetResumeContext[*runs.Expired](ctx); expired {
		return c.call(ctx, request{Do: doBrief, Name: name, Says: nobody})
	}
	if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
		return c.call(ctx, request{Do: doBrief, Name: name, Says: answer})
	}
	_, known, until := tool.GetInterruptState[*time.Time](ctx)
	if !known {
		end := time.Now().Add(briefly)
		until = &end
	}
	return "", tool.StatefulInterrupt(ctx, &question{Name: name, Whom: "bob", Expires: *until}, until)
}

func (c *caller) hook(ctx context.Context, name string) (string, error) {
	if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
		return c.call(ctx, request{Do: doHook, Name: name, Says: answer})
	}
	hook, err := dispatch.NewWebhook(ctx, 0)
	if err != nil {
		return "", err
	}
	return "", tool.Interrupt(ctx, hook)
}

func (c *caller) sleep(ctx context.Context, name string) (string, error) {
	if err := dispatch.SleepFor(ctx, rand.N(longestSleep)); err != nil {
		return "", err
	}
	return c.call(ctx, request{Do: doSleep, Name: name})
}

// runProcess is the life of a worker process, from its settings to its exit.
func runProcess(encoded string, open Open) (err error) {
	var s settings
	if err := json.Unmarshal([]byte(encoded), &s); err != nil {
		return err
	}
	ctx, hurry, stop := onSignals()
	defer stop()
	o, err := open(ctx, s.Where)
	for ; err != nil; o, err = open(ctx, s.Where) { // the network may be disturbed
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprintln(os.Stderr, "the store cannot be opened:", err)
		_ = pause(ctx, time.Second)
	}
	defer o.close()
	return newWorker(o, s, os.Stderr).work(ctx, hurry)
}
