package serve

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// pointsStore is a Front's answer for a run that waits for some points.
type pointsStore struct {
	executor
	info     runs.Info
	answered []runs.Reply
}

func (p *pointsStore) Inspect(context.Context, string) (runs.Info, bool, error) {
	return p.info, true, nil
}

func (p *pointsStore) Reply(_ context.Context, _ string, answers ...runs.Reply) error {
	p.answered = answers
	return nil
}

func (*pointsStore) Events(context.Context, string, runs.Cursor) iter.Seq2[runlog.Event, error] {
	return func(func(runlog.Event, error) bool) {}
}

// waitingFor is a caller whose run waits for some points.
func waitingFor(points ...runs.Question) (*Caller, *pointsStore) {
	store := &pointsStore{info: runs.Info{ID: "r", Status: runs.Waiting, Waiting: points,
		Tags: map[string]string{tagOwner: "ana"}}}
	return &Caller{server: &Server{runs: store, draining: context.Background()}, principal: Principal{ID: "ana"}}, store
}

// All questions are answered that have to be, and each in its way: not one that has expired, has an answer, is for others
// or is none of clients.
// Rule serving/SV7.
func TestCaller_AnswersWhatIsAsked(t *testing.T) {
	plain := func(id string) runs.Question { return runs.Question{ID: id, Kind: runs.KindQuestion} }
	outcome := runs.Question{ID: "o", Kind: runs.KindOutcome}
	optional, expired, answered, timer, others := plain("b"), plain("b"), plain("b"), plain("b"), plain("b")
	optional.Optional, expired.Expires, answered.Answered = true, time.Now().Add(-time.Second), true
	timer.Kind, others.For = runs.KindTimer, []string{"bob"}
	for _, c := range []struct {
		points  []runs.Question
		answers string
		partial bool
		want    Code
		given   int
	}{
		{points: []runs.Question{plain("a"), plain("b")}, answers: `{"a":1,"b":2}`, given: 2},
		{points: []runs.Question{plain("a"), plain("b")}, answers: `{"a":1}`, want: BadRequest},
		{points: []runs.Question{plain("a"), plain("b")}, answers: `{"a":1}`, partial: true, given: 1},
		{points: []runs.Question{plain("a"), optional}, answers: `{"a":1}`, given: 1},
		{points: []runs.Question{plain("a"), answered}, answers: `{"a":1}`, given: 1},
		{points: []runs.Question{plain("a"), timer}, answers: `{"a":1}`, given: 1},
		{points: []runs.Question{plain("a"), others}, answers: `{"a":1}`, given: 1},
		{points: []runs.Question{plain("a"), expired}, answers: `{"a":1,"b":2}`, want: Expired},
		{points: []runs.Question{plain("a"), answered}, answers: `{"a":1,"b":2}`, want: AlreadyAnswered},
		{points: []runs.Question{plain("a"), timer}, answers: `{"a":1,"b":2}`, want: NotFound},
		{points: []runs.Question{plain("a"), others}, answers: `{"a":1,"b":2}`, want: Forbidden},
		{points: []runs.Question{plain("a")}, answers: `{}`, want: BadRequest},
		{points: []runs.Question{outcome}, answers: `{"o":{"rerun":true}}`, given: 1},
		{points: []runs.Question{outcome}, answers: `{"o":{"result":""}}`, given: 1},
		{points: []runs.Question{outcome}, answers: `{"o":{"error":"no"}}`, given: 1},
		{points: []runs.Question{outcome}, answers: `{"o":{"rerun":false}}`, want: BadRequest},
		{points: []runs.Question{outcome}, answers: `{"o":{"rerun":true,"result":"x"}}`, want: BadRequest},
		{points: []runs.Question{outcome}, answers: `{"o":null}`, want: BadRequest},
		{points: []runs.Question{outcome}, answers: `{"o":true}`, want: BadRequest},
	} {
		caller, store := waitingFor(c.points...)
		var answers map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(c.answers), &answers))
		_, err := caller.Reply(t.Context(), "r", answers, c.partial)
		if c.want == "" {
			require.NoError(t, err, c.answers)
			require.Len(t, store.answered, c.given, c.answers)
			continue
		}
		require.Error(t, err, c.answers)
		require.Equal(t, c.want, ProblemOf(err).Code, "%s: %v", c.answers, err)
		require.Empty(t, store.answered, "all or none")
	}
}

