package adk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/weftgo/weft/adk/internal/eager"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// modelAttempt is one call of a model with its outcome. Where another call may follow (retry, failover), the end of
// its event stream waits for the verdict on it, and so does the event of an answer that is no stream.
type modelAttempt[M MessageType] struct {
	turn  *modelTurn[M]
	phase attemptPhase
	// verdict is closed once the attempt is judged, nil if it never is. Then endErr, if not nil, replaces the end of the
	// event stream.
	verdict chan struct{}
	endErr  error
	// held is the event of an answer that has not been accepted yet. sentID is the ID of the answer in it.
	held   *messageEvent[M]
	sentID string
	// speculation is the tools that run already.
	speculation *eager.Speculation
	// watched is the call of a model that streams, in a run that can be cancelled.
	watched *cancelscope.Call

	message M
	err     error
}

// attemptPhase is the state of an attempt. Its turn makes the transitions.
//
//	from  to        when
//	open  accepted  its answer becomes the answer of the turn
//	open  failed    its error becomes the error of the turn, or the run is to stop at once and does not try again
//	open  rejected  another call follows, or would if it were allowed
type attemptPhase int

const (
	attemptOpen attemptPhase = iota
	attemptAccepted
	attemptFailed
	attemptRejected
)

// newAttempt opens an attempt. It stays open until it is accepted or rejected. One whose event streams, or that a
// middleware may hold, outlives the turn.
func (t *modelTurn[M]) newAttempt() *modelAttempt[M] {
	c := t.chain
	a := &t.first
	if a.turn != nil || t.run.input.EnableStreaming && !t.run.inPieces() || c.handlers.modelSender {
		a = new(modelAttempt[M])
	}
	a.turn = t
	if c.retry != nil || c.failover != nil {
		a.verdict = make(chan struct{})
	}
	t.open = a
	return a
}

// judged reports whether a verdict will come.
func (a *modelAttempt[M]) judged() bool { return a.verdict != nil }

// run calls the target once and keeps how it went.
func (a *modelAttempt[M]) run(ctx context.Context, target *modelTarget[M], request modelRequest[M]) {
	defer safe.Recover(&a.err)
	switch r := a.turn.run; {
	case r.input.EnableStreaming:
		a.err = a.stream(ctx, target, request)
		return
	case r.view == nil && len(a.turn.chain.handlers.wrapModel) == 0: // nothing more than it needs is on the stack
		a.message, a.err = target.Generate(ctx, request.input, request.options...)
	default:
		a.message, a.err = a.generate(ctx, target, request)
	}
	if a.err == nil {
		a.err = a.generated(target)
	}
}

// wrapped is the target inside the middlewares that wrap models. The outermost one is asked for its wrapper here.
func (a *modelAttempt[M]) wrapped(
	ctx context.Context, target *modelTarget[M], opts []model.Option,
) (_ context.Context, m model.BaseModel[M], err error) {
	handlers := a.turn.chain.handlers
	if handlers.modelSender {
		ctx = context.WithValue(ctx, attemptKey[M]{}, a)
	}
	m = identifiedModel[M]{target}
	if len(handlers.wrapModel) == 0 {
		return ctx, m, nil
	}
	about := a.turn.hookContext(toolsIn(opts))
	for i, inside := len(handlers.wrapModel)-1, make([]wrapping[M], len(handlers.wrapModel)-1); i > 0; i-- {
		inside[i-1] = wrapping[M]{target, &handlers.wrapModel[i], m, about, opts}
		m = &inside[i-1]
	}
	m, err = handlers.wrapModel[0].doWrapModel(ctx, m, about)
	return ctx, m, err
}

// wrapping is a middleware with what it is to wrap. It is asked for its wrapper when it is called, so that it sees the context
// and the options that the one around it passes on, and is not asked if that one answers by itself. It is safe for concurrent
// use, as a middleware may call what it wraps several times at once.
type wrapping[M MessageType] struct {
	*modelTarget[M]
	handler *handler[M]
	inner   model.BaseModel[M]
	// about and opts are what the attempt began with.
	about *TypedModelContext[M]
	opts  []model.Option
}

// wrapped asks the middleware.
func (w *wrapping[M]) wrapped(ctx context.Context, opts []model.Option) (model.BaseModel[M], error) {
	about := w.about
	if len(opts) != len(w.opts) || len(opts) > 0 && &opts[0] != &w.opts[0] { // not what the attempt began with
		if tools := toolsIn(opts); !slices.Equal(tools, about.Tools) {
			changed := *about
			changed.Tools = tools
			about = &changed
		}
	}
	return w.handler.doWrapModel(ctx, w.inner, about)
}

