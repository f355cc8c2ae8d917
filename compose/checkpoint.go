package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/schema"
)

// CheckPointStore keeps checkpoints by ID. See [WithCheckPointStore]. Package adk/checkpoint has some. Its methods are
//
//	Get(ctx context.Context, checkPointID string) (checkPoint []byte, found bool, err error)
//	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
type CheckPointStore = core.CheckPointStore

// Serializer encodes checkpoints. Unmarshal is given a pointer to what Marshal was given. Both must be safe for
// concurrent use. The state of a run, and whatever waits in it behind an interface, reaches the serializer with its
// own types.
type Serializer interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// checkpoint is an interrupted run of one graph. It is exported field by field and registered, so that any
// serializer can store it.
type checkpoint struct {
	// Channels are the values that wait for nodes, by the key of the node.
	Channels map[string]*channel
	// Inputs are the inputs of the nodes to start, by their keys: merged and mapped, before the pre-handler.
	Inputs map[string]any
	State  any
	// SkipPreHandler names the nodes whose pre-handler ran already.
	SkipPreHandler map[string]bool
	RerunNodes     []string
	SubGraphs      map[string]*checkpoint
	// The interrupt tree by ID; only the root graph's checkpoint has it.
	InterruptID2Addr  map[string]core.Address
	InterruptID2State map[string]core.InterruptState
}

// channel holds what waits for one node, by the key of the predecessor. Controls and Arrived are used in DAGs.
type channel struct {
	Values   map[string]any
	Controls map[string]control
	Arrived  map[string]bool
}

// emptyStream stands in a checkpoint for a stream that ended without a chunk.
type emptyStream struct{}

func init() {
	schema.RegisterName[emptyStream]("_weft_compose_empty_stream")
	schema.RegisterName[*checkpoint]("_weft_compose_checkpoint")
	schema.RegisterName[*channel]("_weft_compose_channel")
	schema.RegisterName[control]("_weft_compose_control")
	schema.RegisterName[core.InterruptState]("_weft_interrupt_state")
	schema.RegisterName[*InterruptInfo]("_weft_compose_interrupt_info")
	schema.RegisterName[*keptRun]("_weft_compose_kept_run")
	schema.RegisterName[*toolsState]("_weft_compose_tools_state")
	schema.RegisterName[*ToolsInterruptAndRerunExtra]("_weft_compose_tools_extra")
}

// RegisterSerializableType registers T for the default encoding of checkpoints only.
//
// Deprecated: use schema.RegisterName, which registers for every encoding.
func RegisterSerializableType[T any](name string) (err error) {
	return serialization.GenericRegister[T](name)
}

func (p *plan) codec() Serializer {
	if p.serializer != nil {
		return p.serializer
	}
	return &serialization.InternalSerializer{}
}

// copyState copies the state of the graph for the checkpoint and for the user: the run may be resumed while the user
// still looks at it.
func (r *run) copyState() (any, error) {
	if r.genState == nil || r.scope.state == nil {
		return nil, nil
	}
	var state any
	err := r.scope.with(func(s any) (err error) {
		if r.beforeSaving != nil {
			r.beforeSaving(s)
		}
		if r.serializer == nil {
			state, err = serialization.DeepCopy(s)
			return err
		}
		data, err := r.serializer.Marshal(&stateBox{State: s})
		if err != nil {
			return err
		}
		var box stateBox
		err = r.serializer.Unmarshal(data, &box)
		state = box.State
		return err
	})
	return state, err
}

// stateBox keeps the state's type on its way through a serializer.
type stateBox struct{ State any }

// storeCheckpoint writes the checkpoint if the call named one, and returns its ID.
func (r *run) storeCheckpoint(cp *checkpoint) (savedAs string, err error) {
	id := r.checkpointID()
	if writeTo := r.opts.checkpoint.writeTo; writeTo != nil {
		id = writeTo
	}
	if id == nil {
		return "", nil
	}
	data, err := r.codec().Marshal(cp)
	if err == nil {
		err = r.store.Set(r.ctx, *id, data)
	}
	if err != nil {
		return "", graphErrorf("failed to set checkpoint: %w, checkPointID: %s", err, *id)
	}
	return *id, nil
}

// checkpointID returns the ID under which the run is saved, nil if it is not.
func (r *run) checkpointID() *string {
	if id := r.opts.checkpoint.id; id != nil {
		return id
	}
	return r.ownCheckpoint
}

