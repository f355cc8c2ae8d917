package adk

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/adk/internal/turnwatch"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/schema"
)

// save stores the run, if there is a store and an ID, and returns the ID. as is what the run has come to.
func (run *runnerRun[M]) save(signal *InterruptSignal, as core.RunStatus) (savedAs string, err error) {
	defer journal.BlameStore(&err)
	id := run.root.options.checkPointID
	if id == nil || isNilStore(run.store) {
		return "", nil
	}
	if err := run.waitTurn(signal, as); err != nil {
		return "", err
	}
	d := &runDocument{Streaming: run.input.EnableStreaming, Seed: run.root.ids.Seed, Stops: run.root.ids.Stops + 1,
		Origin: run.root.origin}
	err = d.setValues(run.session.all())
	if err == nil && run.exec.lane != nil { // a chat model agent alone has all messages in its own state
		if err = setInput(d, run.root.input); err == nil {
			d.History, err = saveItems(run.exec.Context, run.exec.lane.visible())
		}
	}
	if err == nil {
		err = d.setPoints(signal)
	}
	if err == nil {
		err = d.setRest(run.root.journal)
	}
	if err != nil {
		return "", err
	}
	sealed, err := d.seal()
	if err != nil {
		return "", err
	}
	// The run may have ended because its context did: it is saved all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	if run.runner.keepSteps { // the checkpoint counts from the record on
		if err := run.store.Set(ctx, *id, sealed); err != nil {
			return "", err
		}
		if err := run.root.journal.Stop(ctx); err != nil {
			return "", err
		}
	}
	if run.held != nil {
		s := core.Settlement{Status: as, Err: run.held.stopReason()}
		if !run.runner.keepSteps {
			s.Checkpoint, s.DropRecords = sealed, true
		}
		if as == core.RunWaiting {
			s.Waiting, s.Infos = waitPoints(signal, run.held.clock.Now())
		}
		return *id, run.held.Settle(ctx, s)
	}
	if run.runner.keepSteps {
		return *id, nil
	}
	if err := run.store.Set(ctx, *id, sealed); err != nil {
		return "", err
	}
	if run.root.journal != nil { // everything is in the checkpoint
		return *id, run.root.journal.Remove(ctx)
	}
	return *id, nil
}

// recordSteps has the steps of the run recorded.
func (run *runnerRun[M]) recordSteps(steps *journal.Journal) {
	steps.Keep = run.runner.keepSteps
	run.root.journal, run.exec.scope = steps, steps.Root()
}

// openJournal readies the store for a new run: what is left of a run before it under the same ID must not be resumed in
// its place. If the steps of the run are to be saved, its input is the first.
func (run *runnerRun[M]) openJournal() error {
	id := run.root.options.checkPointID
	if id == nil || isNilStore(run.store) {
		return nil
	}
	run.newIDs()
	if err := run.takeNew(*id); err != nil {
		return err
	}
	store := run.store
	if !run.runner.durable {
		if _, ok := store.(CheckPointJournal); ok { // in another store the checkpoint replaces them
			if err := journal.New(store, *id).Remove(run.exec.Context); err != nil {
				return fmt.Errorf("failed to remove the steps of an earlier run with ID %q: %w", *id, err)
			}
		}
		return nil
	}
	d := &runDocument{Streaming: run.input.EnableStreaming, Seed: run.root.ids.Seed}
	err := setInput(d, &run.input)
	if err == nil {
		err = d.setValues(run.session.all())
	}
	var input []byte
	if err == nil {
		input, err = d.seal()
	}
	if err != nil {
		return fmt.Errorf("failed to save a step: %w", err)
	}
	steps := journal.New(store, *id)
	run.recordSteps(steps)
	return steps.Begin(run.exec.Context, input, nil)
}

// newIDs has the interrupt points of a run that is saved named by the run.
func (run *runnerRun[M]) newIDs() {
	run.root.ids = &run.root.idsRoom
	_, _ = rand.Read(run.root.ids.Seed[:]) // never fails
}

// runKind marks saved runs.
var runKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', '-', 'r', 'u', 'n'}, Version: 1}

