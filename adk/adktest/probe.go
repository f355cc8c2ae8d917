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
	atBegin       boundaryKind = "begin of a life"
)

// Probe makes the models and tools of an agent that is explored (see [Explore]) report what they do. It is safe for
// concurrent use.
type Probe[M adk.MessageType] struct {
	mu sync.Mutex // guards all fields below
	// passed is the number of boundaries that the run has reached, since the life after its last stop began.
	passed int
	// stop is the next stop of the run, nil if there is none; phase says whether it has been taken. taken is how many
	// were.
	stop  *stopper
	phase stopPhase
	taken int
	// watch, if not nil, is called at every boundary.
	watch func(kind boundaryKind)
	// diedIn is the life in which the process has died: nothing that is of it, or of one before, has an effect any
	// more.
	diedIn int
	// frozen are the lives that stand still, and what they wait for; thawed those that stood still. late are calls that
	// such a life began after another one had taken its run over.
	frozen map[int]chan struct{}
	thawed map[int]bool
	late   []string

	// done counts the calls of tools that were made, by what they are; results is what they returned, by their keys.
	done    map[string]int
	results map[string]string
	// callOf has the call of each idempotency key that was seen; mixed are keys that were seen with two calls.
	callOf map[string]string
	mixed  []string
	// repeatable are calls of tools that say that they may be called again.
	repeatable map[string]bool
	// open holds the calls that were begun and whose results, as lines, were not seen yet; inFlight the calls that were
	// open when the run was stopped in the present life. givenUp counts how often each call was given up: it was in
	// flight at a stop in a way that gives calls up. gaveUp counts the stops of such a way.
	open     map[string]string
	inFlight map[string]string
	givenUp  map[string]int
	gaveUp   int

	// seen holds the last input of each model. The models of a life are numbered as they are made. Calls that were given
	// up may outlive the life that they are of, and do not count then.
	lives, models int
	seen          map[int][]string
}

// stopPhase says where a life stands to the stop that is meant for it:
//
//	stopPending  the boundary has not come     → stopTaken at the boundary
//	stopTaken    the run is being stopped      → stopPending in the next life
type stopPhase int

const (
	stopPending stopPhase = iota
	stopTaken
)

func newProbe[M adk.MessageType]() *Probe[M] {
	return &Probe[M]{
		diedIn: -1,
		done:   map[string]int{}, results: map[string]string{}, callOf: map[string]string{}, repeatable: map[string]bool{},
		open: map[string]string{}, givenUp: map[string]int{}, seen: map[int][]string{},
	}
}

// Model makes a model report to the probe. It must find its answer from the messages, because each life of a run has
// models of its own: see [NewRecallingModel].
func (p *Probe[M]) Model(m model.BaseModel[M]) model.BaseModel[M] {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.models++
	return &probedModel[M]{m, p, p.lives, p.models}
}

// Tool makes a tool report to the probe.
func (p *Probe[M]) Tool(t tool.InvokableTool) tool.InvokableTool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &probedTool[M]{t, p, p.lives}
}

// at is called at each boundary. Its error is what the call there returns.
func (p *Probe[M]) at(ctx context.Context, life int, kind boundaryKind) error {
	p.pause(life)
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
	due := stop != nil && p.phase == stopPending && p.passed >= stop.at && stop.usable(kind)
	if due {
		p.phase = stopTaken
		p.taken++
		p.inFlight = maps.Clone(p.open)
	}
	p.mu.Unlock()
	if !due {
		return nil
	}
	defer p.noteBegun(life)
	return stop.stop(ctx)
}

// noteBegun adds the calls in flight that were begun while the run was being stopped, unless another life runs it by now.
func (p *Probe[M]) noteBegun(life int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life < p.lives || p.inFlight == nil {
		return
	}
	maps.Copy(p.inFlight, p.open)
}