// loadCheckpoint looks for an interrupted run to continue from. A nested graph has been given its own.
func (r *run) loadCheckpoint() error {
	if r.nested {
		return nil
	}
	if modify := r.opts.checkpoint.modify; modify != nil {
		r.modify = modify
	}
	id := r.checkpointID()
	if (id != nil || r.opts.checkpoint.writeTo != nil) && r.store == nil {
		return graphErrorf("receive checkpoint id but have not set checkpoint store")
	}
	if id == nil || r.opts.checkpoint.forceNew {
		return nil
	}
	data, exists, err := r.store.Get(r.ctx, *id)
	if err != nil {
		return graphErrorf("load checkpoint from store fail: %w", err)
	}
	if !exists {
		return nil
	}
	cp := &checkpoint{}
	if err := r.codec().Unmarshal(data, cp); err != nil {
		if !bytes.HasPrefix(data, []byte(`{"weft"`)) && envelope.WrittenByEino(data) {
			err = fmt.Errorf("checkpoint %q: %s: %w", *id, envelope.EinoAdvice, err)
		}
		return graphErrorf("load checkpoint from store fail: %w", err)
	}
	r.resumed = cp
	r.ctx.frame.Populate(r.ctx, cp.InterruptID2Addr, cp.InterruptID2State)
	return nil
}

// deleteCheckpoint removes the checkpoint of a run that resumed from it and succeeded, if that was asked for.
func (r *run) deleteCheckpoint(ctx context.Context) error {
	id := r.checkpointID()
	if !r.deleteOnSuccess || id == nil {
		return nil
	}
	deleter, ok := r.store.(core.CheckPointDeleter)
	if !ok {
		return nil
	}
	if err := deleteGuarded(ctx, deleter, *id); err != nil {
		return graphErrorf("failed to delete checkpoint: %w, checkPointID: %s", err, *id)
	}
	return nil
}

func deleteGuarded(ctx context.Context, deleter core.CheckPointDeleter, id string) (err error) {
	defer safe.Recover(&err)
	return deleter.Delete(ctx, id)
}

// modifyState lets the caller change the saved state; data that the caller resumes this very graph with replaces it.
func (r *run) modifyState() error {
	if r.modify != nil {
		if err := r.modify(r.ctx, NodePath{path: r.path}, r.scope.state); err != nil {
			return graphErrorf("state modifier fail: %w", err)
		}
	}
	interrupted, _, target, data := r.ctx.frame.Resumption()
	if !interrupted || !target || data == nil {
		return nil
	}
	if err := r.checkStateType(data); err != nil {
		return err
	}
	r.scope.state = data
	return nil
}

func (r *run) checkStateType(data any) error {
	if !typeFits(data, r.stateType) {
		return graphErrorf("resume data of type %T cannot replace the graph's state of type %v", data, r.stateType)
	}
	return nil
}

// saveChannels saves what waits on the links.
func (r *run) saveChannels(cp *checkpoint) error {
	cp.Channels = map[string]*channel{}
	for i := range r.links {
		l, ls := &r.links[i], &r.linkStates[i]
		if !ls.has && !ls.arrived && ls.control == controlWaiting {
			continue
		}
		from, to := &r.nodes[l.from], &r.nodes[l.to]
		ch := cp.Channels[to.key]
		if ch == nil {
			ch = &channel{Values: map[string]any{}, Controls: map[string]control{}, Arrived: map[string]bool{}}
			cp.Channels[to.key] = ch
		}
		if ls.has {
			v, err := storable(from.output(), ls.value, ls.stream)
			ls.stream = nil
			if err != nil {
				return graphErrorf("save the output of node '%s': %w", from.key, err)
			}
			ch.Values[from.key] = v
		}
		if ls.control != controlWaiting {
			ch.Controls[from.key] = ls.control
		}
		if ls.arrived {
			ch.Arrived[from.key] = true
		}
	}
	return nil
}

// checkKnown refuses a checkpoint of another version of the graph if continuing from it would lose something without a
// word: a node that is to run, or an output that waits for a node.
func (r *run) checkKnown() error {
	const changed = ": was the graph changed since?"
	cp := r.resumed
	for _, key := range append(slices.Clip(cp.RerunNodes), sortedKeys(cp.Inputs)...) {
		if r.byKey[key] < firstNode {
			return graphErrorf("the checkpoint continues with node '%s', which is not in this graph"+changed, key)
		}
	}
	for _, to := range sortedKeys(cp.Channels) {
		i, ok := r.byKey[to]
		ch := cp.Channels[to]
		if !ok || ch == nil {
			continue
		}
		for _, from := range sortedKeys(ch.Values) {
			if !slices.ContainsFunc(r.nodes[i].inLinks, func(li int) bool { return r.nodes[r.links[li].from].key == from }) {
				return graphErrorf("the checkpoint has an output of node '%s' for node '%s', which takes none of it in this graph"+
					changed, from, to)
			}
		}
	}
	return nil
}

