package agui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve/internal/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader holds a stream to what clients of the protocol hold it to, and folds it to messages.
type reader struct {
	events []event
	// open are the beginnings that have no end yet: "text r.1", with the sub-agent that they are in.
	open map[string]string
	// used are the beginnings of all time, agents the sub-agents of messages.
	used    map[string]bool
	agents  map[string]string
	ended   bool
	texts   map[string]string
	order   []string
	args    map[string]string
	results map[string][]string
	void    map[string]bool
}

func newReader() *reader {
	return &reader{open: map[string]string{}, used: map[string]bool{}, agents: map[string]string{}, texts: map[string]string{}, args: map[string]string{},
		results: map[string][]string{}, void: map[string]bool{}}
}

// begins and ends are the pairs of the protocol, and what they are pairs of.
var (
	begins = map[string]string{"TEXT_MESSAGE_START": "text", "REASONING_START": "thought", "REASONING_MESSAGE_START": "thinking",
		"TOOL_CALL_START": "call", "STEP_STARTED": "step", "SUBAGENT_STARTED": "agent"}
	ends = map[string]string{"TEXT_MESSAGE_END": "text", "REASONING_END": "thought", "REASONING_MESSAGE_END": "thinking",
		"TOOL_CALL_END": "call", "STEP_FINISHED": "step", "SUBAGENT_FINISHED": "agent", "SUBAGENT_ERROR": "agent"}
	contents = map[string]string{"TEXT_MESSAGE_CONTENT": "text", "REASONING_MESSAGE_CONTENT": "thinking", "TOOL_CALL_ARGS": "call"}
)

func nameOf(kind string, e event) string {
	switch kind {
	case "call":
		return kind + " " + e.ToolCallID
	case "step":
		return kind + " " + e.StepName
	case "agent":
		return kind + " " + e.SubagentRunID
	}
	return kind + " " + e.MessageID
}

// add takes an event, and says what is wrong with it.
func (r *reader) add(e event) error {
	wrong := func(what string) error {
		data, _ := json.Marshal(e)
		return fmt.Errorf("event %d, %s: %s", len(r.events), data, what)
	}
	r.events = append(r.events, e)
	if data, err := json.Marshal(e); err != nil || e.Content == nil && e.Value == nil && strings.Contains(string(data), "null") {
		return wrong("it has members that are null")
	}
	switch {
	case (len(r.events) == 1) != (e.Type == "RUN_STARTED"):
		return wrong("a stream begins with RUN_STARTED")
	case r.ended:
		return wrong("the run has ended")
	}
	if kind := begins[e.Type]; kind != "" {
		name := nameOf(kind, e)
		if r.used[name] {
			return wrong("it began before")
		}
		r.used[name] = true
		r.open[name] = e.SubagentRunID
		if kind == "text" {
			r.order = append(r.order, e.MessageID)
		}
		if in, known := r.agents[e.ParentMessageID]; kind == "call" && known && in != e.SubagentRunID {
			return wrong("its message is of another agent")
		}
		r.agents[e.MessageID] = e.SubagentRunID
		if kind == "agent" && e.ParentSubagent != "" {
			if _, open := r.open["agent "+e.ParentSubagent]; !open {
				return wrong("the agent around it is not open")
			}
		}
	}
	if kind := ends[e.Type] + contents[e.Type]; kind != "" {
		in, open := r.open[nameOf(kind, e)]
		switch {
		case !open:
			return wrong("it is not open")
		case in != e.SubagentRunID:
			return wrong("it began in another agent")
		case contents[e.Type] != "" && e.Delta == "":
			return wrong("it is empty")
		}
		if ends[e.Type] != "" {
			delete(r.open, nameOf(kind, e))
		}
	}
	if _, open := r.open["agent "+e.SubagentRunID]; e.SubagentRunID != "" && !open && ends[e.Type] != "agent" {
		return wrong("its agent is not open")
	}
	if ends[e.Type] == "agent" && slices.Contains(slices.Collect(values(r.open)), e.SubagentRunID) {
		return wrong(fmt.Sprintf("something is open in it: %v", r.open))
	}
	switch e.Type {
	case "TEXT_MESSAGE_CONTENT":
		r.texts[e.MessageID] += e.Delta.(string)
	case "TOOL_CALL_ARGS":
		r.args[e.ToolCallID] += e.Delta.(string)
	case "TOOL_CALL_RESULT":
		r.results[e.ToolCallID] = append(r.results[e.ToolCallID], fmt.Sprint(e.Content))
	case "CUSTOM":
		if value, ok := e.Value.(map[string]string); ok && e.Name == "weft.retracted" {
			r.void[value["messageId"]] = true
		}
	case "RUN_FINISHED", "RUN_ERROR":
		if r.ended = true; len(r.open) > 0 {
			return wrong(fmt.Sprintf("something is open: %v", r.open))
		}
		if e.Type == "RUN_ERROR" && e.Message == "" {
			return wrong("it has no message")
		}
	}
	return nil
}

