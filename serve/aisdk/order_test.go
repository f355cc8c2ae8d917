package aisdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve/internal/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader holds a stream to what pages hold it to, and folds it to what they show.
type reader struct {
	version int
	chunks  []chunk
	inStep  bool
	ended   bool
	// open are the parts that are being written, by kind and ID.
	open map[string]bool
	used map[string]bool
	// steps are the texts of each step, reset begins the last one again.
	steps   []string
	args    map[string]string
	states  map[string]string
	outputs map[string]string
}

// newReader is a page, which may know calls of the message that is continued.
func newReader(version int, known map[string]string) *reader {
	r := &reader{version: version, open: map[string]bool{}, used: map[string]bool{}, args: map[string]string{}, states: map[string]string{},
		outputs: map[string]string{}}
	maps.Copy(r.states, known)
	return r
}

// chunkTypes has the types of version 6; since7 has the types that came with version 7.
var (
	chunkTypes = []string{"start", "start-step", "text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end",
		"tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error", "tool-approval-request",
		"tool-output-available", "tool-output-error", "tool-output-denied", "source-url", "source-document", "file",
		"finish-step", "finish", "abort", "error", "message-metadata"}
	since7 = []string{"reset-step", "tool-approval-response", "reasoning-file", "custom", "steering-message"}
)

// add takes a chunk, and says what is wrong with it.
func (r *reader) add(c chunk) error {
	data, err := json.Marshal(c)
	wrong := func(what string) error { return fmt.Errorf("chunk %d, %s: %s", len(r.chunks), data, what) }
	if err != nil {
		return wrong(err.Error())
	}
	kind, _ := c["type"].(string)
	id, _ := c["id"].(string)
	call, _ := c["toolCallId"].(string)
	r.chunks = append(r.chunks, c)
	switch {
	case !slices.Contains(chunkTypes, kind) && !strings.HasPrefix(kind, "data-") && (r.version < 7 || !slices.Contains(since7, kind)):
		return wrong("the version has no such chunk")
	case (len(r.chunks) == 1) != (kind == "start"):
		return wrong("a message begins with start")
	case r.ended && kind != "finish":
		return wrong("the message has ended")
	}
	part, stage, _ := strings.Cut(kind, "-")
	switch kind {
	case "start-step":
		if r.inStep {
			return wrong("a step is open")
		}
		r.inStep = true
		r.steps = append(r.steps, "")
	case "finish-step", "reset-step":
		if !r.inStep || len(r.open) > 0 {
			return wrong(fmt.Sprintf("no step is open, or parts are: %v", r.open))
		}
		if r.inStep = kind == "reset-step"; r.inStep {
			r.steps[len(r.steps)-1] = ""
		}
	case "text-start", "reasoning-start", "text-delta", "reasoning-delta", "text-end", "reasoning-end":
		name := part + " " + id
		if !r.inStep || (stage == "start") == r.open[name] || stage == "start" && r.used[name] {
			return wrong("there is no step, or the part is not open, or is already")
		}
		r.open[name], r.used[name] = true, true
		if stage == "end" {
			delete(r.open, name)
		}
		if kind == "text-delta" {
			r.steps[len(r.steps)-1] += c["delta"].(string)
		}
	case "tool-input-start":
		if r.states[call] != "" {
			return wrong("the call is known")
		}
		r.states[call] = "input-streaming"
	case "tool-input-delta":
		if r.states[call] != "input-streaming" {
			return wrong("no input is being written")
		}
		r.args[call] += c["inputTextDelta"].(string)
	case "tool-input-available", "tool-input-error":
		if state := r.states[call]; state != "" && state != "input-streaming" {
			return wrong("the call is known")
		}
		r.states[call] = "input-available"
		if input, ok := c["input"].(json.RawMessage); ok {
			r.args[call] = string(input)
		}
	case "tool-approval-request":
		if r.states[call] != "input-available" {
			return wrong("the call is not made")
		}
		r.states[call] = "approval-requested"
	case "tool-output-available", "tool-output-error", "tool-output-denied":
		if state := r.states[call]; state != "input-available" && state != "approval-requested" {
			return wrong("the call is not made, or has a result: " + state)
		}
		if c["preliminary"] != true {
			r.states[call] = kind
		}
		r.outputs[call] = fmt.Sprint(c["output"], c["errorText"])
	case "finish", "abort", "error":
		if r.ended = true; r.inStep || len(r.open) > 0 {
			return wrong(fmt.Sprintf("a step is open: %v", r.open))
		}
	}
	return nil
}