// endKind marks what is kept of runs that have ended, in stores that do not know about runs.
var endKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', '-', 'e', 'n', 'd'}, Version: 1}

// endIn returns what a run has come to, nil if the data is something else.
func endIn(data []byte) *journal.End {
	_, _, payload, err := endKind.Open(data)
	if err != nil {
		return nil
	}
	end, err := journal.DecodeEnd(payload)
	if err != nil {
		return nil
	}
	return end
}

// runCodec is how a saved run is encoded: a runDocument by encoding/gob, and in it every value whose type is the user's
// by the serializer of the type registry.
const runCodec = "gob"

// runDocument is a run that stopped. What an agent needs to continue is the state of its interrupt point; a chat model
// agent keeps all points inside itself.
type runDocument struct {
	Streaming bool
	HasInput  bool
	Input     [][]byte
	Values    map[string][]byte
	History   []savedItem
	Points    []savedPoint
	// Steps are the records of the journal that the points do not contain. Resumable says where in the journal what
	// continues at an address was recorded, and Begun with how many messages it began.
	Steps     [][]byte
	Resumable map[string]string
	Begun     map[string]int
	// Seed and Stops name the interrupt points of the run (see [core.InterruptIDs]).
	Seed  [16]byte
	Stops int
	// Origin is the run that this one is a fork of.
	Origin origin
}

// setRest closes the journal of the run, if it has one, and keeps what it has besides the points.
func (d *runDocument) setRest(steps *journal.Journal) error {
	if steps == nil {
		return nil
	}
	steps.Close()
	rest, err := steps.Rest()
	d.Steps, d.Resumable, d.Begun = rest.Records, rest.Resumable, rest.Begun
	return err
}

func (d *runDocument) rest() journal.Rest {
	return journal.Rest{Records: d.Steps, Resumable: d.Resumable, Begun: d.Begun}
}

// savedItem is one thing that an agent has said.
type savedItem struct {
	Seq      int
	Agent    string
	Message  []byte
	Transfer bool
	// Err is how its stream ended, if not well.
	Err []byte
	// ErrText is for errors whose type is not registered.
	ErrText string
}

// savedPoint is one interrupt point, by its ID.
type savedPoint struct {
	ID      string
	Address core.Address
	State   []byte
	// Raw: State is the state itself, which was bytes.
	Raw bool
	// Layer is the Data of the interrupt.
	Layer []byte
	// Info is that of the interrupt if it checks answers (see [Answerable]).
	Info []byte
}

// seal encodes the document.
func (d *runDocument) seal() ([]byte, error) {
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(d); err != nil {
		return nil, err
	}
	return runKind.Seal(runCodec, buf.Bytes()), nil
}

// openRun decodes a saved run.
func openRun(data []byte) (d *runDocument, err error) {
	_, codec, payload, err := runKind.Open(data)
	switch {
	case errors.Is(err, envelope.ErrForeign) && writtenByEino(data):
		return nil, fmt.Errorf("it was written by Eino, whose checkpoints cannot be read here: "+
			"finish the runs that are pending with Eino first, or start them anew: %w", err)
	case errors.Is(err, envelope.ErrForeign):
		return nil, fmt.Errorf("it is no saved run: %w", err)
	case err != nil:
		return nil, err
	case codec != runCodec:
		return nil, fmt.Errorf("%w: it is encoded by %q, which this version does not know", core.ErrNewerFormat, codec)
	}
	d = new(runDocument)
	err = guardHook(func() error { return gob.NewDecoder(bytes.NewReader(payload)).Decode(d) })
	return d, err
}

// writtenByEino recognises the checkpoints of Eino: a gob stream, which begins with the names of a struct and its
// fields, or JSON with the names of registered types.
func writtenByEino(data []byte) bool {
	return bytes.Contains(data, []byte("_eino_")) ||
		bytes.Contains(data, []byte("serialization")) && bytes.Contains(data, []byte("RunCtx"))
}

// encodeValue encodes a value of any registered type. what is where it is, for the error.
func encodeValue(v any, what string, args ...any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	data, err := new(serialization.InternalSerializer).Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)
	}
	return data, nil
}

