package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weftgo/weft/runs"
)

// Headers that the server understands, and that jetstream has no name for.
const (
	fenceHeader    = "Nats-Expected-Last-Subject-Sequence"
	fenceForHeader = "Nats-Expected-Last-Subject-Sequence-Subject"
	rollupHeader   = "Nats-Rollup"
	ttlHeader      = "Nats-TTL"
	batchHeader    = "Nats-Batch-Id"
	batchSeqHeader = "Nats-Batch-Sequence"
	commitHeader   = "Nats-Batch-Commit"
)

// Bounds of one request.
const (
	mostMessages = 1000    // that are asked for, or published together
	mostBytes    = 8 << 20 // that are asked for
)

// errChanged says that there is a later message than the one that was read: nothing was written.
var errChanged = errors.New("the run was changed meanwhile")

// wire asks the server for messages of a stream and publishes to it. It is safe for concurrent use.
type wire struct {
	conn   *nats.Conn
	stream string
	inbox  string
	sub    *nats.Subscription
	// heardStops is the subscription to requests to stop runs, nil until the store has it.
	heardStops *nats.Subscription
	// answerIn limits the time that an answer takes.
	answerIn time.Duration
	// isReplicated says that any of several servers may answer, also one that lags.
	isReplicated bool

	mu sync.Mutex // guards the fields below; no other lock is taken while it is held
	// asked are the requests that wait for replies, by the last token of their inbox.
	asked map[string]chan *nats.Msg
	last  uint64
	// seen is the greatest sequence that the server has acknowledged or delivered. A replica that has not come to it yet
	// is asked again.
	seen uint64
}

// message is one that the stream has.
type message struct {
	subject string
	seq     uint64
	at      time.Time
	header  nats.Header
	data    []byte
}

func newWire(conn *nats.Conn, stream string, answerIn time.Duration) (*wire, error) {
	w := &wire{conn: conn, stream: stream, inbox: conn.NewInbox(), answerIn: answerIn, asked: map[string]chan *nats.Msg{}}
	var err error
	if w.sub, err = conn.Subscribe(w.inbox+".*", w.replied); err != nil {
		return nil, err
	}
	return w, w.sub.SetPendingLimits(-1, -1) // no more is under way than was asked for
}

// close ends the subscriptions. A call that waits for a reply waits until its context ends.
func (w *wire) close() error {
	err := w.sub.Unsubscribe()
	if w.heardStops != nil {
		err = errors.Join(err, w.heardStops.Unsubscribe())
	}
	if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrBadSubscription) { // it has ended
		return nil
	}
	return err
}

// replied hands a reply to the call that asked. It does not block: the call has room for all replies that it asks for.
func (w *wire) replied(m *nats.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if replies := w.asked[strings.TrimPrefix(m.Subject, w.inbox+".")]; replies != nil {
		select {
		case replies <- m:
		default:
		}
	}
}

// query is a request for messages, as the server reads it.
type query struct {
	Last  []string `json:"multi_last,omitempty"`
	Next  string   `json:"next_by_subj,omitempty"`
	Seq   uint64   `json:"seq,omitempty"`
	Batch int      `json:"batch,omitempty"`
	Bytes int      `json:"max_bytes,omitempty"`
}

