package kit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// A Model is a chat model or an agentic model on an [Engine]. It fires its own callbacks, once a call. It is safe for
// concurrent use. Printing it shows no secrets.
type Model[M Message] struct {
	engine Engine[M]
	info   Info
	kind   messageKind[M]
	tools  []*schema.ToolInfo // of WithTools; nil leaves the engine's
}

// NewModel makes a model of an engine.
func NewModel[M Message](engine Engine[M]) *Model[M] {
	return &Model[M]{engine: engine, info: engine.Info(), kind: kindOfMessage[M]()}
}

// WithTools returns a model that offers these tools in calls that name no others (model.WithTools). The receiver stays
// as it is.
func (m *Model[M]) WithTools(tools []*schema.ToolInfo) (*Model[M], error) {
	if err := CheckTools(tools); err != nil {
		return nil, fmt.Errorf("%s: %w", m.info.Provider, err)
	}
	with := *m
	with.tools = append([]*schema.ToolInfo{}, tools...)
	return &with, nil
}

// Engine returns the engine of the model.
func (m *Model[M]) Engine() Engine[M] { return m.engine }

// GetType returns the provider's name, such as "OpenAI".
func (m *Model[M]) GetType() string { return m.info.Type }

// IsCallbacksEnabled returns true.
func (m *Model[M]) IsCallbacksEnabled() bool { return true }

// Provider implements model.HasProvider.
func (m *Model[M]) Provider() string { return m.info.System }

// Endpoint implements model.HasEndpoint.
func (m *Model[M]) Endpoint() (host string, port int) { return m.info.Host, m.info.Port }

// Format implements [fmt.Formatter]: no verb prints secrets.
func (m *Model[M]) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "%s model %q at %s", m.info.Type, m.info.Model, m.info.Host)
}

// LogValue implements [slog.LogValuer].
func (m *Model[M]) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(m)) }

// Generate sends the conversation and waits for the whole answer. Errors are an [*APIError] if the server refused, a
// [*StoppedError] if the answer has no content, a [*HistoryError] if the conversation cannot be sent, and otherwise
// wrap what went wrong; a context that ended or a timeout is visible through errors.Is.
func (m *Model[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (M, error) {
	opts = m.options(opts)
	settings := m.settings(opts)
	ctx = m.kind.start(m.begin(ctx), in, settings)
	out, err := m.generate(ctx, in, opts)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	m.kind.end(ctx, out, settings)
	return out, nil
}

func (m *Model[M]) begin(ctx context.Context) context.Context {
	return callbacks.EnsureRunInfo(ctx, m.info.Type, m.kind.component())
}

func (m *Model[M]) generate(ctx context.Context, in []M, opts []model.Option) (_ M, err error) {
	defer m.info.Redactor.Recover(&err)
	chunks, err := m.openChunks(ctx, in, opts, false)
	if err != nil {
		return nil, err
	}
	out, err := Join(chunks)
	if err == nil {
		err = endCalls(out, m.info.Provider)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Stream sends the conversation and returns the answer in chunks. Errors before the first chunk are returned as
// Generate returns them; later ones are the last item of the stream. A stream that ends before the answer does is such
// an error, with io.ErrUnexpectedEOF. The request ends when the reader is closed or ctx ends.
func (m *Model[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	opts = m.options(opts)
	settings := m.settings(opts)
	ctx = m.kind.start(m.begin(ctx), in, settings)
	reading, stop := context.WithCancel(ctx)
	chunks, err := m.open(reading, in, opts)
	if err != nil {
		stop()
		callbacks.OnError(ctx, err)
		return nil, err
	}
	return m.kind.stream(ctx, chunks, stop, m.info.Redactor, settings), nil
}

func (m *Model[M]) open(ctx context.Context, in []M, opts []model.Option) (_ Chunks[M], err error) {
	defer m.info.Redactor.Recover(&err)
	return m.openChunks(ctx, in, opts, true)
}

func (m *Model[M]) settings(opts []model.Option) *Settings {
	s := m.engine.Settings(opts)
	s.info = &m.info
	return s
}

func (m *Model[M]) options(opts []model.Option) []model.Option {
	if m.tools == nil {
		return opts
	}
	return slices.Concat([]model.Option{model.WithTools(m.tools)}, opts)
}