// Another message in a thread that waits drops what it waits for, where the server is to do that.
// Rules serving/SV2, serving/SV20.
func TestServer_AbandonsQuestionsForANewMessage(t *testing.T) {
	var paid []string
	d := newDesk(t, Config{StopWaiting: true}, agentOf(t, pay(t, &paid),
		adktest.Calls(adktest.Call("pay", `{"amount":7}`)), adktest.Says("Hello.")))
	run := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Pay!","thread":"t"}`))[0].Run
	id := d.call(200, "GET", "/questions", "")["questions"].([]any)[0].(map[string]any)["id"].(string)
	next := d.call(201, "POST", "/agents/desk/runs", `{"input":"Hello?","thread":"t"}`, "Prefer", "wait=10")
	require.Equal(t, "done", next["status"])
	require.Equal(t, "stopped", d.call(200, "GET", "/runs/"+run, "")["status"])
	require.Empty(t, d.call(200, "GET", "/questions", "")["questions"])
	require.Equal(t, "already_answered",
		d.refused(409, "POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":true}}}`))
	require.Empty(t, paid)
}

// A thread takes so many messages that wait, and no more.
// Rule serving/SV2.
func TestServer_QueuesSoManyMessagesOfAThread(t *testing.T) {
	started := make(chan struct{}, 1)
	d := newDesk(t, Config{Busy: QueueBusy, DrainTimeout: -1}, blocks(t, started, nil))
	for range queueLength {
		d.call(201, "POST", "/agents/desk/runs", `{"input":"x","thread":"t"}`)
	}
	require.Equal(t, "too_many", d.refused(429, "POST", "/agents/desk/runs", `{"input":"x","thread":"t"}`))
	d.call(201, "POST", "/agents/desk/runs", `{"input":"x","thread":"u"}`)
	require.Len(t, d.call(200, "GET", "/runs?thread=t&limit=100", "")["runs"], queueLength)
	require.Len(t, d.call(200, "GET", "/runs?agent=nobody", "")["runs"], 0)
	page := d.call(200, "GET", "/runs?limit=5", "")
	require.Len(t, page["runs"], 5)
	require.Len(t, d.call(200, "GET", "/runs?limit=5&before="+page["next"].(string), "")["runs"], 4)
}

// A run that does not come to a safe point is stopped at once when its time is over.
func TestServer_StopsARunAtOnceWhenItsTimeoutIsOver(t *testing.T) {
	started := make(chan struct{}, 1)
	d := newDesk(t, Config{}, blocks(t, started, nil))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)["id"].(string)
	<-started
	d.call(202, "POST", "/runs/"+run+"/stop", `{"timeout_ms":1,"reason":"enough"}`)
	require.Equal(t, "stopped", d.call(200, "GET", "/runs/"+run, "", "Prefer", "wait=20")["status"])
	for _, body := range []string{`{"timeout_ms":-1}`, `{"timeout_ms":3600001}`, `{"reason":"` + strings.Repeat("x", 501) + `"}`} {
		require.Equal(t, "bad_request", d.refused(400, "POST", "/runs/"+run+"/stop", body))
	}
}

// deadWriter is a client that takes nothing: writes fail when their deadline is over.
type deadWriter struct {
	http.ResponseWriter
	deadline time.Time
	frames   chan string
	stuck    bool
}

func (w *deadWriter) Header() http.Header { return http.Header{} }
func (w *deadWriter) WriteHeader(int)     {}

func (w *deadWriter) SetWriteDeadline(at time.Time) error {
	w.deadline = at
	return nil
}

func (w *deadWriter) Write(data []byte) (int, error) {
	if w.stuck {
		time.Sleep(time.Until(w.deadline))
		return 0, http.ErrHandlerTimeout
	}
	w.frames <- string(data)
	return len(data), nil
}

func (w *deadWriter) FlushError() error { return nil }

// A stream shows that it is alive, and a client that takes nothing is dropped after 30 seconds.
// Rules serving/SV8, serving/SV9.
func TestStream_KeepsAliveAndDropsWhoTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadWriter{frames: make(chan string, 10)}
		s := newStream(w, &largeFrames{})
		began := time.Now()
		s.begin()
		require.Equal(t, ": weft\nretry: 2000\n\n", <-w.frames)
		require.Equal(t, ": keep-alive\n\n", <-w.frames)
		require.Equal(t, keepAliveEvery, time.Since(began))
		require.True(t, s.written(false))
		s.alive.Stop() // it would wait for the write with a mutex, which stops the clock of the test
		w.stuck = true
		began = time.Now()
		(&Frames{out: s, at: &runlog.Event{}}).Send("", "x", []byte("{}"))
		require.Equal(t, writeWithin, time.Since(began))
		require.False(t, s.written(false), "the client is gone")
		s.end()
	})
}

// A ticket expires after a minute.
// Rule serving/SV12.
func TestTickets_Expire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tickets := newTickets(nil)
		text, err := tickets.make(Principal{ID: "ana", Scopes: []string{"x"}}, "r")
		require.NoError(t, err)
		late, err := tickets.make(Principal{ID: "ana"}, "r")
		require.NoError(t, err)
		p, err := tickets.take(text, "r")
		require.NoError(t, err)
		require.Equal(t, Principal{ID: "ana", Scopes: []string{"x"}}, p)
		_, err = tickets.take(text, "r")
		require.Error(t, err)
		time.Sleep(ticketTime + time.Millisecond)
		_, err = tickets.take(late, "r")
		require.Error(t, err)
	})
}

// Only an approval of exactly this form approves, however it is written; and whatever is read is read by others alike.
func FuzzAnswerValue_Approves(f *testing.F) {
	for _, seed := range append(malformedApprovals, `{"approve":true}`, `{"approve":false,"text":"x"}`,
		`{"approve":true,"arguments":{}}`) {
		f.Add([]byte(seed))
	}
	info := json.RawMessage(`{"tool":"pay","arguments":"{}","hash":"h"}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []runs.Kind{runs.KindApproval, runs.KindOutcome, runs.KindClientTool, runs.KindQuestion} {
			value, err := ReplyValue(runs.Question{ID: "p", Kind: kind, Info: info}, data)
			d, decided := value.(*approval.Decision)
			if err != nil || !decided {
				continue
			}
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(data, &members))
			approves := d.Verdict != runs.Rejected
			require.Equal(t, strings.TrimSpace(string(members["approve"])) == "true", approves, "%q", data)
		}
	})
}