// begunLate marks calls in flight that were begun after the run had been stopped, in what ran beside it.
const begunLate = "begun late"

// begin notes that a call was begun. One that comes while a stopped run ends is in flight until its result is seen; one
// that comes later yet was given up.
func (p *Probe[M]) begin(life int, call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thawed[life] {
		p.late = append(p.late, call)
	}
	if life < p.lives {
		p.givenUp[call]++
		return
	}
	p.open[call] = ""
	if p.phase == stopTaken && life == p.lives {
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
func (p *Probe[M]) did(life int, call, key, result, line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life <= p.diedIn {
		return errDied
	}
	p.done[call]++
	p.results[key] = result
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

// noteKey notes the idempotency key of a call.
func (p *Probe[M]) noteKey(life int, call, key string, repeatable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life < p.lives || life <= p.diedIn {
		return
	}
	if other, ok := p.callOf[key]; ok && other != call {
		p.mixed = append(p.mixed, fmt.Sprintf("%s and %s", other, call))
	}
	p.callOf[key] = call
	p.repeatable[call] = repeatable
}

// record holds what a probe has seen of a run.
type record struct {
	done    map[string]int
	givenUp map[string]int
	gaveUp  int
	seen    map[int][]string
	// keys are the idempotency keys of each call, sorted; mixed are pairs of calls with one key.
	keys  map[string][]string
	mixed []string
}

func (p *Probe[M]) record() record {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	r := record{done: maps.Clone(p.done), givenUp: maps.Clone(p.givenUp), gaveUp: p.gaveUp, seen: maps.Clone(p.seen),
		keys: map[string][]string{}, mixed: slices.Clone(p.mixed)}
	for _, key := range slices.Sorted(maps.Keys(p.callOf)) {
		r.keys[p.callOf[key]] = append(r.keys[p.callOf[key]], key)
	}
	return r
}

// settle counts the calls that the stop of the present life has given up. mu is held.
func (p *Probe[M]) settle() {
	if p.phase != stopTaken {
		return
	}
	if p.stop.givesUp {
		p.gaveUp++
	}
	for call := range p.inFlight {
		if p.stop.givesUp || p.repeatable[call] {
			p.givenUp[call]++
		}
	}
	p.inFlight = nil
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

func (m *probedModel[M]) Stream(
	ctx context.Context, messages []M, opts ...model.Option,
) (*schema.StreamReader[M], error) {
	if err := m.probe.at(ctx, m.life, atModelCall); err != nil {
		return nil, err
	}
	m.probe.asked(m.life, m.number, messages)
	s, err := m.inner.Stream(ctx, messages, opts...)
	if err != nil || s == nil {
		return s, err
	}
	return schema.StreamReaderWithConvert(s,
		func(chunk M) (M, error) { return chunk, m.probe.at(ctx, m.life, atModelChunk) },
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
	call, key := callName(info.Name, argumentsInJSON), adk.GetIdempotencyKey(ctx)
	t.probe.noteKey(t.life, call, key, t.Idempotent())
	t.probe.begin(t.life, call)
	if err := t.probe.at(ctx, t.life, atToolStart); err != nil {
		return "", err
	}
	result, err := t.InvokableTool.InvokableRun(ctx, argumentsInJSON, opts...)
	if err == nil {
		err = t.probe.did(t.life, call, key, result,
			fmt.Sprintf("tool %s#%s: %s", info.Name, compose.GetToolCallID(ctx), result))
	}
	if err == nil {
		err = t.probe.at(ctx, t.life, atToolEnd)
	}
	if err != nil {
		return "", err
	}
	return result, nil
}

// Idempotent reports whether the tool says that it may be called again.
func (t *probedTool[M]) Idempotent() bool {
	repeatable, ok := t.InvokableTool.(adk.IdempotentTool)
	return ok && repeatable.Idempotent()
}

func callName(tool, arguments string) string { return fmt.Sprintf("%s %s", tool, arguments) }
