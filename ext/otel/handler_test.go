package weftotel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// telemetry is a handler with exporters in memory.
type telemetry struct {
	*Handler
	t      *testing.T
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	logs   *logs
}

type logs struct{ records []sdklog.Record }

func (l *logs) OnEmit(_ context.Context, r *sdklog.Record) error {
	l.records = append(l.records, r.Clone())
	return nil
}
func (*logs) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (*logs) Shutdown(context.Context) error                         { return nil }
func (*logs) ForceFlush(context.Context) error                       { return nil }

func newTelemetry(t *testing.T, conf Config) *telemetry {
	t.Helper()
	tel := &telemetry{t: t, spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader(), logs: &logs{}}
	conf.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(tel.spans))
	conf.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(tel.reader))
	conf.LoggerProvider = sdklog.NewLoggerProvider(sdklog.WithProcessor(tel.logs))
	if conf.Content == FromEnv {
		conf.Content = None
	}
	tel.Handler = New(conf)
	return tel
}

var (
	_ metric.MeterProvider = (*sdkmetric.MeterProvider)(nil)
	_ log.LoggerProvider   = (*sdklog.LoggerProvider)(nil)
)

// run runs an agent to its end, and returns the interrupts.
func (tel *telemetry) run(agent adk.Agent, streaming bool, opts ...adk.AgentRunOption) {
	tel.t.Helper()
	r := adk.NewRunner(tel.t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: streaming})
	drain(r.Query(tel.t.Context(), "canary question", append(opts, adk.WithCallbacks(tel.Handler))...))
}

func drain(it *adk.AsyncIterator[*adk.AgentEvent]) (points []*adk.InterruptCtx) {
	for e := range it.All() {
		if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.IsStreaming {
			for {
				if _, err := e.Output.MessageOutput.MessageStream.Recv(); err != nil {
					break
				}
			}
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			points = e.Action.Interrupted.InterruptContexts
		}
	}
	return points
}

// tree shows the spans as they nest, with their status, and of each of them the attributes that are asked for.
func (tel *telemetry) tree(keys ...attribute.Key) string {
	tel.t.Helper()
	require.NoError(tel.t, tel.Wait(tel.t.Context()))
	spans := tel.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var out strings.Builder
	var show func(parent string, depth int)
	show = func(parent string, depth int) {
		for _, s := range spans {
			if s.Parent.SpanID().String() != parent {
				continue
			}
			fmt.Fprintf(&out, "%s%s [%s]", strings.Repeat("  ", depth), s.Name, s.SpanKind)
			if s.Status.Code == codes.Error {
				out.WriteString(" ERROR")
			}
			for _, key := range keys {
				if v := valueOf(s.Attributes, key); v != "" {
					fmt.Fprintf(&out, " %s=%s", key[strings.LastIndexByte(string(key), '.')+1:], v)
				}
			}
			for _, e := range s.Events {
				fmt.Fprintf(&out, " (%s %s)", e.Name, valueOf(e.Attributes, keyPointKind))
			}
			if len(s.Links) > 0 {
				fmt.Fprintf(&out, " links=%d", len(s.Links))
			}
			out.WriteByte('\n')
			show(s.SpanContext.SpanID().String(), depth+1)
		}
	}
	show("0000000000000000", 0)
	return out.String()
}

func valueOf(attrs []attribute.KeyValue, key attribute.Key) string {
	for _, kv := range attrs {
		if kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}

// measured has the names of metrics with how often they were measured, or their sum.
func (tel *telemetry) measured() map[string]float64 {
	var data metricdata.ResourceMetrics
	require.NoError(tel.t, tel.reader.Collect(tel.t.Context(), &data))
	out := map[string]float64{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					op, _ := p.Attributes.Value("gen_ai.operation.name")
					out[strings.TrimSpace(m.Name+" "+op.AsString())] += float64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					of, _ := p.Attributes.Value("gen_ai.token.type")
					out[m.Name+" "+of.AsString()] += float64(p.Sum)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out[m.Name] += float64(p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					out[m.Name] += p.Value
				}
			}
		}
	}
	return out
}