func values(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name, in := range m {
			if !strings.HasPrefix(name, "agent ") && !yield(in) {
				return
			}
		}
	}
}

// must reads events that are as they must be.
func (r *reader) must(t *testing.T) func(event) {
	return func(e event) {
		t.Helper()
		require.NoError(t, r.add(e))
	}
}

// read translates a record as the handler does, and checks what comes out. Events up to a token of behind are not shown.
func read(t *testing.T, conf Config, legacy bool, events []runlog.Event, behind uint64) *reader {
	t.Helper()
	r := newReader()
	muted := false
	tr := newTranslator("t1", "run", conf, legacy, func(e event) {
		if !muted {
			require.NoError(t, r.add(e))
		}
	})
	for i := range events {
		e := &events[i]
		if muted = e.Token <= behind; !muted {
			tr.begin()
		}
		tr.add(e)
	}
	require.True(t, r.ended, "the stream has no end")
	return r
}

// shown are the texts that count, in the order of their beginnings.
func (r *reader) shown() (texts []string) {
	for _, id := range r.order {
		if !r.void[id] {
			texts = append(texts, r.texts[id])
		}
	}
	return texts
}

const seeds = 160

func TestTranslator_EveryRunIsShownWhole(t *testing.T) {
	for seed := range uint64(seeds) {
		events := servetest.RandomRun(seed)
		r := read(t, Config{}, false, events, 0)
		shown := strings.Join(r.shown(), "")
		for _, e := range events {
			switch d := e.Data.(type) {
			case *runlog.ModelEndData:
				if d.Again {
					continue
				}
				for _, word := range strings.Fields(d.Message.Chat.Content) {
					require.Equal(t, 1, strings.Count(shown, word+" "), "seed %d: %s", seed, word)
				}
				for _, c := range d.Message.Chat.ToolCalls {
					require.Equal(t, c.Function.Arguments, r.args[c.ID], "seed %d", seed)
				}
			case *runlog.ToolEndData:
				require.Equal(t, []string{d.Parts[0].Text}, r.results[d.Call], "seed %d", seed)
			}
		}
	}
}

func TestTranslator_ARunThatIsStoppedAnywhereEndsInOrder(t *testing.T) {
	for seed := range uint64(seeds / 8) {
		events := servetest.RandomRun(seed)
		for n := 1; n < len(events); n++ {
			for _, conf := range []Config{{}, {HideReasoning: true, ShowSubagents: true}} {
				for _, legacy := range []bool{false, true} {
					read(t, conf, legacy, servetest.Cancelled(events, n), 0)
				}
			}
		}
	}
}

func TestTranslator_AStreamThatBreaksAnywhereEndsInOrder(t *testing.T) {
	for seed := range uint64(seeds / 8) {
		events := servetest.RandomRun(seed)
		for n := 1; n < len(events); n++ {
			r := newReader()
			tr := newTranslator("t1", "run", Config{}, false, r.must(t))
			tr.begin()
			for i := range events[:n] {
				tr.add(&events[i])
			}
			tr.broken("the server shuts down", "shutting_down")
			require.True(t, r.ended)
		}
	}
}

func TestTranslator_ARunThatAnotherProcessMakesAgainIsShownOnce(t *testing.T) {
	for seed := range uint64(seeds / 8) {
		events := servetest.RandomRun(seed)
		whole := read(t, Config{}, false, events, 0).shown()
		for n := 1; n < len(events); n += 3 {
			r := read(t, Config{}, false, servetest.Restarted(events, events, n), 0)
			require.Equal(t, whole, r.shown(), "seed %d, cut at %d", seed, n)
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
			first := read(t, Config{}, false, all[:end], 0)
			asked := first.events[len(first.events)-1].Outcome
			require.Equal(t, "interrupt", asked.Type)
			second := read(t, Config{}, false, all, 1)
			for _, i := range asked.Interrupts {
				require.Empty(t, first.results[i.ToolCallID])
				require.Len(t, second.results[i.ToolCallID], 1)
				require.NotContains(t, second.used, "call "+i.ToolCallID, "the call is shown a second time")
			}
		}
	}
	require.Greater(t, waited, 50)
}