// Whatever a body of replies is, it is refused or read as it says, and an answer goes to its own question.
func FuzzServer_ResumeBody(f *testing.F) {
	for _, seed := range []string{`{"replies":{"a":1}}`, `{"replies":{"a":1},"Replies":{"b":2}}`,
		`{"replies":{"a":1,"a":2},"partial":true}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		caller, store := waitingFor(runs.Question{ID: "a", Kind: runs.KindQuestion},
			runs.Question{ID: "b", Kind: runs.KindQuestion})
		caller.server.settings.limits = Limits{}.withDefaults()
		var body struct {
			Replies map[string]json.RawMessage `json:"replies"`
			Partial bool                       `json:"partial"`
		}
		if err := caller.server.DecodeJSON(data, &body); err != nil {
			require.Less(t, ProblemOf(err).Status(), 500)
			return
		}
		members, err := Members(data)
		if err == nil && len(members["replies"]) == 0 {
			require.Empty(t, body.Replies, "%q", data)
		}
		if _, err := caller.Reply(t.Context(), "r", body.Replies, body.Partial); err != nil {
			require.Less(t, ProblemOf(err).Status(), 500, "%v", err)
			require.Empty(t, store.answered)
			return
		}
		require.Len(t, store.answered, len(body.Replies))
	})
}

func FuzzTickets_TakeOnlyTheirOwn(f *testing.F) {
	tickets := newTickets([]byte("0123456789abcdef"))
	good, err := tickets.make(Principal{ID: "ana"}, "other")
	require.NoError(f, err)
	for _, seed := range []string{"", ".", "a.b", good, good + "x", strings.ToUpper(good)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := tickets.take(text, "r")
		require.Error(t, err)
	})
}