// Generate calls the target inside the middlewares.
func (w *wrapping[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (answer M, err error) {
	m, err := w.wrapped(ctx, opts)
	if err != nil {
		return answer, err
	}
	return m.Generate(ctx, input, opts...)
}

// Stream calls the target inside the middlewares.
func (w *wrapping[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	m, err := w.wrapped(ctx, opts)
	if err != nil {
		return nil, err
	}
	return m.Stream(ctx, input, opts...)
}

// generate calls the target inside the middlewares. A call in a run that can be cancelled is given up when that is to
// stop at once.
func (a *modelAttempt[M]) generate(
	ctx context.Context, target *modelTarget[M], request modelRequest[M],
) (answer M, err error) {
	ctx, m, err := a.wrapped(ctx, target, request.options)
	if err != nil {
		return answer, err
	}
	if a.turn.run.view == nil {
		return m.Generate(ctx, request.input, request.options...)
	}
	call := watch(ctx, a.turn.run.view, func(ctx context.Context) (M, error) {
		return m.Generate(ctx, request.input, request.options...)
	})
	defer call.Release()
	answer, err = call.do()
	if err == errLeftBehind {
		a.turn.run.warnOfLeftBehind(ctx, "model", target.typ)
	}
	return answer, err
}

// generated checks the answer and sends it.
func (a *modelAttempt[M]) generated(target *modelTarget[M]) error {
	ops := opsOf[M]()
	if ops.isNil(a.message) {
		return noAnswer(target.typ, "message")
	}
	if ops.id(a.message) == "" { // a middleware gave an answer of its own
		a.message = ops.identified(a.message, markOf(cmp.Or(a.sentID, newMessageID())))
	}
	if !a.turn.chain.handlers.modelSender {
		a.sendMessage(a.message)
	}
	return nil
}

func (a *modelAttempt[M]) stream(ctx context.Context, target *modelTarget[M], request modelRequest[M]) (err error) {
	handlers, ops := a.turn.chain.handlers, opsOf[M]()
	var s *schema.StreamReader[M]
	id := newMark() // for an answer that has none yet
	if len(handlers.wrapModel) == 0 {
		s, err = a.open(ctx, target, request)
	} else {
		streamCtx, m, werr := a.wrapped(ctx, target, request.options)
		if werr != nil {
			return werr
		}
		s, err = a.open(streamCtx, m, request)
	}
	if err != nil {
		return err
	}
	if s == nil {
		return noAnswer(target.typ, "stream")
	}
	defer a.release()
	inPieces := a.turn.run.inPieces()
	switch {
	case handlers.modelSender: // it has sent already
	case inPieces: // it is sent when it is whole
	case len(handlers.wrapModel) == 0:
		s = a.sendStream(s, id)
	default: // the answer may be a middleware's, or begin with what a middleware put before the model's
		s = a.sendStream(schema.StreamReaderWithConvert(s, ops.identifyOnce(id)), nil)
	}
	if err := a.turn.run.deliver(); err != nil {
		s.Close()
		return err
	}
	if err := a.read(ctx, s, inPieces); err != nil {
		return err
	}
	if handlers.seesMessages { // and may change it
		id = maps.Clone(id)
	}
	a.message = ops.identifiedWhole(a.message, id)
	if inPieces {
		a.sendMessage(a.message)
	}
	return nil
}

// identifiedWhole is identified for a message that was joined for this run: mostly it needs no copy.
func (ops *messageOps[M]) identifiedWhole(m M, with mark) M {
	if ops.joinsToChunk || ops.id(m) != "" {
		return ops.identified(m, with)
	}
	ops.replaceExtra(m, ops.markedExtra(m, with))
	return m
}

// open is generate for an answer as a stream. The context of the model ends with the stream.
func (a *modelAttempt[M]) open(
	ctx context.Context, m model.BaseModel[M], request modelRequest[M],
) (*schema.StreamReader[M], error) {
	if a.turn.run.view == nil {
		return m.Stream(ctx, request.input, request.options...)
	}
	call := watch(ctx, a.turn.run.view, func(ctx context.Context) (*schema.StreamReader[M], error) {
		return m.Stream(ctx, request.input, request.options...)
	})
	a.watched = &call.Call
	s, err := call.do()
	if err == errLeftBehind {
		a.turn.run.warnOfLeftBehind(ctx, "model", a.turn.chain.target.typ)
	}
	if err != nil {
		a.release()
	}
	return s, err
}

func (a *modelAttempt[M]) release() {
	if a.watched != nil {
		a.watched.Release()
		a.watched = nil
	}
}

// read takes the answer from its stream, passes its pieces on, or lets the eager tools look on. On an error the message is
// what came before.
func (a *modelAttempt[M]) read(
	ctx context.Context, s *schema.StreamReader[M], inPieces bool,
) (err error) {
	recv := receiverOf(ctx, s)
	recv.call = a.watched
	ops := opsOf[M]()
	a.speculation = startSpeculation(a.turn)
	var observer chunkObserver[M]
	if inPieces {
		observer = a.turn.run.loop()
	} else if a.speculation != nil {
		observer = speculating[M]{a.speculation}
	}
	join, chunks, err := joinStream(recv, observer)
	defer ops.freeJoin(join)
	if err == nil && chunks == 0 {
		a.message = ops.empty()
		return nil
	}
	var joinErr error
	if chunks > 0 {
		a.message, joinErr = join.Message()
	}
	if err == nil {
		err = joinErr
	}
	if err != nil {
		a.speculation.Abort(err)
		return err
	}
	if chunks == 1 && a.turn.chain.handlers.seesMessages { // the message may be the chunk, which the event has, too
		a.message = ops.withExtra(a.message, maps.Clone(ops.extra(a.message)))
	}
	return nil
}

// speculating feeds the chunks of an answer to the tools that run already.
type speculating[M MessageType] struct{ *eager.Speculation }

// lookAt starts the calls that a chunk completes. A chunk that says that the answer was cut off starts none: the tools node
// decides about its calls.
func (s speculating[M]) lookAt(chunk M) {
	if word := model.FinishWord(chunk); word != "" && model.FinishOf(word).CutOff() {
		return
	}
	s.Feed(opsOf[M]().callChunks(chunk))
}

// sendMessage sends the answer as an event, or holds it until it is accepted. The event has a shallow copy: outer
// layers may change the answer, and its Extra while the consumer reads the event's.
func (a *modelAttempt[M]) sendMessage(answer M) {
	ops := opsOf[M]()
	extra := ops.extra(answer)
	if a.turn.chain.handlers.seesMessages {
		extra = maps.Clone(extra)
	}
	e := ops.copyEvent(answer, extra)
	ops.modelVariant(&e.variant)
	a.sentID = ops.id(answer)
	if a.judged() {
		a.held = e
		return
	}
	a.turn.run.sendMessage(&e.event)
}

// sendStream sends the answer as an event while it comes, and returns the stream to continue with. A first chunk without
// ID gets the given one, if there is one.
func (a *modelAttempt[M]) sendStream(s *schema.StreamReader[M], id mark) *schema.StreamReader[M] {
	ops := opsOf[M]()
	copies := s.Copy(2)
	events := copies[0]
	if id != nil {
		events = schema.StreamReaderWithFirst(events, ops.identify(id))
	}
	if a.judged() {
		end := a.endOfStream()
		events = schema.StreamReaderWithConvert(events, func(chunk M) (M, error) { return chunk, nil },
			schema.WithErrWrapper(end), schema.WithOnEOF(func() (any, error) { return nil, end(io.EOF) }))
	}
	var none M
	e := newMessageEvent(none, events)
	ops.modelVariant(&e.variant)
	e.variant.MessageStream.SetAutomaticClose()
	e.variant.readByRun = e.variant.MessageStream
	a.turn.run.sendMessage(&e.event)
	return copies[1]
}

// endOfStream returns what an end or error of the event stream becomes: it waits for the verdict, and what the verdict
// puts instead of the end comes once. A cancelled stream needs no verdict.
func (a *modelAttempt[M]) endOfStream() func(own error) error {
	replaced := false
	return func(own error) error {
		if errors.Is(own, ErrStreamCanceled) {
			return own
		}
		<-a.verdict
		if a.endErr == nil || replaced && own == io.EOF {
			return own
		}
		replaced = true
		return a.endErr
	}
}

// accept lets the attempt stand: its event goes out or ends as it would, and its tools count.
func (a *modelAttempt[M]) accept() {
	if a.held != nil {
		a.turn.run.sendMessage(&a.held.event)
		a.held = nil
	}
	if a.speculation != nil {
		a.turn.run.adopt(a.speculation)
	}
	a.settle(attemptAccepted, nil)
}

// fail closes the attempt, whose error becomes the error of the turn.
func (a *modelAttempt[M]) fail() {
	a.speculation.Abort(a.err)
	a.settle(attemptFailed, nil)
}

// cut closes the attempt because the run is to stop at once. Its event ends like the event of a call that was given up:
// an error at its end would count as a failure for the process that reads the history in the next life.
func (a *modelAttempt[M]) cut() {
	a.speculation.Abort(a.err)
	a.settle(attemptFailed, ErrStreamCanceled)
}

// reject closes the attempt because another call follows, or would if it were allowed. The consumer of its event
// sees that at the end of its stream.
func (a *modelAttempt[M]) reject(because *WillRetryError) {
	a.held = nil
	a.speculation.Abort(because)
	a.settle(attemptRejected, because)
}

// settle makes the transition to phase. The first one counts.
func (a *modelAttempt[M]) settle(phase attemptPhase, endErr error) {
	if a.phase != attemptOpen {
		return
	}
	a.phase = phase
	a.turn.open = nil
	if w := a.turn.run.witness(); w != nil {
		w.Verdict(a.joined(), phase == attemptRejected)
	}
	if a.judged() {
		a.endErr = endErr
		close(a.verdict)
	}
}

// joined returns a private copy of the answer of a stream, nil if there is none: code around the run may change the original.
func (a *modelAttempt[M]) joined() any {
	ops := opsOf[M]()
	if !a.turn.run.input.EnableStreaming || a.err != nil || ops.isNil(a.message) {
		return nil
	}
	return ops.withExtra(a.message, maps.Clone(ops.extra(a.message)))
}

// eventSenderModelWrapper is the sender of model events at a place of the user's choice.
type eventSenderModelWrapper[M MessageType] struct {
	TypedBaseChatModelAgentMiddleware[M]
}

// NewEventSenderModelWrapper returns a middleware that sends the events of the model's answers from its place among
// the middlewares, with the answer as it is there. An agent with one has no other sender. As the last middleware it
// sends what the model itself gave.
func NewEventSenderModelWrapper() ChatModelAgentMiddleware {
	return NewTypedEventSenderModelWrapper[*schema.Message]()
}

// NewTypedEventSenderModelWrapper is [NewEventSenderModelWrapper] for any kind of message.
func NewTypedEventSenderModelWrapper[M MessageType]() TypedChatModelAgentMiddleware[M] {
	return runtimeOf[M]().newModelEventSender()
}

func (compiled[M]) newModelEventSender() TypedChatModelAgentMiddleware[M] {
	return &eventSenderModelWrapper[M]{}
}

func (*eventSenderModelWrapper[M]) sendsEvents() (models, tools bool) { return true, false }

func (*eventSenderModelWrapper[M]) WrapModel(
	_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
) (model.BaseModel[M], error) {
	return sendingModel[M]{m}, nil
}

// sendingModel sends what a model answers as an event.
type sendingModel[M MessageType] struct{ inner model.BaseModel[M] }

type attemptKey[M MessageType] struct{}

// attemptIn returns the attempt that a call belongs to.
func attemptIn[M MessageType](ctx context.Context, method string) (*modelAttempt[M], error) {
	a, _ := ctx.Value(attemptKey[M]{}).(*modelAttempt[M])
	if a == nil {
		return nil, fmt.Errorf("generator is nil when sending event in %s: ensure agent state is properly initialized", method)
	}
	return a, nil
}

func (m sendingModel[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (answer M, err error) {
	a, err := attemptIn[M](ctx, "Generate")
	if err != nil {
		return answer, err
	}
	answer, err = m.inner.Generate(ctx, input, opts...)
	if ops := opsOf[M](); err == nil && !ops.isNil(answer) {
		answer = ops.identified(answer, newMark())
		a.sendMessage(answer)
	}
	return answer, err
}

func (m sendingModel[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	a, err := attemptIn[M](ctx, "Stream")
	if err != nil {
		return nil, err
	}
	s, err := m.inner.Stream(ctx, input, opts...)
	if err != nil || s == nil {
		return s, err
	}
	return a.sendStream(schema.StreamReaderWithConvert(s, opsOf[M]().identifyOnce(newMark())), nil), nil
}