func decodeValue(data []byte, what string, args ...any) (v any, err error) {
	if data == nil {
		return nil, nil
	}
	if err = new(serialization.InternalSerializer).Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)
	}
	return v, nil
}

func decodeMessage[M MessageType](data []byte, what string, args ...any) (m M, err error) {
	v, err := decodeValue(data, what, args...)
	if err != nil || v == nil {
		return m, err
	}
	m, ok := v.(M)
	if !ok {
		return m, fmt.Errorf("%s: it is %T, not %T", fmt.Sprintf(what, args...), v, m)
	}
	return m, nil
}

// setInput saves what the run was started with.
func setInput[M MessageType](d *runDocument, input *TypedAgentInput[M]) error {
	if input == nil {
		return nil
	}
	d.HasInput, d.Streaming = true, input.EnableStreaming
	for i, m := range input.Messages {
		var v any
		if !opsOf[M]().isNil(m) {
			v = m
		}
		data, err := encodeValue(v, "input message %d", i)
		if err != nil {
			return err
		}
		d.Input = append(d.Input, data)
	}
	return nil
}

func inputIn[M MessageType](d *runDocument) (*TypedAgentInput[M], error) {
	input := &TypedAgentInput[M]{EnableStreaming: d.Streaming}
	for i, data := range d.Input {
		m, err := decodeMessage[M](data, "input message %d", i)
		if err != nil {
			return nil, err
		}
		input.Messages = append(input.Messages, m)
	}
	return input, nil
}

// setValues saves the session values.
func (d *runDocument) setValues(values map[string]any) (err error) {
	d.Values = make(map[string][]byte, len(values))
	for key, v := range values {
		if d.Values[key], err = encodeValue(v, "session value %q", key); err != nil {
			return err
		}
	}
	return nil
}

func (d *runDocument) values() (map[string]any, error) {
	values := make(map[string]any, len(d.Values))
	for key, data := range d.Values {
		v, err := decodeValue(data, "session value %q", key)
		if err != nil {
			return nil, err
		}
		values[key] = v
	}
	return values, nil
}

// saveItems saves what agents have said. Streams are read to their end, or for a little while when ctx has ended.
func saveItems[M MessageType](ctx context.Context, items []*historyItem[M]) ([]savedItem, error) {
	ctx, stop := endsLater(ctx, cancelGrace)
	defer stop()
	saved := make([]savedItem, 0, len(items))
	for i, item := range items {
		m, streamErr := item.whole(ctx)
		s := savedItem{Seq: item.seq, Agent: item.agent, Transfer: item.transfer}
		var v any
		if !opsOf[M]().isNil(m) {
			v = m
		}
		var err error
		if s.Message, err = encodeValue(v, "message %d of the history, by agent '%s'", i, item.agent); err != nil {
			return nil, err
		}
		if streamErr != nil {
			s.ErrText = streamErr.Error()
			s.Err, _ = encodeValue(streamErr, "error") // the text stands for one that is not registered
		}
		saved = append(saved, s)
	}
	return saved, nil
}

func restoreItems[M MessageType](saved []savedItem) ([]*historyItem[M], error) {
	items := make([]*historyItem[M], 0, len(saved))
	for i := range saved {
		s := &saved[i]
		item := &historyItem[M]{seq: s.Seq, agent: s.Agent, transfer: s.Transfer}
		var err error
		if item.message, err = decodeMessage[M](s.Message, "message %d of the history, by agent '%s'", i, s.Agent); err != nil {
			return nil, err
		}
		if s.ErrText != "" {
			item.err = errors.New(s.ErrText)
			if v, err := decodeValue(s.Err, "error"); err == nil {
				if restored, ok := v.(error); ok {
					item.err = restored
				}
			}
		}
		item.once.Do(func() {})
		items = append(items, item)
	}
	return items, nil
}

