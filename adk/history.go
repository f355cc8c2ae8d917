package adk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/schema"
)

// history holds what agents of one run have said, for the agents after them. It is split into lanes: agents that run at
// the same time do not see each other.
type history[M MessageType] struct {
	mu   sync.Mutex // guards next, and the entries of all lanes
	next int        // sequence number of the next entry
}

// lane is one line of the history: what its parent had when it began, and its own entries.
type lane[M MessageType] struct {
	history *history[M]
	parent  *lane[M]
	before  int // how many entries of the parent it sees
	entries []*historyItem[M]
}

// historyItem is one thing that an agent has said.
type historyItem[M MessageType] struct {
	seq      int
	agent    string
	message  M
	stream   *schema.StreamReader[M]
	transfer bool
	once     sync.Once
	err      error
	// standing is an entryStanding.
	standing atomic.Int32
}

// entryStanding says whether what an agent has said counts for the agents after it. An agent that is stopped says it
// again when it continues. It only grows.
//
//	from           to             when
//	counts         countsIfWhole  its agent was stopped: what broke off will be said again
//	counts         superseded     its turn was undone: it will be said again in any case
//	countsIfWhole  superseded     as before
type entryStanding int32

const (
	entryCounts entryStanding = iota
	entryCountsIfWhole
	entrySuperseded
)

// become moves the entry to a standing, unless it counts less already.
func (i *historyItem[M]) become(to entryStanding) {
	for {
		from := i.standing.Load()
		if from >= int32(to) || i.standing.CompareAndSwap(from, int32(to)) {
			return
		}
	}
}

func (i *historyItem[M]) is(standing entryStanding) bool {
	return entryStanding(i.standing.Load()) == standing
}

func newLane[M MessageType]() *lane[M] { return &lane[M]{history: new(history[M])} }

// fork begins a lane for an agent that runs beside others.
func (l *lane[M]) fork() *lane[M] {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	return &lane[M]{history: l.history, parent: l, before: len(l.entries)}
}

// join takes over what the lanes that ran beside each other have, in the order in which it was said.
func (l *lane[M]) join(lanes []*lane[M]) {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	var all []*historyItem[M]
	for _, b := range lanes {
		all = append(all, b.entries...)
	}
	slices.SortFunc(all, func(a, b *historyItem[M]) int { return cmp.Compare(a.seq, b.seq) })
	l.entries = append(l.entries, all...)
}

// add records the message of an event. A stream is split: the event keeps one half.
func (l *lane[M]) add(agent string, e *TypedAgentEvent[M]) {
	if e.Output == nil || e.Output.MessageOutput == nil {
		return
	}
	v := e.Output.MessageOutput
	item := &historyItem[M]{agent: agent, message: v.Message}
	item.transfer = e.Action != nil && e.Action.TransferToAgent != nil
	if v.IsStreaming && v.MessageStream != nil {
		item.stream = v.split()
	}
	l.append(item)
}

func (l *lane[M]) append(item *historyItem[M]) {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	item.seq = l.history.next
	l.history.next++
	l.entries = append(l.entries, item)
}

// seed fills the lane of an agent that a hook or tool of a chat model agent runs, which is alone in its run and records
// nothing: with what that has said so far, its call of the tool included. Before the lane is used.
func (l *lane[M]) seed(ctx context.Context) {
	r := agentRunFrom[M](ctx)
	if r == nil || !r.hasState(ctx) {
		return
	}
	said, err := r.history(ctx)
	if err != nil || len(said) <= len(r.messages) {
		return
	}
	for _, m := range said[len(r.messages):] {
		item := &historyItem[M]{agent: r.agent.conf.Name, message: m}
		item.once.Do(func() {})
		l.append(item)
	}
}

// visible returns what an agent on this lane sees.
func (l *lane[M]) visible() []*historyItem[M] {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	return l.upTo(len(l.entries))
}

func (l *lane[M]) upTo(n int) []*historyItem[M] {
	var all []*historyItem[M]
	if l.parent != nil {
		all = l.parent.upTo(l.before)
	}
	return append(all, l.entries[:n]...)
}

