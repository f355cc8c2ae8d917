package adktest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// entryKind is the kind of an entry of a ledger.
type entryKind string

const (
	// lifeBegins: a process begins the run, or resumes it.
	lifeBegins entryKind = "life"
	// modelAsked: a model was asked. Text is the messages, Model its number.
	modelAsked entryKind = "asked"
	// toolBegins and toolDid are before and after the effect of a tool, which is the second of them. Call is what was
	// called, Key its idempotency key, Text the line of its result.
	toolBegins entryKind = "begins"
	toolDid    entryKind = "did"
	// eventRead: the reader of the run got an event. Text is its message.
	eventRead entryKind = "event"
	// cancelAsked: the run is about to be cancelled. GivesUp says that calls in flight are given up.
	cancelAsked entryKind = "cancel"
	// runPaused: the run was interrupted or cancelled, and is resumed.
	runPaused entryKind = "paused"
	// runEnds: the run came to its end, with Text as its last message. In runs that succeeded before they died the text
	// is not known: Died is true.
	runEnds entryKind = "ends"
	// runFails: the run failed, or cannot be resumed. Text is the error.
	runFails entryKind = "fails"
)

// entry is one line of a ledger.
type entry struct {
	Kind       entryKind
	Resumed    bool          `json:",omitempty"`
	Model      int           `json:",omitempty"`
	Call, Key  string        `json:",omitempty"`
	Repeatable bool          `json:",omitempty"`
	Text       string        `json:",omitempty"`
	Lines      []string      `json:",omitempty"`
	Died       bool          `json:",omitempty"`
	GivesUp    bool          `json:",omitempty"`
	Took       time.Duration `json:",omitempty"`
}

// ledger records what a run did outside of the process: a file with a line for each effect, each written at once. Without
// a file it is kept in memory.
type ledger struct {
	file *os.File

	mu      sync.Mutex // guards entries
	entries []entry
}

func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if err := f.Truncate(int64(whole)); err != nil { // a kill can cut a line off: it was not written then
		return nil, err
	}
	l := &ledger{file: f}
	l.entries, err = decodeEntries(data[:whole])
	return l, err
}

func decodeEntries(data []byte) (all []entry, err error) {
	for line := range bytes.Lines(data) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("ledger: %w in %q", err, line)
		}
		all = append(all, e)
	}
	return all, nil
}

func (l *ledger) add(e entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	if l.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	return err
}

// last returns the last entry of a kind, nil if there is none.
func (l *ledger) last(kind entryKind) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.entries) - 1; i >= 0; i-- {
		if e := &l.entries[i]; e.Kind == kind {
			return e
		}
	}
	return nil
}

// outcomeOf returns how a call ended of which the run does not know it.
func (l *ledger) outcomeOf(key string) *adk.ToolOutcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.Kind == toolDid && e.Key == key {
			return &adk.ToolOutcome{Result: e.Text}
		}
	}
	return &adk.ToolOutcome{Rerun: true}
}

// ledgerProbe makes the models and tools of one life report to a ledger.
type ledgerProbe struct {
	t      *testing.T
	ledger *ledger
	models int
}

var _ prober[*schema.Message] = (*ledgerProbe)(nil)

func (p *ledgerProbe) Model(m model.BaseModel[*schema.Message]) model.BaseModel[*schema.Message] {
	p.models++
	return &ledgerModel{m, p.ledger, p.models}
}

func (p *ledgerProbe) Tool(t tool.InvokableTool) tool.InvokableTool {
	return &ledgerTool{InvokableTool: t, ledger: p.ledger}
}

func (p *ledgerProbe) Middleware() adk.TypedChatModelAgentMiddleware[*schema.Message] {
	return &briefHooks{}
}

// MoreTools are the tools that wide trees have: one that can be called again, one that streams, one that asks first.
func (p *ledgerProbe) MoreTools() []tool.BaseTool {
	named := func(name string) ledgerTool {
		return ledgerTool{InvokableTool: adktest.NewTool(name), ledger: p.ledger}
	}
	lookup, ask := named("lookup"), named("ask")
	lookup.repeatable, ask.asks = true, true
	return []tool.BaseTool{&lookup, &ask, &ledgerStreamTool{named("report")}}
}

