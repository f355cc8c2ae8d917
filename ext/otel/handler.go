package weftotel

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

const scope = "github.com/weftgo/weft/ext/otel"

// version returns the version of the module in the program, as the scope of its telemetry has it; "" if it is not known,
// as in tests.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == scope {
			return m.Version
		}
	}
	return ""
})

// Handler is a callback handler that makes spans, measurements and log events. It is safe for concurrent use, never
// waits, and a panic of its own, or of a function of its configuration, does no harm to the run. Use [New].
type Handler struct {
	conf   Config
	policy ContentPolicy
	tracer trace.Tracer
	logger log.Logger
	meters *meters
	agents pending
}

// Wait waits until all runs of agents have ended that are under way: the span of one ends a moment after its last event.
// Call it before the provider is shut down. The error is ctx's.
func (h *Handler) Wait(ctx context.Context) error { return h.agents.wait(ctx) }

// pending counts what is under way.
type pending struct {
	mu sync.Mutex // guards the fields below; no other lock is taken while it is held
	n  int
	// idle is closed when n becomes 0 again.
	idle chan struct{}
}

func (p *pending) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n++; p.n == 1 {
		p.idle = make(chan struct{})
	}
}

func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 {
		close(p.idle)
	}
}

func (p *pending) wait(ctx context.Context) error {
	p.mu.Lock()
	idle, n := p.idle, p.n
	p.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	_ callbacks.Handler       = (*Handler)(nil)
	_ callbacks.TimingChecker = (*Handler)(nil)
)

// New makes a handler. Use one for all runs: each makes spans of its own.
func New(conf Config) *Handler {
	if conf.TracerProvider == nil {
		conf.TracerProvider = otel.GetTracerProvider()
	}
	if conf.MeterProvider == nil {
		conf.MeterProvider = otel.GetMeterProvider()
	}
	if conf.LoggerProvider == nil {
		conf.LoggerProvider = otel.GetLoggerProvider()
	}
	if v := conf.Conventions; v != "" && v != Conventions141 {
		otel.Handle(fmt.Errorf("weftotel: version %q of the conventions is not known: %q is emitted", v, Conventions141))
	}
	if conf.MaxContent <= 0 {
		conf.MaxContent = 32 << 10
	}
	return &Handler{
		conf: conf, policy: conf.Content.fromEnv(), meters: newMeters(conf.MeterProvider, conf.MetricAttributes),
		tracer: conf.TracerProvider.Tracer(scope, trace.WithInstrumentationVersion(version()), trace.WithSchemaURL(semconv.SchemaURL)),
		logger: conf.LoggerProvider.Logger(scope, log.WithInstrumentationVersion(version()), log.WithSchemaURL(semconv.SchemaURL)),
	}
}

// kind is the kind of an operation, as gen_ai.operation.name.
type kind string

const (
	chat      kind = "chat"
	agent     kind = "invoke_agent"
	workflow  kind = "invoke_workflow"
	toolCall  kind = "execute_tool"
	embed     kind = "embeddings"
	retrieval kind = "retrieval"
	internal  kind = "internal" // a node of a graph
	mcpClient kind = "mcp client"
	mcpServer kind = "mcp server"
)

// kindOf returns the kind of a component's operations, "" if they have no span. Graphs are workflows if nothing is
// around them.
func (h *Handler) kindOf(info *callbacks.RunInfo) kind {
	if info == nil {
		return ""
	}
	switch info.Component {
	case components.ComponentOfChatModel, components.ComponentOfAgenticModel:
		return chat
	case components.ComponentOfTool:
		return toolCall
	case componentOfMCPClient:
		return mcpClient
	case componentOfMCPServer:
		return mcpServer
	case components.ComponentOfEmbedding:
		return embed
	case components.ComponentOfRetriever:
		return retrieval
	case adk.ComponentOfAgent, adk.ComponentOfAgenticAgent:
		switch info.Type {
		case "Sequential", "Parallel", "Loop":
			return workflow
		}
		return agent
	case compose.ComponentOfGraph, compose.ComponentOfChain, compose.ComponentOfWorkflow:
		return workflow
	}
	if h.conf.Internals {
		return internal
	}
	return ""
}

// isGraph reports whether a component is a graph, and no agent.
func isGraph(info *callbacks.RunInfo) bool {
	return info.Component == compose.ComponentOfGraph || info.Component == compose.ComponentOfChain ||
		info.Component == compose.ComponentOfWorkflow
}

// Needed implements [callbacks.TimingChecker].
func (h *Handler) Needed(_ context.Context, info *callbacks.RunInfo, _ callbacks.CallbackTiming) bool {
	return h.kindOf(info) != ""
}

// guard ends a panic.
func guard() { _ = recover() }

// OnStart implements [callbacks.Handler].
func (h *Handler) OnStart(ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput) (out context.Context) {
	defer guard()
	out = ctx
	if op := h.begin(ctx, info, input); op != nil {
		out = op.ctx
	}
	return out
}

// OnEnd implements [callbacks.Handler].
func (h *Handler) OnEnd(ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput) context.Context {
	defer guard()
	op := h.operation(ctx, info)
	switch {
	case op == nil:
		return ctx
	case op.isMCP():
		op.endMCP(output, nil)
		return ctx
	}
	switch out := output.(type) {
	case *adk.AgentCallbackOutput: // the agent has begun to speak
		h.agents.begin()
		go readAgent(op, out.Events)
	case *adk.AgenticCallbackOutput:
		h.agents.begin()
		go readAgent(op, out.Events)
	default:
		op.answer.add(output)
		op.end(nil)
	}
	return ctx
}

// OnError implements [callbacks.Handler].
func (h *Handler) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	defer guard()
	switch op := h.operation(ctx, info); {
	case op == nil:
	case op.isMCP():
		op.endMCP(nil, err)
	default:
		op.end(err)
	}
	return ctx
}

// OnStartWithStreamInput implements [callbacks.Handler].
func (h *Handler) OnStartWithStreamInput(
	ctx context.Context, info *callbacks.RunInfo, input *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	input.Close()
	return h.OnStart(ctx, info, nil)
}

// OnEndWithStreamOutput implements [callbacks.Handler].
func (h *Handler) OnEndWithStreamOutput(
	ctx context.Context, info *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	defer guard()
	op := h.operation(ctx, info)
	if op == nil {
		output.Close()
		return ctx
	}
	op.answer.streamed = true
	schema.Observe(output, op.chunk, op.streamEnded)
	return ctx
}
