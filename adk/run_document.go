package adk

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// runKind marks saved runs.
var runKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', '-', 'r', 'u', 'n'}, Version: 1}

// endKind marks what is kept of runs that have ended, in stores that do not know about runs.
var endKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', '-', 'e', 'n', 'd'}, Version: 1}

// endIn returns the end of a run, nil if the data is something else.
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

// runCodec is the encoding of a saved run: a runDocument by encoding/gob, and in it every value whose type is the user's
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
	// Answers are the answers that the run was given and did not come to use, by the IDs of the Points that they are for.
	Answers map[string][]byte
}

// setRest closes the journal of the run, if it has one, and keeps what it has in addition to the points.
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
	// Err is the error at the end of its stream, nil if there was none.
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
	// Info is the info of the interrupt if it checks answers (see [Answerable]).
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
	case errors.Is(err, envelope.ErrForeign) && envelope.WrittenByEino(data):
		return nil, fmt.Errorf("%s: %w", envelope.EinoAdvice, err)
	case errors.Is(err, envelope.ErrForeign):
		return nil, fmt.Errorf("it is no saved run: %w", err)
	case err != nil:
		return nil, err
	case codec != runCodec:
		return nil, fmt.Errorf("%w: it is encoded by %q, which this version does not know", runs.ErrNewerFormat, codec)
	}
	d = new(runDocument)
	err = guardHook(func() error { return gob.NewDecoder(bytes.NewReader(payload)).Decode(d) })
	return d, err
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
		if _, checks := c.Info.(runs.Checker); checks {
			infos[c.ID] = c.Info
		}
	}
	return infos
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