// own returns what was said on this lane.
func (l *lane[M]) own() []*historyItem[M] {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	return l.entries[:len(l.entries):len(l.entries)]
}

// restore fills a lane that has nothing yet.
func (l *lane[M]) restore(items []*historyItem[M]) {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	l.entries = items
	for _, item := range items {
		l.history.next = max(l.history.next, item.seq+1)
	}
}

// nextSeq is the sequence number of what is said next.
func (l *lane[M]) nextSeq() int {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	return l.history.next
}

// discard moves what an agent has said from a sequence number on to another standing.
func (l *lane[M]) discard(agent string, from int, standing entryStanding) {
	for _, item := range l.own() {
		if item.agent == agent && item.seq >= from {
			item.become(standing)
		}
	}
}

// whole returns the message, of a stream what it joins to. With an error it is what came before. It gives a stream up
// when ctx ends.
func (i *historyItem[M]) whole(ctx context.Context) (M, error) {
	if i.is(entrySuperseded) {
		var none M
		return none, ErrStreamCanceled
	}
	i.once.Do(func() {
		if i.stream != nil {
			i.message, i.err = opsOf[M]().joinPartly(ctx, i.stream)
			i.stream = nil
		}
	})
	if i.err != nil && i.is(entryCountsIfWhole) && !saidAgain(i.err) {
		return i.message, ErrStreamCanceled
	}
	return i.message, i.err
}

// joinPartly reads a stream to its end and closes it. With an error, including the error of ctx, it returns what came
// before.
func (ops *messageOps[M]) joinPartly(ctx context.Context, s *schema.StreamReader[M]) (M, error) {
	join, chunks, err := joinStream(receiverOf(ctx, s), nil)
	if chunks == 0 {
		return ops.empty(), err
	}
	whole, joinErr := join.Message()
	if err == nil {
		err = joinErr
	}
	return whole, err
}

// saidAgain reports whether what ended with an error was said again: by the next attempt, or when the cancelled run went
// on.
func saidAgain(err error) bool {
	return errors.As(err, new(*WillRetryError)) || errors.Is(err, ErrStreamCanceled)
}

// HistoryRewriter makes the input of an agent out of what was said before it was reached.
type HistoryRewriter func(ctx context.Context, entries []*HistoryEntry) ([]Message, error)

// entriesOf lists what was said before the run that x belongs to, the input of the run, and what was said since. Answers
// that did not count are left out and, if wanted, the messages of a transfer.
func entriesOf(x *execution[Message]) ([]*HistoryEntry, error) {
	var asked []Message
	if input := x.run.input; input != nil {
		asked = input.Messages
	}
	var said []*historyItem[Message]
	if x.lane != nil {
		said = x.lane.visible()
	}
	earlier := x.run.options.history
	block := make([]HistoryEntry, 0, len(earlier)+len(asked)+len(said))
	entries := make([]*HistoryEntry, 0, cap(block))
	add := func(e HistoryEntry) {
		block = append(block, e)
		entries = callorder.Append(entries, &block[len(block)-1], speakerOf)
	}
	for _, e := range earlier {
		add(e)
	}
	for _, m := range asked {
		add(HistoryEntry{IsUserInput: true, Message: m})
	}
	for _, item := range said {
		m, err := item.whole(x)
		if err != nil {
			if saidAgain(err) {
				continue
			}
			return nil, err
		}
		if m == nil {
			continue
		}
		if x.run.options.skipTransferMessages && item.transfer {
			if n := len(entries); m.Role == schema.Tool && n > 0 && !entries[n-1].IsUserInput {
				entries = entries[:n-1] // the call
			}
			continue
		}
		add(HistoryEntry{AgentName: item.agent, Message: m})
	}
	return entries, nil
}

// speakerOf says who said an entry, and what.
func speakerOf(e *HistoryEntry) (string, *schema.Message) { return e.AgentName, e.Message }

// AppendHistory adds what an agent says now to a history of events. The result of a tool comes before the results of
// later calls of the same answer, whichever tool was faster: so the history is sent to a model in the same bytes every
// time, and the provider finds it in its cache.
func AppendHistory(history []HistoryEntry, e HistoryEntry) []HistoryEntry {
	return callorder.Append(history, e, func(e HistoryEntry) (string, *schema.Message) { return e.AgentName, e.Message })
}