// setPoints saves the interrupt points.
func (d *runDocument) setPoints(signal *InterruptSignal) error {
	addresses, states := core.SignalToPersistenceMaps(signal)
	answerables := answerablesIn(signal)
	for id, address := range addresses {
		p := savedPoint{ID: id, Address: address}
		var err error
		if p.State, p.Raw = states[id].State.([]byte); !p.Raw {
			p.State, err = encodeValue(states[id].State, "state of the interrupt at %s", address)
		}
		if err != nil {
			return err
		}
		if p.Layer, err = encodeValue(states[id].LayerSpecificPayload, "data of the interrupt at %s", address); err != nil {
			return err
		}
		if p.Info, err = encodeValue(answerables[id], "info of the interrupt at %s", address); err != nil {
			return err
		}
		d.Points = append(d.Points, p)
	}
	return nil
}

func (d *runDocument) points() (map[string]core.Address, map[string]core.InterruptState, error) {
	addresses := make(map[string]core.Address, len(d.Points))
	states := make(map[string]core.InterruptState, len(d.Points))
	for i := range d.Points {
		p := &d.Points[i]
		var state any = p.State
		if !p.Raw {
			var err error
			if state, err = decodeValue(p.State, "state of the interrupt at %s", p.Address); err != nil {
				return nil, nil, err
			}
		}
		layer, err := decodeValue(p.Layer, "data of the interrupt at %s", p.Address)
		if err != nil {
			return nil, nil, err
		}
		addresses[p.ID] = p.Address
		states[p.ID] = core.InterruptState{State: state, LayerSpecificPayload: layer}
	}
	return addresses, states, nil
}

func init() {
	schema.RegisterName[*runDocument]("_weft_adk_run")
}

// answerablesIn are the Infos that check their answers, by the ID of the point.
func answerablesIn(signal *InterruptSignal) map[string]any {
	infos := map[string]any{}
	for _, c := range interruptContexts(signal) {
		if _, checks := c.Info.(Answerable); checks {
			infos[c.ID] = c.Info
		}
	}
	return infos
}

// load reads a saved run from the store: a run whose steps were saved, or one that was interrupted.
func (run *runnerRun[M]) load(ctx context.Context, id string) (saved *runDocument, err error) {
	defer journal.BlameStore(&err)
	steps := journal.New(run.store, id)
	past, err := steps.Replay(ctx)
	if err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to read the steps of the run: %w", err)
	}
	run.warnOfPast(ctx, id, past)
	data := past.Run
	if data == nil {
		var exists bool
		if data, exists, err = run.store.Get(ctx, id); err != nil {
			return nil, fmt.Errorf("failed to load from checkpoint: failed to get checkpoint from store: %w", err)
		} else if !exists || journal.IsWhole(data) {
			return nil, fmt.Errorf("failed to load from checkpoint: %w", &core.CheckPointNotFoundError{ID: id})
		}
	}
	if past.End == nil {
		past.End = endIn(data)
	}
	if run.ended = past.End; run.ended != nil {
		return new(runDocument), nil
	}
	if saved, err = openRun(data); err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to decode checkpoint: %w", err)
	}
	if err := steps.Adopt(saved.rest()); err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to read the steps of the run: %w", err)
	}
	run.past = resumedPast{data: data, died: past.Run != nil, answers: past.Answers, turn: turnwatch.Underway}
	if past.Run != nil && past.Steps == 0 && len(saved.Points) == 0 {
		run.past.turn = turnwatch.Tried
		if past.Lives == 0 && run.held != nil {
			run.past.turn = turnwatch.Submitted
		}
	}
	if run.past.died || run.runner.durable || len(saved.Steps)+len(saved.Resumable) > 0 { // the last without saving more of them
		run.recordSteps(steps)
	}
	run.newIDs()
	if saved.Seed != [16]byte{} {
		run.root.ids.Seed, run.root.ids.Stops = saved.Seed, saved.Stops
	}
	if run.root.origin = saved.Origin; past.Steps < saved.Origin.Steps {
		return nil, fmt.Errorf("failed to load from checkpoint: fork %q of run %q was not written to its end: "+
			"remove it, and fork again", id, saved.Origin.Run)
	}
	run.root.origin.Steps = 0
	return saved, nil
}