func newAgent(t *testing.T, name string, tools []tool.BaseTool, script ...adktest.Answer) adk.Agent {
	t.Helper()
	return newModelAgent(t, adk.ChatModelAgentConfig{Name: name, ToolsConfig: adktest.Tools(tools...)}, script...)
}

// newModelAgent makes an agent of a scripted model, whose name is a if it has none.
func newModelAgent(t *testing.T, conf adk.ChatModelAgentConfig, script ...adktest.Answer) adk.Agent {
	t.Helper()
	conf.Name = cmp.Or(conf.Name, "a")
	conf.Description, conf.Instruction, conf.Model = conf.Name, "canary instruction", adktest.NewModel(t, script...)
	a, err := adk.NewChatModelAgent(t.Context(), &conf)
	require.NoError(t, err)
	return a
}

func newTool(t *testing.T, name string, do func(ctx context.Context) (string, error)) tool.BaseTool {
	t.Helper()
	made, err := utils.InferTool(name, "Does what the test is for.", func(ctx context.Context, _ struct {
		Q string `json:"q"`
	}) (string, error) {
		return do(ctx)
	})
	require.NoError(t, err)
	return made
}

func answers(ctx context.Context) (string, error) { return "canary result", nil }

const call = `{"q":"canary argument"}`

// TestHandler_SpanTrees: one span for each call of a model and a tool, and each run of an agent, nested as they ran.
// Rule telemetry/OT-5.
func TestHandler_SpanTrees(t *testing.T) {
	failing := func(context.Context) (string, error) { return "", errors.New("canary error") }
	for name, row := range map[string]struct {
		agent     func(t *testing.T) adk.Agent
		streaming bool
		want      string
	}{
		"plain": {
			agent: func(t *testing.T) adk.Agent { return newAgent(t, "a", nil, adktest.Says("hi")) },
			want: `
invoke_agent a [internal] status=done
  chat [client]
`},
		"streamed": {
			streaming: true,
			agent:     func(t *testing.T) adk.Agent { return newAgent(t, "a", nil, adktest.Streams("h", "i")) },
			want: `
invoke_agent a [internal] status=done
  chat [client] stream=true
`},
		"tools": {
			agent: func(t *testing.T) adk.Agent {
				return newAgent(t, "a", []tool.BaseTool{newTool(t, "look", answers)},
					adktest.Calls(adktest.Call("look", call)), adktest.Says("hi"))
			},
			want: `
invoke_agent a [internal] status=done
  chat [client]
  execute_tool look [internal]
  chat [client]
`},
		"a tool that fails": {
			agent: func(t *testing.T) adk.Agent {
				return newAgent(t, "a", []tool.BaseTool{newTool(t, "look", failing)}, adktest.Calls(adktest.Call("look", call)))
			},
			want: `
invoke_agent a [internal] ERROR status=failed type=_OTHER
  chat [client]
  execute_tool look [internal] ERROR type=_OTHER
`},
		"a model that fails": {
			agent: func(t *testing.T) adk.Agent { return newAgent(t, "a", nil, adktest.Fails(errors.New("canary error"))) },
			want: `
invoke_agent a [internal] ERROR status=failed type=_OTHER
  chat [client] ERROR type=_OTHER
`},
		"a panic": {
			agent: func(t *testing.T) adk.Agent { return newAgent(t, "a", nil, adktest.Panics("canary panic")) },
			want: `
invoke_agent a [internal] ERROR status=failed type=panic
  chat [client] ERROR type=panic
`},
		"a retry": {
			agent: func(t *testing.T) adk.Agent {
				return newModelAgent(t, adk.ChatModelAgentConfig{ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 2,
					BackoffFunc: func(context.Context, int) time.Duration { return 0 }}},
					adktest.Fails(errors.New("canary error")), adktest.Fails(errors.New("canary error")), adktest.Says("hi"))
			},
			want: `
invoke_agent a [internal] status=done
  chat [client] ERROR type=_OTHER
  chat [client] ERROR type=_OTHER attempt=2
  chat [client] attempt=3
`},
		"a failover": {
			agent: func(t *testing.T) adk.Agent {
				other := adktest.NewModel(t, adktest.Says("hi"))
				return newModelAgent(t, adk.ChatModelAgentConfig{ModelFailoverConfig: &adk.ModelFailoverConfig[*schema.Message]{MaxRetries: 1,
					ShouldFailover: func(context.Context, *schema.Message, error) bool { return true },
					GetFailoverModel: func(context.Context, *adk.FailoverContext[*schema.Message]) (
						model.BaseModel[*schema.Message], []*schema.Message, error) {
						return other, nil, nil
					}}}, adktest.Fails(errors.New("canary error")))
			},
			want: `
invoke_agent a [internal] status=done
  chat [client] ERROR type=_OTHER
  chat [client]
`},
		"an eager call": {
			streaming: true,
			agent: func(t *testing.T) adk.Agent {
				conf := adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(newTool(t, "look", answers))}
				conf.ToolsConfig.EagerExecution = true
				return newModelAgent(t, conf, adktest.Calls(adktest.Call("look", call)), adktest.Says("hi"))
			},
			want: `
invoke_agent a [internal] status=done
  chat [client] stream=true
  execute_tool look [internal] eager=true
  chat [client] stream=true
`},
		"an agent as a tool": {
			agent: func(t *testing.T) adk.Agent {
				inner := newAgent(t, "inner", nil, adktest.Says("found"))
				return newAgent(t, "outer", []tool.BaseTool{adk.NewAgentTool(t.Context(), inner)},
					adktest.Calls(adktest.Call("inner", `{"request":"x"}`)), adktest.Says("hi"))
			},
			want: `
invoke_agent outer [internal] status=done
  chat [client]
  execute_tool inner [internal]
    invoke_agent inner [internal] status=done
      chat [client]
  chat [client]
`},
		"a workflow": {
			agent: func(t *testing.T) adk.Agent {
				a, err := adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "both", SubAgents: []adk.Agent{
					newAgent(t, "one", nil, adktest.Says("1")), newAgent(t, "two", nil, adktest.Says("2"))}})
				require.NoError(t, err)
				return a
			},
			want: `
invoke_workflow both [internal] status=done
  invoke_agent one [internal] status=done
    chat [client]
  invoke_agent two [internal] status=done
    chat [client]
`},
		"tools in parallel": {
			agent: func(t *testing.T) adk.Agent {
				return newAgent(t, "a", []tool.BaseTool{newTool(t, "look", answers), newTool(t, "read", answers)},
					adktest.Calls(adktest.Call("look", call), adktest.Call("read", call)), adktest.Says("hi"))
			},
			want: `
invoke_agent a [internal] status=done
  chat [client]
  execute_tool look [internal]
  execute_tool read [internal]
  chat [client]
`},
		"a transfer": {
			agent: func(t *testing.T) adk.Agent {
				boss := newAgent(t, "boss", nil, adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"clerk"}`)))
				both, err := adk.SetSubAgents(t.Context(), boss, []adk.Agent{newAgent(t, "clerk", nil, adktest.Says("hi"))})
				require.NoError(t, err)
				return both
			},
			want: `
invoke_agent boss [internal] status=done
  chat [client]
  execute_tool transfer_to_agent [internal]
  invoke_agent clerk [internal] status=done
    chat [client]
`},
		"a loop": {
			agent: func(t *testing.T) adk.Agent {
				a, err := adk.NewLoopAgent(t.Context(), &adk.LoopAgentConfig{Name: "again", MaxIterations: 2,
					SubAgents: []adk.Agent{newAgent(t, "one", nil, adktest.Says("1"), adktest.Says("2"))}})
				require.NoError(t, err)
				return a
			},
			want: `
invoke_workflow again [internal] status=done
  invoke_agent one [internal] status=done
    chat [client]
  invoke_agent one [internal] status=done
    chat [client]
`},
		"a stream that breaks off": {
			streaming: true,
			agent: func(t *testing.T) adk.Agent {
				return newAgent(t, "a", nil, adktest.Streams("h", "i").ThenFails(errors.New("canary error")))
			},
			want: `
invoke_agent a [internal] ERROR status=failed type=_OTHER
  chat [client] ERROR type=_OTHER stream=true
`},
		"an interrupt": {
			agent: func(t *testing.T) adk.Agent {
				asks := newTool(t, "ask", func(ctx context.Context) (string, error) { return "", tool.Interrupt(ctx, "canary?") })
				return newAgent(t, "a", []tool.BaseTool{asks}, adktest.Calls(adktest.Call("ask", call)))
			},
			want: `
invoke_agent a [internal] status=interrupted (weft.interrupt question)
  chat [client]
  execute_tool ask [internal] status=interrupted
`},
	} {
		t.Run(name, func(t *testing.T) {
			tel := newTelemetry(t, Config{})
			tel.run(row.agent(t), row.streaming)
			require.Equal(t, strings.TrimPrefix(row.want, "\n"), tel.tree(keyRunStatus, "error.type", "gen_ai.request.stream", keyAttempt, keyEager))
		})
	}
}

// TestHandler_ARunThatIsResumedIsLinked to the part before, also by another process.
// Rule telemetry/OT-8.
func TestHandler_ARunThatIsResumedIsLinked(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	agent := func() adk.Agent {
		asks := newTool(t, "ask", func(ctx context.Context) (string, error) {
			if _, answered, yes := tool.GetResumeContext[string](ctx); answered {
				return yes, nil
			}
			return "", tool.Interrupt(ctx, "?")
		})
		a, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
			Model:       adktest.NewRecallingModel[*schema.Message](t, adktest.Calls(adktest.Call("ask", call)), adktest.Says("hi")),
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{asks}}}})
		require.NoError(t, err)
		return a
	}
	tel := newTelemetry(t, Config{})
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(), CheckPointStore: store})
	points := drain(r.Query(t.Context(), "go", adk.WithCheckPointID("1"), adk.WithCallbacks(tel.Handler)))
	require.NotEmpty(t, points)
	tel.tree()
	first := tel.spans.GetSpans()
	tel.spans.Reset()
	r = adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(), CheckPointStore: store})
	it, err := r.ResumeWithParams(t.Context(), "1", &adk.ResumeParams{Targets: map[string]any{points[0].ID: "yes"}},
		adk.WithCallbacks(tel.Handler))
	require.NoError(t, err)
	drain(it)
	require.Equal(t, `invoke_agent a [internal] links=1
  execute_tool ask [internal]
  chat [client]
`, tel.tree())
	link := tel.spans.GetSpans()[len(tel.spans.GetSpans())-1].Links[0]
	require.Equal(t, first[len(first)-1].SpanContext.SpanID(), link.SpanContext.SpanID())
}

// A fork is linked to the run that it is of.
// Rule telemetry/OT-8.
func TestHandler_AForkIsLinked(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	tel := newTelemetry(t, Config{})
	runner := func(script ...adktest.Answer) *adk.Runner {
		return adk.NewRunner(t.Context(), adk.RunnerConfig{CheckPointStore: store, Durability: adk.EveryStep, KeepSteps: true,
			Agent: newAgent(t, "a", []tool.BaseTool{newTool(t, "look", answers)}, script...)})
	}
	drain(runner(adktest.Calls(adktest.Call("look", call)), adktest.Says("hi")).Query(t.Context(), "go",
		adk.WithCheckPointID("1"), adk.WithCallbacks(tel.Handler)))
	first := tel.span("invoke_agent")
	tel.spans.Reset()
	steps, err := adk.Steps(t.Context(), store, "1")
	require.NoError(t, err)
	require.NoError(t, adk.Fork(t.Context(), store, "1", adk.ForkOptions{At: len(steps) - 1, NewID: "2"}))
	it, err := runner(adktest.Says("hello")).Resume(t.Context(), "2", adk.WithCallbacks(tel.Handler))
	require.NoError(t, err)
	drain(it)
	of := tel.span("invoke_agent")
	require.Len(t, of.Links, 1)
	require.Equal(t, first.SpanContext.SpanID(), of.Links[0].SpanContext.SpanID())
	require.Equal(t, "2", valueOf(of.Attributes, keyRunID))
}

// The span of a stream ends when the last reader closes it, unread, and that is no failure.
// Rule telemetry/OT-6.
func TestHandler_AStreamThatIsClosedUnreadHasEnded(t *testing.T) {
	tel := newTelemetry(t, Config{})
	info := &callbacks.RunInfo{Component: components.ComponentOfChatModel}
	ctx := callbacks.OnStart(callbacks.InitCallbacks(t.Context(), info, tel.Handler), &model.CallbackInput{})
	source, w := schema.Pipe[*schema.Message](1)
	_, rest := callbacks.OnEndWithStreamOutput(ctx, source)
	require.Empty(t, tel.spans.GetSpans())
	rest.Close()
	require.Equal(t, "chat [client] stream=true\n", tel.tree("gen_ai.request.stream", "error.type"))
	w.Close()
}

// Branches run side by side, in no order.
// Rule telemetry/OT-5.
func TestHandler_SpansOfBranches(t *testing.T) {
	tel := newTelemetry(t, Config{})
	a, err := adk.NewParallelAgent(t.Context(), &adk.ParallelAgentConfig{Name: "both", SubAgents: []adk.Agent{
		newAgent(t, "one", nil, adktest.Says("1")), newAgent(t, "two", nil, adktest.Says("2"))}})
	require.NoError(t, err)
	tel.run(a, false)
	const one, two = "  invoke_agent one [internal] status=done\n    chat [client]\n", "  invoke_agent two [internal] status=done\n    chat [client]\n"
	const whole = "invoke_workflow both [internal] status=done\n"
	require.Contains(t, []string{whole + one + two, whole + two + one}, tel.tree(keyRunStatus))
}

// Agentic agents have the same spans.
// Rule telemetry/OT-5.
func TestHandler_SpansOfAgenticAgents(t *testing.T) {
	tel := newTelemetry(t, Config{Content: Spans})
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{Name: "a",
		Description: "a", ToolsConfig: adktest.Tools(newTool(t, "look", answers)),
		Model: adktest.NewTypedModel[*schema.AgenticMessage](t, adktest.Calls(adktest.Call("look", call)), adktest.Says("hi"))})
	require.NoError(t, err)
	r := adk.NewTypedRunner(adk.TypedRunnerConfig[*schema.AgenticMessage]{Agent: agent})
	for range r.Query(t.Context(), "go", adk.WithCallbacks(tel.Handler)).All() {
	}
	require.Equal(t, `invoke_agent a [internal] status=done
  chat [client]
  execute_tool look [internal]
  chat [client]
`, tel.tree(keyRunStatus))
	require.Contains(t, valueOf(tel.span("invoke_agent").Attributes, "gen_ai.output.messages"), "hi")
}

// Rule telemetry/OT-7.
func TestHandler_ACancelIsNoFailure(t *testing.T) {
	tel := newTelemetry(t, Config{})
	began := make(chan struct{})
	waits := newTool(t, "wait", func(ctx context.Context) (string, error) {
		close(began)
		<-ctx.Done()
		return "", ctx.Err()
	})
	option, cancel := adk.WithCancel()
	go func() {
		<-began
		cancel(adk.WithAgentCancelMode(adk.CancelImmediate))
	}()
	tel.run(newAgent(t, "a", []tool.BaseTool{waits}, adktest.Calls(adktest.Call("wait", call))), false, option)
	require.Eventually(t, func() bool { // the call that was given up ends by itself
		return tel.tree(keyRunStatus, "error.type") == `invoke_agent a [internal] status=cancelled
  chat [client]
  execute_tool wait [internal] status=cancelled
`
	}, waitFor, tick)
}

// TestHandler_GraphsAreWorkflows if nothing is around them, and their nodes have spans on demand.
func TestHandler_GraphsAreWorkflows(t *testing.T) {
	graph := compose.NewChain[string, string]()
	graph.AppendLambda(compose.InvokableLambda(func(_ context.Context, in string) (string, error) { return in + "!", nil }))
	for internals, want := range map[bool]string{
		false: "invoke_workflow greet [internal]\n",
		true:  "invoke_workflow greet [internal]\n  Lambda [internal]\n",
	} {
		tel := newTelemetry(t, Config{Internals: internals})
		run, err := graph.Compile(t.Context(), compose.WithGraphName("greet"))
		require.NoError(t, err)
		_, err = run.Invoke(t.Context(), "hi", compose.WithCallbacks(tel.Handler))
		require.NoError(t, err)
		require.Equal(t, want, tel.tree())
		require.Equal(t, 1.0, tel.measured()["gen_ai.workflow.duration"])
		graph = compose.NewChain[string, string]()
		graph.AppendLambda(compose.InvokableLambda(func(_ context.Context, in string) (string, error) { return in + "!", nil }))
	}
}

// metered is a reply with what a provider reports.
func metered(text string, in, out int) adktest.Answer {
	m := schema.AssistantMessage(text, nil)
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", ID: "resp_1", Model: "m-2026", Provider: "openai",
		Usage: &schema.TokenUsage{PromptTokens: in, CompletionTokens: out, TotalTokens: in + out,
			PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 2}}}
	return adktest.Messages(m)
}

// Rules telemetry/OT-12, telemetry/OT-14.
func TestHandler_UsageIsCountedOnceAndSummed(t *testing.T) {
	tel := newTelemetry(t, Config{Price: func(provider, model string, u *schema.TokenUsage) (float64, string, bool) {
		return float64(u.PromptTokens+u.CompletionTokens) / 10, "USD", provider == "openai" && model == "m-2026"
	}})
	inner := newAgent(t, "inner", nil, metered("found", 10, 5))
	tel.run(newAgent(t, "outer", []tool.BaseTool{adk.NewAgentTool(t.Context(), inner)},
		adktest.Calls(adktest.Call("inner", `{"request":"x"}`)), metered("hi", 100, 20)), false)
	require.Equal(t, `invoke_agent outer [internal] name=openai input_tokens=110 output_tokens=25
  chat [client] name=unknown
  execute_tool inner [internal]
    invoke_agent inner [internal] name=openai input_tokens=10 output_tokens=5 cost=1.5
      chat [client] name=openai id=resp_1 model=m-2026 input_tokens=10 output_tokens=5 cost=1.5
  chat [client] name=openai id=resp_1 model=m-2026 input_tokens=100 output_tokens=20 cost=12
`, tel.tree("gen_ai.provider.name", "gen_ai.response.id", "gen_ai.response.model", "gen_ai.usage.input_tokens",
		"gen_ai.usage.output_tokens", keyCost))
	require.Equal(t, map[string]float64{
		"gen_ai.client.operation.duration chat": 3, "gen_ai.client.operation.duration execute_tool": 1,
		"gen_ai.client.operation.duration invoke_agent": 2, "gen_ai.client.token.usage input": 110,
		"gen_ai.client.token.usage output": 25, "weft.agent.runs.active": 0, "weft.usage.cost": 13.5,
	}, tel.measured())
}

// The cost of an agent is the cost of all its calls, in one currency, or absent: a part of it would look like the
// whole. A call that failed costs nothing.
// Rule telemetry/OT-14.
func TestHandler_CostsOfAnAgentAreWholeOrAbsent(t *testing.T) {
	price := func(_, _ string, u *schema.TokenUsage) (float64, string, bool) {
		switch {
		case u.PromptTokens == 666:
			panic("bad")
		case u.PromptTokens > 1000:
			return 2, "EUR", true
		}
		return 1, "USD", u.PromptTokens > 0
	}
	retry := &adk.ModelRetryConfig{MaxRetries: 1, BackoffFunc: func(context.Context, int) time.Duration { return 0 }}
	for name, c := range map[string]struct {
		first adktest.Answer
		want  string
	}{
		"one currency":  {metered("", 10, 1).Calling(adktest.Call("look", call)), "2USD"},
		"two":           {metered("", 2000, 1).Calling(adktest.Call("look", call)), ""},
		"not known":     {metered("", 0, 1).Calling(adktest.Call("look", call)), ""},
		"no usage":      {adktest.Calls(adktest.Call("look", call)), ""},
		"a bad price":   {metered("", 666, 1).Calling(adktest.Call("look", call)), ""},
		"a failed call": {adktest.Fails(errors.New("x")), "1USD"},
	} {
		tel := newTelemetry(t, Config{Price: price})
		tel.run(newModelAgent(t, adk.ChatModelAgentConfig{ModelRetryConfig: retry,
			ToolsConfig: adktest.Tools(newTool(t, "look", answers))}, c.first, metered("hi", 10, 1)), false)
		tel.tree()
		spans := tel.spans.GetSpans()
		of := spans[len(spans)-1]
		require.Equal(t, "invoke_agent a", of.Name)
		require.Equal(t, c.want, valueOf(of.Attributes, keyCost)+valueOf(of.Attributes, keyCurrency), name)
	}
}

// Rule telemetry/OT-6.
func TestHandler_StreamsAreTimed(t *testing.T) {
	tel := newTelemetry(t, Config{})
	tel.run(newAgent(t, "a", nil, adktest.Streams("h", "i", "!")), true)
	tel.tree()
	m := tel.measured()
	require.Equal(t, 1.0, m["gen_ai.client.operation.time_to_first_chunk chat"])
	require.Equal(t, 1.0, m["gen_ai.client.operation.time_per_output_chunk chat"])
}

// TestHandler_SaysNothingOfContentByDefault: whatever was said, asked and answered, and went wrong, is in no span,
// measurement or event.
// Rules telemetry/OT-18, telemetry/OT-28.
func TestHandler_SaysNothingOfContentByDefault(t *testing.T) {
	tel := newTelemetry(t, Config{})
	fails := newTool(t, "look", func(context.Context) (string, error) { return "", errors.New("canary error") })
	tel.run(newAgent(t, "a", []tool.BaseTool{newTool(t, "find", answers), fails}, adktest.Calls(adktest.Call("find", call)),
		adktest.Calls(adktest.Call("look", call))), false)
	tel.tree()
	require.NotContains(t, fmt.Sprintf("%+v", tel.spans.GetSpans()), "canary")
	require.Empty(t, tel.logs.records)
	var data metricdata.ResourceMetrics
	require.NoError(t, tel.reader.Collect(t.Context(), &data))
	require.NotContains(t, fmt.Sprintf("%+v", data), "canary")
}

// TestHandler_WaitEndsWithItsContext, while an agent runs.
func TestHandler_WaitEndsWithItsContext(t *testing.T) {
	tel := newTelemetry(t, Config{})
	release := make(chan struct{})
	waits := newTool(t, "wait", func(context.Context) (string, error) { <-release; return "", nil })
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{
		Agent: newAgent(t, "a", []tool.BaseTool{waits}, adktest.Calls(adktest.Call("wait", call)), adktest.Says("hi"))})
	it := r.Query(t.Context(), "go", adk.WithCallbacks(tel.Handler))
	_, ok := it.Next()
	require.True(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, tel.Wait(ctx), context.Canceled)
	close(release)
	drain(it)
	require.NoError(t, tel.Wait(t.Context()))
	require.Len(t, tel.spans.GetSpans(), 4)
}

// TestHandler_NeverPanics, whatever it and its functions are given.
func TestHandler_NeverPanics(t *testing.T) {
	bad := func(context.Context, *Content) *Content { panic("bad") }
	h := newTelemetry(t, Config{Content: Spans, Redact: bad, Price: func(string, string, *schema.TokenUsage) (float64, string, bool) { panic("bad") }})
	h.run(newAgent(t, "a", nil, metered("hi", 1, 1)), false)
	require.NotContains(t, fmt.Sprintf("%+v", h.spans.GetSpans()), "canary")
	for _, info := range []*callbacks.RunInfo{nil, {}, {Component: "Agent"}, {Component: "ChatModel"}, {Component: "Tool"}} {
		ctx := h.OnStart(t.Context(), info, nil)
		ctx = h.OnEnd(ctx, info, nil)
		h.OnError(ctx, info, errors.New("x"))
	}
}
