package agui

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
)

// get answers what asks for something.
func (h *handler) get(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	if strings.HasSuffix(r.URL.Path, "/capabilities") {
		return h.capabilities(w, r, c)
	}
	return h.watch(w, r, c)
}

// watch shows a run: the one that the path names, or the one of a thread that is executed.
func (h *handler) watch(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	thread, runID, named := runIn(r.URL.Path)
	var run serve.Run
	var exists bool
	var err error
	if named {
		run, exists, err = h.find(r, c, thread, runID)
	} else {
		thread = r.URL.Query().Get("threadId")
		run, exists, err = c.Executed(r.Context(), thread)
		runID = run.ID
	}
	after := parsePosition(r.Header.Get("Last-Event-ID"))
	rests := run.Status != runs.Ready && run.Status != runs.Running
	switch {
	case err != nil:
		return err
	case named && !exists:
		return serve.NewProblem(serve.NotFound, "the thread has no such run")
	case !exists || after.end && rests:
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	legacy := strings.HasPrefix(r.URL.Query().Get("protocolVersion"), "0.")
	return h.stream(w, r, c, run, shownTo{after: after}, h.translator(thread, runID, run, legacy))
}

// runIn is the run that a path names: …/{threadId}/runs/{runId}.
func runIn(path string) (thread, run string, ok bool) {
	parts := strings.Split(path, "/")
	if n := len(parts); n >= 3 && parts[n-2] == "runs" {
		return parts[n-3], parts[n-1], parts[n-3] != "" && parts[n-1] != ""
	}
	return "", "", false
}

// find returns the run that a client knows by a name: the name of a request that has started it, the server's own name,
// or the name of a request that has answered it, which is the last run of the thread.
func (h *handler) find(r *http.Request, c *serve.Caller, thread, runID string) (run serve.Run, exists bool, err error) {
	if run, exists, err = c.RunOfKey(r.Context(), keyOf(thread, runID)); exists || err != nil {
		return run, exists && run.Thread == thread, err
	}
	if run, err = c.Run(r.Context(), runID); err == nil {
		return run, run.Thread == thread, nil
	}
	return c.LastRun(r.Context(), thread)
}

// position is the place of a frame in a stream: the event of the run that it is made of, and which of the frames of that
// event it is. end: the stretch ends with it.
type position struct {
	event runs.Cursor
	frame int
	end   bool
}

// endMark stands behind the position of the last event of a stretch: who comes back with it has seen everything.
const endMark = ".end"

// String is the position as the ID of a frame: 3f.118.2.
func (p position) String() string {
	text := p.event.String() + "." + strconv.Itoa(p.frame)
	if p.end {
		text += endMark
	}
	return text
}

// parsePosition reads the ID of a frame. What is none is the beginning.
func parsePosition(id string) (p position) {
	id, p.end = strings.CutSuffix(id, endMark)
	at := strings.LastIndexByte(id, '.')
	if at < 0 {
		return position{}
	}
	cursor, err := runs.ParseCursor(id[:at])
	frame, err2 := strconv.Atoi(id[at+1:])
	if err != nil || err2 != nil {
		return position{}
	}
	p.event, p.frame = cursor, frame
	return p
}

// isBehind reports whether a position comes after another one.
func (p position) isBehind(other position) bool {
	if c := p.event.Compare(other.event); c != 0 {
		return c > 0
	}
	return p.frame > other.frame
}

// shownTo says which part of a run a client has been shown: what belongs to earlier requests, up to a token of behind,
// and what is not behind a position. page are the messages that it has, nil if they are not known.
type shownTo struct {
	behind uint64
	after  position
	page   *transcript
}

// stream writes the events of a run that the client has not been shown.
func (h *handler) stream(
	w http.ResponseWriter, r *http.Request, c *serve.Caller, run serve.Run, shown shownTo, t *translator,
) error {
	var out *serve.Frames
	var at position
	t.send = func(e event) {
		// Where the stream breaks off it is at no position. The messages of the client are of this request alone.
		if at.event == (runs.Cursor{}) || e.Type == "MESSAGES_SNAPSHOT" {
			out.SendJSON("", "", e)
			return
		}
		if at.frame++; at.isBehind(shown.after) {
			out.SendJSON(at.String(), "", e)
		}
	}
	return h.server.Stream(w, r, c, serve.StreamConfig{Run: run.ID, AfterToken: shown.behind, OnDisconnect: h.onDisconnect,
		Translate: func(e *runlog.Event, frames *serve.Frames) {
			out, at = frames, position{event: e.Cursor(), end: e.Type == runlog.RunEnd}
			if e.Token > shown.behind {
				t.page = shown.page
			}
			t.add(e)
		},
		Broken: func(p *serve.Problem, frames *serve.Frames) {
			out, at = frames, position{}
			t.broken(p.Title, string(p.Code))
		}})
}