// lastOf returns the last message of each subject that matches one of the filters, of one moment. There must be no more
// than 1000.
func (w *wire) lastOf(ctx context.Context, filters ...string) ([]message, error) {
	ctx, cancel := context.WithTimeout(ctx, w.answerIn)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		found, _, err := w.ask(ctx, query{Last: filters})
		if err != nil || len(found) > 0 || !w.isReplicated {
			return found, err
		}
		last := uint64(0) // a replica that lags does not say so where it has nothing
		for _, filter := range filters {
			seq, err := w.onLeader(ctx, leaderQuery{Last: filter})
			if err != nil {
				return nil, err
			}
			last = max(last, seq)
		}
		if last == 0 {
			return nil, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// next returns messages whose subject matches a filter, in order, from a sequence on: at most so many, and whether
// there are more.
func (w *wire) next(ctx context.Context, filter string, from uint64, most int) (found []message, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.answerIn)
	defer cancel()
	return w.ask(ctx, query{Next: filter, Seq: max(from, 1), Batch: min(most, mostMessages), Bytes: mostBytes})
}

// nextOfAll is next, and knows of every message that was acknowledged before, by whatever server.
func (w *wire) nextOfAll(
	ctx context.Context, filter string, from uint64, most int,
) (found []message, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.answerIn)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		found, more, err = w.next(ctx, filter, from, most)
		if err != nil || more || !w.isReplicated {
			return found, more, err
		}
		behind := from
		if len(found) > 0 {
			behind = found[len(found)-1].seq + 1
		}
		missing, err := w.onLeader(ctx, leaderQuery{Next: filter, Seq: behind})
		if err != nil || missing == 0 || len(found) > 0 {
			return found, missing != 0, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, false, err
		}
	}
}

// ask sends a query and collects what is found.
func (w *wire) ask(ctx context.Context, q query) (found []message, more bool, err error) {
	request, err := json.Marshal(q)
	if err != nil {
		return nil, false, err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		var upTo uint64
		found, more, upTo, err = w.askOnce(ctx, request)
		if len(found) > 0 {
			w.saw(found[len(found)-1].seq)
		}
		if err != nil || upTo == 0 || upTo >= w.seenUpTo() {
			return found, more, err
		}
		if err := sleep(ctx, pause); err != nil { // the replica lags behind what this process knows
			return nil, false, err
		}
	}
}

// askOnce sends a query. upTo is the last sequence that the server had then, 0 if it did not say so.
func (w *wire) askOnce(ctx context.Context, request []byte) (found []message, more bool, upTo uint64, err error) {
	replies := make(chan *nats.Msg, mostMessages+1)
	w.mu.Lock()
	w.last++
	token := strconv.FormatUint(w.last, 36)
	w.asked[token] = replies
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.asked, token)
	}()
	err = w.conn.PublishRequest("$JS.API.DIRECT.GET."+w.stream, w.inbox+"."+token, request)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil, false, 0, ctx.Err()
		case reply := <-replies:
			switch status := reply.Header.Get("Status"); status {
			case "":
				var m message
				if m, err = readMessage(reply); err == nil {
					found = append(found, m)
				}
			case "204":
				upTo, _ = strconv.ParseUint(reply.Header.Get("Nats-UpTo-Sequence"), 10, 64)
				return found, reply.Header.Get("Nats-Num-Pending") != "0", upTo, nil
			case "404":
				return nil, false, 0, nil
			case "503":
				return nil, false, 0, nats.ErrNoResponders
			default:
				return nil, false, 0, fmt.Errorf("the server answered %s %s", status, reply.Header.Get("Description"))
			}
		}
	}
	return nil, false, 0, err
}

func readMessage(reply *nats.Msg) (m message, err error) {
	m = message{subject: reply.Header.Get("Nats-Subject"), header: reply.Header, data: reply.Data}
	if m.seq, err = strconv.ParseUint(reply.Header.Get("Nats-Sequence"), 10, 64); err != nil {
		return m, fmt.Errorf("a message of the server has no sequence: %w", err)
	}
	m.at, err = time.Parse(time.RFC3339Nano, reply.Header.Get("Nats-Time-Stamp"))
	m.at = m.at.Truncate(time.Microsecond) // cursors of lists know no more
	return m, err
}

// onLeader returns the sequence of the message that is asked for, 0 if there is none, as the leader of the stream knows
// it: a replica may lag.
func (w *wire) onLeader(ctx context.Context, q leaderQuery) (uint64, error) {
	request, err := json.Marshal(q)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Error   *jetstream.APIError
		Message struct{ Seq uint64 }
	}
	err = w.request(ctx, "STREAM.MSG.GET", request, &answer)
	if err != nil || answer.Error == nil {
		return answer.Message.Seq, err
	}
	if answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return 0, nil
	}
	return 0, answer.Error
}