// resumedPast is what the store has of a run that is resumed.
type resumedPast struct {
	// data is what the run, or the process that resumed it last, began with.
	data []byte
	// died: the process that had the run did not say what it had come to.
	died bool
	// answers are those that an earlier process was given.
	answers map[string][]byte
	// turn is what a conversation is given to know of the run.
	turn turnwatch.Past
}

// continueJournal records that this process continues with the run, and with which answers. Nothing may happen before.
func (run *runnerRun[M]) continueJournal(ctx context.Context, answers map[string]any) error {
	steps := run.root.journal
	switch {
	case run.past.died:
		return steps.Continue(ctx, run.root.diagnostics.encodeAnswers(ctx, answers))
	case run.runner.durable:
		return steps.Begin(ctx, run.past.data, run.root.diagnostics.encodeAnswers(ctx, answers))
	}
	return nil
}

// warnOfPast logs what processes did that had lost the run.
func (run *runnerRun[M]) warnOfPast(ctx context.Context, id string, past journal.Past) {
	if past.Stray {
		run.root.diagnostics.warn(ctx, "a process wrote steps to a run that had been removed; they are ignored", "run", id)
	}
	for _, lost := range past.LostCalls {
		call, _ := callIn(lost.Call)
		run.root.diagnostics.warn(ctx, "a process that had lost the run made a tool call that does not count; "+
			"what it did outside is not undone", "run", id, "tool", call.Function.Name, "call", call.ID)
	}
}

// errStoreNilForResume has the text that callers know, and matches [ErrCheckpointStoreNil].
var errStoreNilForResume = storeNil{}

type storeNil struct{}

func (storeNil) Error() string { return "store is nil" }
func (storeNil) Unwrap() error { return ErrCheckpointStoreNil }

// answersFor are the answers that the run is resumed with: first those that an earlier process was given, then those in
// the store, then those of the caller. Each question has one.
func (run *runnerRun[M]) answersFor(ctx context.Context, saved *runDocument, params *ResumeParams) (map[string]any, error) {
	answers, err := decodeAnswers(run.past.answers)
	if err != nil {
		return nil, err
	}
	given := map[string]any{}
	if run.held != nil {
		stored, err := run.held.Answers(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range stored {
			if given[a.Point], err = valueOf(a); err != nil {
				return nil, err
			}
		}
	}
	if params != nil {
		known := saved.knownTargets(params.Targets)
		run.root.diagnostics.warnOfTargets(ctx, *run.root.options.checkPointID, params.Targets, known)
		if err := saved.checkAnswers(known); err != nil {
			return nil, err
		}
		for id, answer := range known {
			if _, answered := given[id]; !answered {
				given[id] = answer
			}
		}
	}
	for id, answer := range saved.knownTargets(given) {
		if _, answered := answers[id]; !answered {
			answers[id] = answer
		}
	}
	return answers, nil
}

// restore puts a saved run back together.
func (run *runnerRun[M]) restore(ctx context.Context, saved *runDocument, answers map[string]any) error {
	addresses, states, err := saved.points()
	if err != nil {
		return err
	}
	if len(answers) > 0 {
		ctx = core.BatchResumeWithData(ctx, answers)
	}
	run.exec.Context = core.PopulateInterruptState(ctx, addresses, states)
	values, err := saved.values()
	if err != nil {
		return err
	}
	run.session.add(values)
	input, err := inputIn[M](saved)
	if err != nil {
		return err
	}
	run.input = *input
	run.root.input = &run.input
	if run.exec.lane == nil {
		return nil
	}
	items, err := restoreItems[M](saved.History)
	if err != nil {
		return err
	}
	run.exec.lane.restore(items)
	return nil
}

// knownTargets leaves out the targets that are none of the interrupt points of the saved run.
func (d *runDocument) knownTargets(targets map[string]any) map[string]any {
	known := make(map[string]any, len(targets))
	for i := range d.Points {
		if target, ok := targets[d.Points[i].ID]; ok {
			known[d.Points[i].ID] = target
		}
	}
	return known
}