// pause lets a process be killed here, too: at one place in four it waits a moment.
func pause(of string) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, of)
	if sum := h.Sum32(); sum%4 == 0 {
		time.Sleep(time.Duration(sum>>2%200) * time.Microsecond)
	}
}

type ledgerModel struct {
	model.BaseModel[*schema.Message]
	ledger *ledger
	number int
}

func (m *ledgerModel) asked(messages []*schema.Message) error {
	lines := adktest.Lines(messages)
	err := m.ledger.add(entry{Kind: modelAsked, Model: m.number, Lines: lines})
	pause(strings.Join(lines, "\n"))
	return err
}

func (m *ledgerModel) Generate(
	ctx context.Context, messages []*schema.Message, opts ...model.Option,
) (*schema.Message, error) {
	if err := m.asked(messages); err != nil {
		return nil, err
	}
	return m.BaseModel.Generate(ctx, messages, opts...)
}

func (m *ledgerModel) Stream(
	ctx context.Context, messages []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	if err := m.asked(messages); err != nil {
		return nil, err
	}
	s, err := m.BaseModel.Stream(ctx, messages, opts...)
	if err != nil {
		return nil, err
	}
	slow := func(chunk *schema.Message) (*schema.Message, error) {
		pause(adktest.Line(chunk))
		return chunk, nil
	}
	return schema.StreamReaderWithConvert(s, slow), nil
}

// ledgerTool is a tool whose effect is an entry in the ledger.
type ledgerTool struct {
	tool.InvokableTool
	ledger     *ledger
	repeatable bool
	asks       bool
}

// mayI is the question of a tool that asks first.
const mayI = "may I?"

func (t *ledgerTool) Idempotent() bool { return t.repeatable }

func (t *ledgerTool) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	info, err := t.Info(ctx)
	if err != nil {
		return "", err
	}
	if _, allowed, _ := tool.GetResumeContext[string](ctx); t.asks && !allowed {
		return "", tool.Interrupt(ctx, mayI)
	}
	call := info.Name + " " + arguments
	e := entry{Kind: toolBegins, Call: call, Key: adk.GetIdempotencyKey(ctx), Repeatable: t.repeatable}
	if err := t.ledger.add(e); err != nil {
		return "", err
	}
	pause(e.Key)
	result, err := t.InvokableTool.InvokableRun(ctx, arguments, opts...)
	if err != nil {
		return "", err
	}
	e.Kind, e.Text = toolDid, result
	e.Lines = []string{fmt.Sprintf("tool %s#%s: %s", info.Name, compose.GetToolCallID(ctx), result)}
	if err := t.ledger.add(e); err != nil {
		return "", err
	}
	pause(e.Key + "did")
	return result, nil
}

// ledgerStreamTool is a ledgerTool that streams.
type ledgerStreamTool struct{ inner ledgerTool }

func (t *ledgerStreamTool) Info(ctx context.Context) (*schema.ToolInfo, error) {
	return t.inner.Info(ctx)
}

func (t *ledgerStreamTool) StreamableRun(
	ctx context.Context, arguments string, opts ...tool.Option,
) (*schema.StreamReader[string], error) {
	result, err := t.inner.InvokableRun(ctx, arguments, opts...)
	if err != nil {
		return nil, err
	}
	half := len(result) / 2
	return schema.StreamReaderFromArray([]string{result[:half], result[half:]}), nil
}

// briefHooks are hooks that take a moment.
type briefHooks struct {
	adk.TypedBaseChatModelAgentMiddleware[*schema.Message]
}

func (*briefHooks) BeforeModelRewriteState(
	ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ModelContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	pause("before")
	return ctx, s, nil
}

func (*briefHooks) AfterToolCallsRewriteState(
	ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ToolCallsContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	pause("after")
	return ctx, s, nil
}