// rebuildInput makes the input of an agent that the run has reached from another: what the user and the agents said.
func rebuildInput(x *execution[Message]) (*AgentInput, error) {
	entries, err := entriesOf(x)
	if err != nil {
		return nil, err
	}
	rewrite := HistoryRewriter(func(_ context.Context, entries []*HistoryEntry) ([]Message, error) {
		return asContext(x.name, entries), nil
	})
	if x.flow != nil && x.flow.rewriter != nil {
		rewrite = x.flow.rewriter
	}
	messages, err := rewrite(x, entries)
	if err != nil {
		return nil, err
	}
	input := &AgentInput{Messages: messages}
	if x.run.input != nil {
		input.EnableStreaming = x.run.input.EnableStreaming
	}
	return input, nil
}

// asContext keeps what the user and the agent itself said, and puts what other agents said into messages of the user.
func asContext(self string, entries []*HistoryEntry) []Message {
	messages := make([]Message, 0, len(entries))
	for _, e := range entries {
		m := e.Message
		if !e.IsUserInput && e.AgentName != self {
			m = quote(e.AgentName, m)
		}
		if m != nil {
			messages = append(messages, m)
		}
	}
	return messages
}

// quoteRoom is for the words around what is quoted.
const quoteRoom = 48

// quote turns the message of another agent into one of the user.
func quote(agent string, m Message) Message {
	if m == nil {
		return nil
	}
	var text strings.Builder
	text.Grow(quoteRoom + len(agent) + len(m.Content) + len(m.ToolName))
	write := func(parts ...string) {
		for _, p := range parts {
			text.WriteString(p)
		}
	}
	write("For context:")
	switch m.Role {
	case schema.Assistant:
		if m.Content != "" {
			write(" [", agent, "] said: ", m.Content, ".")
		}
		for _, call := range m.ToolCalls {
			write(" [", agent, "] called tool: `", call.Function.Name, "` with arguments: ", call.Function.Arguments, ".")
		}
	case schema.Tool:
		if m.Content != "" {
			write(" [", agent, "] `", m.ToolName, "` tool returned result: ", m.Content, ".")
		}
	}
	quoted := schema.UserMessage(text.String())
	//lint:ignore SA1019 older callers still send it
	quoted.MultiContent = slices.Clone(m.MultiContent)
	quoted.UserInputMultiContent = slices.Clone(m.UserInputMultiContent)
	for i := range m.AssistantGenMultiContent {
		if part, ok := inputPart(&m.AssistantGenMultiContent[i]); ok {
			quoted.UserInputMultiContent = append(quoted.UserInputMultiContent, part)
		}
	}
	return quoted
}

// inputPart returns what an agent generated, as a part of a user message; reasoning is left out.
func inputPart(p *schema.MessageOutputPart) (schema.MessageInputPart, bool) {
	part := schema.MessageInputPart{Type: p.Type, Text: p.Text, Extra: p.Extra}
	switch {
	case p.Type == schema.ChatMessagePartTypeText:
	case p.Image != nil:
		part.Image = &schema.MessageInputImage{MessagePartCommon: p.Image.MessagePartCommon}
	case p.Audio != nil:
		part.Audio = &schema.MessageInputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
	case p.Video != nil:
		part.Video = &schema.MessageInputVideo{MessagePartCommon: p.Video.MessagePartCommon}
	default:
		return part, false
	}
	return part, true
}

// GenTransferMessages makes the two messages of a transfer: the call of an assistant, and its result.
func GenTransferMessages(_ context.Context, destAgentName string) (Message, Message) {
	call := schema.ToolCall{
		ID:       uuid.NewString(),
		Function: schema.FunctionCall{Name: TransferToAgentToolName, Arguments: destAgentName},
	}
	return schema.AssistantMessage("", []schema.ToolCall{call}),
		schema.ToolMessage(transferResult(destAgentName), call.ID, schema.WithToolName(TransferToAgentToolName))
}
