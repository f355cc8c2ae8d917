package adktest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// boundaryKind is a kind of places where a run can be stopped.
type boundaryKind string

const (
	atModelCall   boundaryKind = "call of a model"
	atModelChunk  boundaryKind = "chunk of a model"
	atModelAnswer boundaryKind = "answer of a model"
	atToolStart   boundaryKind = "start of a tool"
	atToolEnd     boundaryKind = "end of a tool"
	atEvent       boundaryKind = "event"
	atStore       boundaryKind = "write to the store"
	atHook        boundaryKind = "hook"
)

// Probe makes the models and tools of an agent that is explored (see [Explore]) report what they do. It is safe for
// concurrent use.
type Probe[M adk.MessageType] struct {
	mu sync.Mutex
	// passed is how many boundaries the run has come to. At stopAt it is stopped, or soon after: what runs side by side
	// does not always come in the same order.
	passed, stopAt int
	stop           *stopper
	// wasStopped: that has happened; stoppedBefore: in an earlier life.
	wasStopped, stoppedBefore bool
	// watch is told of every boundary.
	watch func(kind boundaryKind)
	// diedIn is the life in which the process has died: nothing that is of it, or of one before, has an effect any more.
	diedIn int

	// done counts the calls of tools that were made, by what they are; results is what they returned.
	done    map[string]int
	results map[string]string
	// open are the calls that were begun and whose results, as lines, nobody has seen yet; inFlight those of which that
	// was so when the run was stopped.
	open     map[string]string
	inFlight map[string]string

	// seen is what each model was asked last. The models of a life are numbered as they are made. Calls that were given up
	// may outlive the life that they are of, and do not count then.
	lives, models int
	seen          map[int][]string
}

func newProbe[M adk.MessageType]() *Probe[M] {
	return &Probe[M]{
		diedIn: -1,
		done:   map[string]int{}, results: map[string]string{}, open: map[string]string{}, seen: map[int][]string{},
	}
}

// Model makes a model report to the probe. It must tell from the messages what to answer, because each life of a run has
// models of its own: see [NewRecallingModel].
func (p *Probe[M]) Model(m model.BaseModel[M]) model.BaseModel[M] {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.models++
	return &probedModel[M]{m, p, p.lives, p.models}
}

// Tool makes a tool report to the probe. No two calls of a run should have the same arguments.
func (p *Probe[M]) Tool(t tool.InvokableTool) tool.InvokableTool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &probedTool[M]{t, p, p.lives}
}

// at is called at each boundary. Its error is what the call there returns.
func (p *Probe[M]) at(ctx context.Context, life int, kind boundaryKind) error {
	p.mu.Lock()
	if life <= p.diedIn {
		p.mu.Unlock()
		return errDied
	}
	p.passed++
	if p.watch != nil {
		p.watch(kind)
	}
	stop := p.stop
	due := stop != nil && !p.wasStopped && p.passed >= p.stopAt && stop.usable(kind)
	if due {
		p.wasStopped = true
		p.inFlight = maps.Clone(p.open)
	}
	p.mu.Unlock()
	if !due {
		return nil
	}
	defer p.noteBegun()
	return stop.stop(ctx)
}

// noteBegun adds the calls in flight that were begun while the run was being stopped.
func (p *Probe[M]) noteBegun() {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.inFlight, p.open)
}

// begunLate marks calls in flight that were begun after the run had been stopped, in what ran beside it.
const begunLate = "begun late"

// begin notes that a call was begun. One that comes while a stopped run ends is in flight until its result is seen.
func (p *Probe[M]) begin(life int, call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[call] = ""
	if p.wasStopped && !p.stoppedBefore && life == p.lives {
		p.inFlight[call] = begunLate
	}
}

// show notes that lines were seen: the results among them are no longer in flight.
func (p *Probe[M]) show(lines ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.open, func(call, result string) bool {
		seen := slices.Contains(lines, result)
		if seen && p.inFlight[call] == begunLate {
			delete(p.inFlight, call)
		}
		return seen
	})
}

// did counts a call that was made.
func (p *Probe[M]) did(life int, call, result, line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life <= p.diedIn {
		return errDied
	}
	p.done[call]++
	p.results[call] = result
	p.open[call] = line
	return nil
}

// asked notes what a model was asked.
func (p *Probe[M]) asked(life, model int, messages []M) {
	lines := Lines(messages)
	p.show(lines...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if life == p.lives {
		p.seen[model] = lines
	}
}

// record is what a probe has seen of a run.
type record struct {
	done     map[string]int
	inFlight map[string]string
	seen     map[int][]string
}

func (p *Probe[M]) record() record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return record{maps.Clone(p.done), maps.Clone(p.inFlight), maps.Clone(p.seen)}
}

type probedModel[M adk.MessageType] struct {
	inner        model.BaseModel[M]
	probe        *Probe[M]
	life, number int
}

func (m *probedModel[M]) Generate(ctx context.Context, messages []M, opts ...model.Option) (none M, err error) {
	if err := m.probe.at(ctx, m.life, atModelCall); err != nil {
		return none, err
	}
	m.probe.asked(m.life, m.number, messages)
	answer, err := m.inner.Generate(ctx, messages, opts...)
	if err == nil {
		err = m.probe.at(ctx, m.life, atModelAnswer)
	}
	if err != nil {
		return none, err
	}
	return answer, nil
}

func (m *probedModel[M]) Stream(ctx context.Context, messages []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	if err := m.probe.at(ctx, m.life, atModelCall); err != nil {
		return nil, err
	}
	m.probe.asked(m.life, m.number, messages)
	s, err := m.inner.Stream(ctx, messages, opts...)
	if err != nil || s == nil {
		return s, err
	}
	return schema.StreamReaderWithConvert(s, func(chunk M) (M, error) { return chunk, m.probe.at(ctx, m.life, atModelChunk) },
		schema.WithOnEOF(func() (any, error) { return nil, m.probe.atEnd(ctx, m.life) })), nil
}

// atEnd is at for the end of a stream.
func (p *Probe[M]) atEnd(ctx context.Context, life int) error {
	if err := p.at(ctx, life, atModelAnswer); err != nil {
		return err
	}
	return io.EOF
}

type probedTool[M adk.MessageType] struct {
	tool.InvokableTool
	probe *Probe[M]
	life  int
}

func (t *probedTool[M]) InvokableRun(ctx context.Context, argumentsInJSON string, opts ...tool.Option) (string, error) {
	info, err := t.Info(ctx)
	if err != nil {
		return "", err
	}
	call := callName(info.Name, argumentsInJSON)
	t.probe.begin(t.life, call)
	if err := t.probe.at(ctx, t.life, atToolStart); err != nil {
		return "", err
	}
	result, err := t.InvokableTool.InvokableRun(ctx, argumentsInJSON, opts...)
	if err == nil {
		err = t.probe.did(t.life, call, result, fmt.Sprintf("tool %s#%s: %s", info.Name, compose.GetToolCallID(ctx), result))
	}
	if err == nil {
		err = t.probe.at(ctx, t.life, atToolEnd)
	}
	if err != nil {
		return "", err
	}
	return result, nil
}

func callName(tool, arguments string) string { return fmt.Sprintf("%s %s", tool, arguments) }