// leaderQuery is a request for one message, as the server reads it.
type leaderQuery struct {
	Last string `json:"last_by_subj,omitempty"`
	Next string `json:"next_by_subj,omitempty"`
	Seq  uint64 `json:"seq,omitempty"`
}

// purge removes the messages that match a filter and have a sequence below another one, 0 for all.
func (w *wire) purge(ctx context.Context, filter string, below uint64) error {
	var answer struct{ Error *jetstream.APIError }
	err := w.request(ctx, "STREAM.PURGE", purgeRequest(filter, below), &answer)
	if err == nil && answer.Error != nil {
		return answer.Error
	}
	return err
}

// purgeSometime is purge for what may stay: it neither waits nor knows whether it succeeds.
func (w *wire) purgeSometime(filter string, below uint64) {
	_ = w.conn.PublishRequest("$JS.API.STREAM.PURGE."+w.stream, w.inbox+".-", purgeRequest(filter, below))
}

func purgeRequest(filter string, below uint64) []byte {
	return fmt.Appendf(nil, `{"filter":%q,"seq":%d}`, filter, below)
}

// request calls the API of the server.
func (w *wire) request(ctx context.Context, call string, request []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, w.answerIn)
	defer cancel()
	reply, err := w.conn.RequestWithContext(ctx, "$JS.API."+call+"."+w.stream, request)
	if err != nil {
		return err
	}
	return json.Unmarshal(reply.Data, answer)
}

// publish stores messages, all or none, and returns the sequence of the last one. With an error that is not
// [errChanged] it is not known whether it did.
func (w *wire) publish(ctx context.Context, messages ...*nats.Msg) (seq uint64, err error) {
	last := messages[len(messages)-1]
	if len(messages) > 1 {
		batch := rand.Text()
		for i, m := range messages {
			m.Header.Set(batchHeader, batch)
			m.Header.Set(batchSeqHeader, strconv.Itoa(i+1))
			if m == last {
				m.Header.Set(commitHeader, "1")
			} else if err := w.conn.PublishMsg(m); err != nil {
				return 0, err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, w.answerIn)
	defer cancel()
	reply, err := w.conn.RequestMsgWithContext(ctx, last)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Error *jetstream.APIError
		Seq   uint64
	}
	switch err := json.Unmarshal(reply.Data, &ack); {
	case err != nil:
		return 0, fmt.Errorf("the server answered %.100q: %w", reply.Data, err)
	case ack.Error != nil:
		return 0, refusal(ack.Error)
	}
	w.saw(ack.Seq)
	return ack.Seq, nil
}

// Codes of errors of the server that have no name in jetstream.
const (
	codeWrongLast         jetstream.ErrorCode = 10071
	codeWrongLastInFlight jetstream.ErrorCode = 10164
	codeNotAvailable      jetstream.ErrorCode = 10008
	codeTooManyBatches    jetstream.ErrorCode = 10210
	codeTooManyRequests   jetstream.ErrorCode = 10167
	codeBatchIncomplete   jetstream.ErrorCode = 10176
	codeNoResources       jetstream.ErrorCode = 10023
	codeNoMemory          jetstream.ErrorCode = 10028
	codeNoStorage         jetstream.ErrorCode = 10047
	codeNotStored         jetstream.ErrorCode = 10077 // for a reason that the text says
)

// refusal is the error of a publication that the server refused.
func refusal(e *jetstream.APIError) error {
	if e.ErrorCode == codeWrongLast || e.ErrorCode == codeWrongLastInFlight {
		return errChanged
	}
	switch {
	case e.ErrorCode == codeNoResources, e.ErrorCode == codeNoMemory, e.ErrorCode == codeNoStorage,
		e.ErrorCode == codeNotStored && strings.Contains(e.Description, "exceeded"):
		return fmt.Errorf("%w: %w", runs.ErrFull, e)
	}
	return e
}

// saw notes a sequence that the stream has.
func (w *wire) saw(seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = max(w.seen, seq)
}

func (w *wire) seenUpTo() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// sleep waits, or returns why the context has ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
