package mcptool

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Bounds of what a server says beside its results.
const (
	progressPause  = 100 * time.Millisecond
	longestMessage = 4 << 10
	logsPerSecond  = 50
)

// Progress is the custom output of an event with which a call says how far it is. There are at most ten a second for a
// call, and the last one always comes.
type Progress struct {
	Server string `json:"server"`
	// Tool is the name under which the model called it, and CallID the ID of the model's call.
	Tool   string `json:"tool"`
	CallID string `json:"call_id,omitempty"`
	// Done should increase. Total is 0 if it is not known. The server chooses the unit.
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
	// Elicitation, if not empty, is the ID of a question of the server that the user has answered on its page: see
	// Input.ElicitationID. Done and Total are the values of the notice before. It resumes nothing, and comes from all
	// calls in flight if the protocol does not say which has asked.
	Elicitation string `json:"elicitation,omitempty"`
}

// Progress returns how far the call is, for callers that do not know the type: a log of the run records it as progress.
// call is the ID of the model's call, and total 0 if it is not known.
func (p *Progress) Progress() (call string, done, total float64, message string) {
	return p.CallID, p.Done, p.Total, p.Message
}

func init() { schema.RegisterName[*Progress]("_weft_mcptool_progress") }

// publish sends an event to the run, whichever kind of message it has. Outside of a run it does nothing.
func (s *Server) publish(ctx context.Context, t *remoteTool, p Progress) {
	p.Server, p.Tool, p.CallID = s.conf.Name, t.info.Name, compose.GetToolCallID(ctx)
	if sendEvent[*schema.Message](ctx, &p) != nil {
		_ = sendEvent[*schema.AgenticMessage](ctx, &p)
	}
}

func sendEvent[M adk.MessageType](ctx context.Context, p *Progress) error {
	return adk.TypedSendEvent(ctx, &adk.TypedAgentEvent[M]{Output: &adk.TypedAgentOutput[M]{CustomizedOutput: p}})
}

// meter passes on at most one notice in progressPause, and the last.
type meter struct {
	// mu guards the fields below, and is held while a notice is passed on, which keeps them in order.
	mu   sync.Mutex
	pass func(Progress)
	// last is the last notice, and held the one that is held back, if there is one.
	last  Progress
	held  *Progress
	timer *time.Timer // runs while notices are held back
	done  bool
}

func newMeter(pass func(Progress)) *meter { return &meter{pass: pass} }

// report passes a notice on, or holds it back until it is time, or another takes its place.
func (m *meter) report(p Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.admit(p)
}

// elicited reports that a question was answered elsewhere. It is never held back for what follows.
func (m *meter) elicited(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held != nil && !m.done {
		m.pass(*m.held)
		m.held = nil
	}
	if p := m.last; !m.done {
		p.Elicitation, p.Message = id, ""
		m.pass(p)
	}
}

// admit passes a notice on, or holds it back. m.mu is held.
func (m *meter) admit(p Progress) {
	m.last = p
	switch {
	case m.done:
	case m.timer != nil:
		m.held = &p
	default:
		m.pass(p)
		m.timer = time.AfterFunc(progressPause, m.tick)
	}
}

func (m *meter) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = nil
	if m.done || m.held == nil {
		return
	}
	m.pass(*m.held)
	m.held = nil
	m.timer = time.AfterFunc(progressPause, m.tick)
}

// finish passes on what is held back. Nothing follows.
func (m *meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
	if m.held != nil && !m.done {
		m.pass(*m.held)
	}
	m.done, m.held = true, nil
}

// logGate lets some lines a second through.
type logGate struct {
	// mu guards the fields below.
	mu     sync.Mutex
	second time.Time
	lines  int
}

// admit reports whether a line may be logged, and whether it is the last one of its second.
func (g *logGate) admit() (ok, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.second) >= time.Second {
		g.second, g.lines = now, 0
	}
	g.lines++
	return g.lines <= logsPerSecond, g.lines == logsPerSecond
}

// log logs what the server says.
func (s *Server) log(ctx context.Context, p *mcp.LoggingMessageParams) {
	ok, last := s.logs.admit()
	if !ok || p == nil {
		return
	}
	level := slog.LevelInfo
	switch p.Level {
	case "debug":
		level = slog.LevelDebug
	case "warning":
		level = slog.LevelWarn
	case "error", "critical", "alert", "emergency":
		level = slog.LevelError
	}
	text, isText := p.Data.(string)
	if !isText {
		text = jsonText(p.Data)
	}
	s.conf.Logger.Log(ctx, level, "an MCP server says", "text", clean(cutText(text, longestMessage)),
		"its_logger", clean(cutText(p.Logger, longestMessage)))
	if last {
		s.conf.Logger.WarnContext(ctx, "an MCP server says too much: the rest of this second is left out")
	}
}
