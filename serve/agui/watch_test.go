package agui

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve"
)

// frame is a frame of a stream.
type frame struct{ id, data string }

// frames reads a stream, and returns the status of the answer.
func (d *desk) frames(method, path, lastID, body string) (status int, frames []frame) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	require.NoError(d.t, err)
	r.Header.Set("Content-Type", "application/json")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(d.t, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<22)
	id := ""
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = text
		} else if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			frames, id = append(frames, frame{id, text}), ""
		}
	}
	require.NoError(d.t, lines.Err())
	return answer.StatusCode, frames
}

// datas are the events of frames, without what a stream of a POST has on its own.
func datas(frames []frame) (all []string) {
	for _, f := range frames {
		if !strings.Contains(f.data, `"MESSAGES_SNAPSHOT"`) {
			all = append(all, f.data)
		}
	}
	return all
}

// Wherever a connection is cut, what was received and what follows behind its last ID are the whole.
// Rules serving/AG6, serving/SV11.
func TestWatch_ContinuesBehindAnyFrame(t *testing.T) {
	look := adktest.NewTool("look", adktest.Says("sunny").Repeated())
	d := newDesk(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(look)},
		adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`), adktest.Call("look", `{"a":2}`)), adktest.Streams("It is ", "sunny."))
	status, posted := d.frames("POST", "", "", body("r1", user("u1", "Hi"), ""))
	require.Equal(t, 200, status)
	status, watched := d.frames("GET", "/t1/runs/r1", "", "")
	require.Equal(t, 200, status)
	require.Equal(t, posted, watched, "IDs of messages and positions are those of the POST")
	for i, f := range posted[:len(posted)-1] {
		status, rest := d.frames("GET", "/t1/runs/r1", f.id, "")
		require.Equal(t, 200, status)
		require.Equal(t, posted, append(posted[:i+1:i+1], rest...), "cut at %d", i)
	}
	status, _ = d.frames("GET", "/t1/runs/r1", posted[len(posted)-1].id, "")
	require.Equal(t, 204, status, "who has seen the end comes not again")
	status, _ = d.frames("GET", "/other/runs/r1", "", "")
	require.Equal(t, 404, status)
	status, old := d.frames("GET", "/t1/runs/r1?protocolVersion=0.9", "", "")
	require.Equal(t, 200, status)
	require.NotContains(t, old[0].data, "protocolVersion")
}

// A stream of a run that has waited, shown again from its beginning, is one of several stretches, with the same IDs, also
// by another process.
func TestWatch_ShowsARunThatHasWaited(t *testing.T) {
	dir := t.TempDir()
	stored := func() serve.Config {
		runs, err := checkpoint.NewFileStore(dir + "/runs")
		require.NoError(t, err)
		events, err := runlog.NewFileStore(dir + "/events")
		require.NoError(t, err)
		return serve.Config{Store: runs, Events: events}
	}
	agent, _ := guarded(t)
	d := newDesk(t, Config{}, stored(), agent, adktest.Streams("Wait.").Calling(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done."))
	_, first := d.frames("POST", "", "", hello("Pay."))
	var asked event
	require.NoError(t, json.Unmarshal([]byte(first[len(first)-1].data), &asked))
	_, second := d.frames("POST", "", "", resume(`{"interruptId":"`+asked.Outcome.Interrupts[0].ID+`","status":"resolved","payload":{"approved":true}}`))
	want := append(datas(first), strings.ReplaceAll(strings.Join(datas(second), "\n"), `"r2"`, `"r1"`))
	for _, f := range first[:len(first)-1] {
		_, rest := d.frames("GET", "/t1/runs/r1", f.id, "")
		require.Contains(t, strings.Join(datas(rest), "\n"), first[len(first)-1].data, "cut behind %q", f.id)
	}
	_, watched := d.frames("GET", "/t1/runs/r1", "", "")
	require.Equal(t, strings.Join(want, "\n"), strings.Join(datas(watched), "\n"))
	require.NoError(t, d.srv.Shutdown(t.Context()))

	agent, _ = guarded(t)
	after := newDesk(t, Config{}, stored(), agent)
	_, again := after.frames("GET", "/t1/runs/r1", "", "")
	require.Equal(t, strings.Join(want, "\n"), strings.Join(datas(again), "\n"))
	_, again = after.frames("GET", "/t1/runs/r2", "", "")
	require.Len(t, datas(again), len(datas(watched)), "a request that has answered is one of the run, too")
}

// The messages of a snapshot are those that the client has folded from what it was sent.
// Rule serving/AG7.
func TestTranslator_ShowsAllMessagesBeforeItAsks(t *testing.T) {
	agent, _ := guarded(t)
	d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Streams("Wait.").Calling(adktest.Call("pay", `{"n":1}`)))
	r := d.talk(hello("Pay."))
	at := len(r.events) - 2
	require.Equal(t, "MESSAGES_SNAPSHOT", r.events[at].Type)
	data, err := json.Marshal(r.events[at].Messages)
	require.NoError(t, err)
	require.JSONEq(t, `[{"id":"u1","role":"user","content":"Pay."},{"id":"`+r.order[0]+`","role":"assistant","content":"Wait.",
		"toolCalls":[{"id":"call_1","type":"function","function":{"name":"pay","arguments":"{\"n\":1}"}}]}]`, string(data))
}

// Rule serving/AG7.
func TestTranslator_LeavesOutWhatDoesNotCountOfAllMessages(t *testing.T) {
	retry := adk.ChatModelAgentConfig{ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1}}
	d := newDesk(t, Config{}, serve.Config{}, retry, adktest.Streams("Half").ThenFails(errCut), adktest.Says("Whole."))
	r := d.talk(hello("Hi"))
	var snapshots []string
	for _, e := range r.events {
		if e.Type == "MESSAGES_SNAPSHOT" {
			data, err := json.Marshal(e.Messages)
			require.NoError(t, err)
			snapshots = append(snapshots, string(data))
		}
	}
	require.Equal(t, []string{`[{"id":"u1","role":"user","content":"Hi"}]`}, snapshots)
	long := `{"id":"x","role":"activity","content":"` + strings.Repeat("x", maxTranscript) + `"}`
	d = newDesk(t, Config{}, serve.Config{}, retry, adktest.Streams("Half").ThenFails(errCut), adktest.Says("Whole."))
	r = d.talk(body("r1", long+","+user("u1", "Hi"), ""))
	for _, e := range r.events {
		require.NotEqual(t, "MESSAGES_SNAPSHOT", e.Type, "what is long is not kept for a client")
	}
}