// must reads chunks that are as they must be.
func (r *reader) must(t *testing.T) func(chunk) {
	return func(c chunk) {
		t.Helper()
		require.NoError(t, r.add(c))
	}
}

// read translates a record as the handler does, and checks what comes out. Events up to a token of behind are not shown.
func read(t *testing.T, version int, events []runlog.Event, behind uint64, known map[string]string) *reader {
	t.Helper()
	r := newReader(version, known)
	muted := false
	tr := newTranslator("r_1", "m1", Config{Version: version}, func(c chunk) {
		if !muted {
			require.NoError(t, r.add(c))
		}
	})
	for i := range events {
		muted = events[i].Token <= behind
		tr.add(&events[i])
	}
	require.True(t, r.ended, "the stream has no end")
	return r
}

const seeds = 160

// isOutermost reports whether an event is none of an agent that works for a call.
func isOutermost(inside map[runlog.SpanID]bool, e *runlog.Event) bool {
	if d, ok := e.Data.(*runlog.AgentStartData); inside[e.Parent] || ok && d.Call != "" {
		inside[e.Span] = true
	}
	if e.Type == runlog.ToolStart {
		defer func() { inside[e.Span] = true }()
	}
	return !inside[e.Span]
}

func TestTranslator_EveryRunIsShownWhole(t *testing.T) {
	for _, version := range []int{6, 7} {
		for seed := range uint64(seeds) {
			events := servetest.RandomRun(seed)
			r := read(t, version, events, 0, nil)
			shown := strings.Join(r.steps, "")
			inside := map[runlog.SpanID]bool{}
			for i := range events {
				e := &events[i]
				outermost := isOutermost(inside, e)
				d, ok := e.Data.(*runlog.ModelEndData)
				if !ok || d.Again {
					continue
				}
				for _, word := range strings.Fields(d.Message.Chat.Content) {
					want := 0
					if outermost {
						want = 1
					}
					require.Equal(t, want, strings.Count(shown, word+" "), "seed %d: %s", seed, word)
				}
				for _, c := range d.Message.Chat.ToolCalls {
					if outermost {
						require.Equal(t, c.Function.Arguments, r.args[c.ID], "seed %d", seed)
						require.Contains(t, r.states[c.ID], "tool-output", "seed %d", seed)
					}
				}
			}
		}
	}
}

func TestTranslator_ARunThatIsStoppedAnywhereEndsInOrder(t *testing.T) {
	for _, version := range []int{6, 7} {
		for seed := range uint64(seeds / 8) {
			events := servetest.RandomRun(seed)
			for n := 1; n < len(events); n++ {
				read(t, version, servetest.Cancelled(events, n), 0, nil)
			}
		}
	}
}

func TestTranslator_AStreamThatBreaksAnywhereEndsInOrder(t *testing.T) {
	for seed := range uint64(seeds / 8) {
		events := servetest.RandomRun(seed)
		for n := 0; n < len(events); n++ {
			r := newReader(6, nil)
			tr := newTranslator("r_1", "m1", Config{Version: 6}, r.must(t))
			for i := range events[:n] {
				tr.add(&events[i])
			}
			tr.broken("the server shuts down")
			require.True(t, r.ended)
		}
	}
}

func TestTranslator_ARunThatAnotherProcessMakesAgainEndsInOrder(t *testing.T) {
	for _, version := range []int{6, 7} {
		for seed := range uint64(seeds / 8) {
			events := servetest.RandomRun(seed)
			for n := 1; n < len(events); n += 3 {
				read(t, version, servetest.Restarted(events, events, n), 0, nil)
			}
		}
	}
}

func TestTranslator_ARunThatWaitsAnywhereContinuesWithWhatIsNew(t *testing.T) {
	waited := 0
	for seed := range uint64(seeds) {
		events := servetest.RandomRun(seed)
		for n := 1; n < len(events); n += 5 {
			all, waits := servetest.Interrupted(events, n)
			if !waits {
				continue
			}
			waited++
			end := slices.IndexFunc(all, func(e runlog.Event) bool { return e.Token == 2 })
			first := read(t, 6, all[:end], 0, nil)
			var asked []string
			for _, c := range first.chunks {
				if c["type"] == "tool-approval-request" {
					asked = append(asked, c["toolCallId"].(string))
				}
			}
			second := read(t, 6, all, 1, first.states)
			for _, call := range asked {
				require.Contains(t, second.states[call], "tool-output")
			}
		}
	}
	require.Greater(t, waited, 50)
}
