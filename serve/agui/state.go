package agui

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// stateKey is the session value with the state of a run, as JSON.
const stateKey = "weft.agui.state"

// maxState is the number of bytes of state that a page may send.
const maxState = 256 << 10

// stateChange is the event of a run whose state has changed.
type stateChange struct {
	State json.RawMessage `json:"state"`
}

// stateChanged is its name in the record of a run.
var stateChanged = fmt.Sprintf("%T", stateChange{})

func init() { schema.RegisterName[stateChange]("weft.agui.state_change") }

// State reads what a run and its page share, such as a document that both edit, into a variable: what SetState has set
// last, or what the page has sent with its message (Config.AllowState). It returns false if there is none, and leaves the
// variable as it is. It is for tools and hooks of agents. The state is part of the run: it survives an interrupt.
func State(ctx context.Context, into any) (bool, error) {
	return sessionJSON(ctx, stateKey, into)
}

// SetState replaces the state of a run by a value that JSON can express, and shows it to the page: the first one whole,
// others by what has changed. Tools that are called at once and each replace it overwrite each other. It fails outside a run.
func SetState(ctx context.Context, state any) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("agui.SetState: the state cannot be expressed in JSON: %w", err)
	}
	change := stateChange{data}
	err = adk.SendEvent(ctx, &adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: change}})
	if err != nil { // it may be a run on agentic messages
		agentic := &adk.TypedAgentEvent[*schema.AgenticMessage]{
			Output: &adk.TypedAgentOutput[*schema.AgenticMessage]{CustomizedOutput: change}}
		if adk.TypedSendEvent(ctx, agentic) != nil {
			return fmt.Errorf("agui.SetState: %w", err)
		}
	}
	adk.AddSessionValue(ctx, stateKey, string(data))
	return nil
}

// isState reports whether a page has sent a state.
func isState(sent json.RawMessage) bool { return len(sent) > 0 && string(sent) != "null" }

// state holds what a page knows of the state of a run.
type state struct {
	known bool
	value any
}

// take notes a state, and reports whether it is one.
func (s *state) take(data json.RawMessage) bool {
	value, err := decoded(data)
	if err == nil {
		s.known, s.value = true, value
	}
	return err == nil
}

// changeState shows a new state: by its difference from the one that the page knows, if that is shorter.
func (t *translator) changeState(d *runlog.CustomData) {
	var change stateChange
	before := t.state
	if json.Unmarshal(d.Value, &change) != nil || !t.state.take(change.State) {
		return
	}
	if !before.known {
		t.showState()
		return
	}
	delta := diff(nil, "", before.value, t.state.value)
	patch, err := json.Marshal(delta)
	switch {
	case err != nil || len(patch) > len(change.State):
		t.showState()
	case len(delta) > 0:
		t.send(event{Type: "STATE_DELTA", Delta: delta})
	}
}

// showState shows the whole state, if there is one.
func (t *translator) showState() {
	if t.state.known {
		t.send(event{Type: "STATE_SNAPSHOT", Snapshot: &t.state.value})
	}
}