// restore puts the links back as they were.
func (r *run) restore() error {
	if err := r.checkKnown(); err != nil {
		return err
	}
	for i := range r.links {
		l, ls := &r.links[i], &r.linkStates[i]
		from, to := &r.nodes[l.from], &r.nodes[l.to]
		ch := r.resumed.Channels[to.key]
		if ch == nil {
			continue
		}
		if v, ok := ch.Values[from.key]; ok {
			value, s, err := r.revive(from.output(), v)
			if err != nil {
				return graphErrorf("restore the output of node '%s': %w", from.key, err)
			}
			ls.value, ls.stream, ls.has = value, s, true
		}
		state := &r.nodeStates[l.to]
		if ls.control = ch.Controls[from.key]; ls.control != controlWaiting {
			state.waitingControls--
		}
		if ls.control == controlReady {
			state.readyControls++
		}
		if ls.arrived = ch.Arrived[from.key]; ls.arrived {
			state.waitingDatas--
		}
	}
	if r.dag {
		for i := range r.nodes {
			n := &r.nodeStates[i]
			n.skipped = r.nodes[i].controls > 0 && n.waitingControls == 0 && n.readyControls == 0
		}
		r.queueIfReady(endIndex)
		return nil
	}
	for li := range r.links {
		r.arrive(li)
	}
	return nil
}

// revive turns a stored value into what the run needs: itself or a stream of it. A run of values has nothing but nil
// for a stream that was empty.
func (r *run) revive(k kind, v any) (any, stream, error) {
	if v == (emptyStream{}) {
		if r.streaming {
			return nil, k.Empty(), nil
		}
		v = nil
	}
	v, err := k.Check(v)
	if err != nil || !r.streaming {
		return v, nil, err
	}
	s, err := k.Single(v)
	return nil, s, err
}

// resuming reports whether the tasks of the checkpoint are still to be made.
func (r *run) resuming() bool { return r.resumed != nil }

// restoredTasks makes the tasks that the checkpoint names.
func (r *run) restoredTasks(batch []*task) ([]*task, error) {
	cp := r.resumed
	r.resumed = nil
	again := make(map[string]bool, len(cp.RerunNodes))
	for _, key := range cp.RerunNodes {
		again[key] = true
	}
	for i := firstNode; i < len(r.nodes); i++ {
		n := &r.nodes[i]
		saved, hasInput := cp.Inputs[n.key]
		if !hasInput && !again[n.key] {
			continue
		}
		t := r.task(i)
		t.opts, t.skipPre, t.checkpoint = r.opts.of(i), cp.SkipPreHandler[n.key], cp.SubGraphs[n.key]
		var err error
		if hasInput {
			t.value, t.stream, err = r.revive(n.input(), saved)
		} else if t.value = n.input().Zero(); r.streaming {
			t.stream, err = n.input().Single(t.value)
		}
		if err != nil {
			return batch, graphErrorf("restore the input of node '%s': %w", n.key, err)
		}
		r.nodeStates[i].fired = r.dag
		r.keepOriginal(t, !hasInput)
		batch = append(batch, t)
	}
	if len(batch) == 0 {
		return batch, graphError(errors.New("the checkpoint names no node of this graph to continue with: was the graph changed?"))
	}
	return batch, nil
}

// MigrateCheckpointState changes the states in a stored checkpoint: migrate is called with the state of the root
// graph and of every nested one that has a state, and returns the new state and whether it changed. The result is
// data itself if nothing changed. A nil serializer stands for the default encoding.
func MigrateCheckpointState(
	data []byte, serializer Serializer, migrate func(state any) (any, bool, error),
) ([]byte, error) {
	if migrate == nil {
		return nil, errors.New("migrate checkpoint state: the migrate function is nil")
	}
	if serializer == nil {
		serializer = &serialization.InternalSerializer{}
	}
	cp := &checkpoint{}
	if err := serializer.Unmarshal(data, cp); err != nil {
		return nil, fmt.Errorf("migrate checkpoint state: decode: %w", err)
	}
	changed, err := cp.migrate(migrate)
	if err != nil {
		return nil, err
	}
	if !changed {
		return data, nil
	}
	out, err := serializer.Marshal(cp)
	if err != nil {
		return nil, fmt.Errorf("migrate checkpoint state: encode: %w", err)
	}
	return out, nil
}

func (c *checkpoint) migrate(migrate func(state any) (any, bool, error)) (changed bool, err error) {
	defer safe.Recover(&err)
	if c.State != nil {
		state, altered, err := migrate(c.State)
		if err != nil {
			return false, err
		}
		if altered {
			c.State, changed = state, true
		}
	}
	for _, key := range sortedKeys(c.SubGraphs) {
		if sub := c.SubGraphs[key]; sub != nil {
			altered, err := sub.migrate(migrate)
			if err != nil {
				return false, err
			}
			changed = changed || altered
		}
	}
	return changed, nil
}
