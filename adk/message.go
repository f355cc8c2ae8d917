package adk

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// MessageType is the kind of message an agent works with.
type MessageType interface {
	*schema.Message | *schema.AgenticMessage
}

// Message is the message of ordinary chat models.
type Message = *schema.Message

// MessageStream is a stream of message chunks.
type MessageStream = *schema.StreamReader[Message]

// AgenticMessage is the message of agentic models.
type AgenticMessage = *schema.AgenticMessage

// AgenticMessageStream is a stream of agentic message chunks.
type AgenticMessageStream = *schema.StreamReader[AgenticMessage]

// messageIDKey is the place where a message keeps its ID.
const messageIDKey = "_eino_msg_id"

// messageRuntime implements the exported functions on messages, for one kind of them: see [agentRuntime].
type messageRuntime[M MessageType] interface {
	userMessage(text string) M
	messageID(m M) string
	ensureMessageID(m M)
	concat(ctx context.Context, s *schema.StreamReader[M]) (M, error)
	encodeVariant(v *TypedMessageVariant[M]) ([]byte, error)
	decodeVariant(v *TypedMessageVariant[M], data []byte) error
}

// compiledMessages is the messageRuntime for M.
type compiledMessages[M MessageType] struct{}

// They are any, so that no other package learns what is behind them.
var (
	chatMessages    any = messageRuntime[*schema.Message](compiledMessages[*schema.Message]{})
	agenticMessages any = messageRuntime[*schema.AgenticMessage](compiledMessages[*schema.AgenticMessage]{})
)

func messageRuntimeOf[M MessageType]() messageRuntime[M] {
	if r, ok := chatMessages.(messageRuntime[M]); ok {
		return r
	}
	return agenticMessages.(messageRuntime[M])
}

// GetMessageID returns the ID that the runtime gave a message, "" if it has none. Model outputs and tool results of
// an agent have one: the same on the event and in the history.
func GetMessageID[M MessageType](msg M) string { return messageRuntimeOf[M]().messageID(msg) }

func (compiledMessages[M]) messageID(m M) string { return opsOf[M]().id(m) }

// EnsureMessageID gives a message an ID if it has none. It replaces msg.Extra by a copy with the ID, so that a map that
// is shared with other messages stays as it is.
func EnsureMessageID[M MessageType](msg M) { messageRuntimeOf[M]().ensureMessageID(msg) }

func (compiledMessages[M]) ensureMessageID(m M) {
	ops := opsOf[M]()
	if ops.isNil(m) || ops.id(m) != "" {
		return
	}
	ops.replaceExtra(m, ops.markedExtra(m, newMark()))
}

// id is GetMessageID.
func (ops *messageOps[M]) id(m M) string {
	if ops.isNil(m) {
		return ""
	}
	id, _ := ops.extra(m)[messageIDKey].(string)
	return id
}

// A mark is the Extra of a message that has nothing but its ID. It is never written to, so that messages can share it.
type mark = map[string]any

func newMark() mark { return markOf(newMessageID()) }

func markOf(id string) mark { return mark{messageIDKey: id} }

// identified returns the message itself if it has an ID, else a copy with the ID of the mark: the message may be shared
// with other runs.
func (ops *messageOps[M]) identified(m M, with mark) M {
	if ops.id(m) != "" {
		return m
	}
	return ops.withExtra(m, ops.markedExtra(m, with))
}

// markedExtra returns what Extra is with a mark. The message's own map stays as it is: it may be shared.
func (ops *messageOps[M]) markedExtra(m M, with mark) map[string]any {
	extra := ops.extra(m)
	if len(extra) == 0 {
		return with
	}
	extra = maps.Clone(extra)
	maps.Copy(extra, with)
	return extra
}

const (
	idLength = 36
	// idsAtOnce is the number of IDs that are one block of memory, which lives as long as one of them.
	idsAtOnce = 8
)

// spareIDs has blocks of IDs that were not given out yet, as *string.
var spareIDs = sync.Pool{New: func() any { return new(string) }}

// newMessageID makes a version 4 UUID (RFC 9562). IDs name messages; they are no secrets.
func newMessageID() string {
	spare := spareIDs.Get().(*string)
	if *spare == "" {
		var text [idsAtOnce * idLength]byte
		for i := range idsAtOnce {
			writeID((*[idLength]byte)(text[i*idLength:]))
		}
		*spare = string(text[:])
	}
	id := (*spare)[:idLength]
	*spare = (*spare)[idLength:]
	spareIDs.Put(spare)
	return id
}

func writeID(text *[idLength]byte) {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var digits [32]byte
	hex.Encode(digits[:], b[:])
	copy(text[:8], digits[:8]) // as 8-4-4-4-12 digits
	copy(text[9:13], digits[8:12])
	copy(text[14:18], digits[12:16])
	copy(text[19:23], digits[16:20])
	copy(text[24:], digits[20:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
}

// messageOps is everything in which the two kinds of message differ. The rest of the package is written once.
type messageOps[M MessageType] struct {
	system       func(text string) M
	user         func(text string) M
	isNil        func(m M) bool
	hasToolCalls func(m M) bool
	// toolCalls returns the calls of a message, in their order; callChunks the calls of a chunk, with their place in the
	// stream.
	toolCalls  func(m M) []schema.ToolCall
	callChunks func(m M) []schema.ToolCall
	// isAnswer reports whether a message is one of a model, and isResult whether it is one of a tool. Others are what
	// users and hooks put into a history.
	isAnswer, isResult func(m M) bool
	// text returns the text of a message.
	text func(m M) string
	// empty makes the message of a model that said nothing.
	empty func() M
	extra func(m M) map[string]any
	// withExtra returns a shallow copy with another Extra.
	withExtra func(m M, extra map[string]any) M
	// copyEvent makes an event of such a copy.
	copyEvent func(m M, extra map[string]any) *messageEvent[M]
	// replaceExtra changes the message itself.
	replaceExtra func(m M, extra map[string]any)
	// newJoin starts to join the chunks of a message, and freeJoin gives back what joined them, which must not be used any
	// more.
	newJoin  func() chunkJoin[M]
	freeJoin func(j chunkJoin[M])
	// joinsToChunk: the message of a single chunk is that chunk, which others may have, too.
	joinsToChunk bool
	// modelVariant marks a variant as the output of a model.
	modelVariant func(v *TypedMessageVariant[M])
	// toolMessage, toolEvent and toolVariant make the message of a tool result, or an event of it, and mark its variant.
	toolMessage func(callID, name, text string) M
	toolEvent   func(callID, name, text string, extra map[string]any) *messageEvent[M]
	toolResult  func(callID, name string, result *schema.ToolResult) (M, error)
	toolVariant func(v *TypedMessageVariant[M], toolName string)
	// markChunk makes a tool message a chunk of one, if the kind of message tells chunks apart.
	markChunk func(m M)
	// toolCallOf tells which call a tool message answers.
	toolCallOf func(m M) (toolName, callID string)
	// resultText is the text that the result of a tool begins with.
	resultText func(m M) string

	streamError, concatError string

	addModelNode func(g *compose.Graph[[]M, M], key string, m model.BaseModel[M], opts ...compose.GraphAddNodeOpt) error
	addToolsNode func(ctx context.Context, g *compose.Graph[[]M, M], key string, conf *compose.ToolsNodeConfig, opts ...compose.GraphAddNodeOpt) (*compose.ToolsNode, error)
}

// opsOf returns the operations on M.
func opsOf[M MessageType]() *messageOps[M] {
	var ops any = &agenticOps
	if _, ok := any((*messageOps[M])(nil)).(*messageOps[*schema.Message]); ok {
		ops = &chatOps
	}
	return ops.(*messageOps[M])
}

var chatOps = messageOps[*schema.Message]{
	system:       schema.SystemMessage,
	user:         schema.UserMessage,
	isNil:        func(m *schema.Message) bool { return m == nil },
	hasToolCalls: func(m *schema.Message) bool { return len(m.ToolCalls) > 0 },
	toolCalls:    func(m *schema.Message) []schema.ToolCall { return m.ToolCalls },
	callChunks: func(m *schema.Message) []schema.ToolCall {
		if m == nil {
			return nil
		}
		return m.ToolCalls
	},
	isAnswer: func(m *schema.Message) bool { // some models name no role
		return m != nil && m.Role != schema.User && m.Role != schema.System && m.Role != schema.Tool
	},
	isResult: func(m *schema.Message) bool { return m != nil && m.Role == schema.Tool },
	text:     func(m *schema.Message) string { return m.Content },
	empty:    func() *schema.Message { return &schema.Message{Role: schema.Assistant} },
	extra:    func(m *schema.Message) map[string]any { return m.Extra },
	withExtra: func(m *schema.Message, extra map[string]any) *schema.Message {
		c := *m
		c.Extra = extra
		return &c
	},
	copyEvent: func(m *schema.Message, extra map[string]any) *messageEvent[*schema.Message] {
		c := *m
		c.Extra = extra
		return messageInEvent[*schema.Message](c)
	},
	replaceExtra: func(m *schema.Message, extra map[string]any) { m.Extra = extra },
	newJoin:      func() chunkJoin[*schema.Message] { return spareJoins.Get().(*schema.MessageAccumulator) },
	freeJoin: func(j chunkJoin[*schema.Message]) {
		a := j.(*schema.MessageAccumulator)
		*a = schema.MessageAccumulator{}
		spareJoins.Put(a)
	},
	modelVariant: func(v *TypedMessageVariant[*schema.Message]) { v.Role = schema.Assistant },
	toolMessage: func(callID, name, text string) *schema.Message {
		m := toolText(callID, name, text, nil)
		return &m
	},
	toolEvent: func(callID, name, text string, extra map[string]any) *messageEvent[*schema.Message] {
		return messageInEvent[*schema.Message](toolText(callID, name, text, extra))
	},
	toolResult: func(callID, name string, result *schema.ToolResult) (*schema.Message, error) {
		parts, err := result.ToMessageInputParts()
		if err != nil {
			return nil, err
		}
		return &schema.Message{Role: schema.Tool, ToolCallID: callID, ToolName: name, UserInputMultiContent: parts}, nil
	},
	toolVariant: func(v *TypedMessageVariant[*schema.Message], toolName string) {
		v.Role, v.ToolName = schema.Tool, toolName
	},
	markChunk:  func(*schema.Message) {},
	toolCallOf: func(m *schema.Message) (toolName, callID string) { return m.ToolName, m.ToolCallID },
	resultText: func(m *schema.Message) string {
		if m.Content == "" && len(m.UserInputMultiContent) > 0 {
			return m.UserInputMultiContent[0].Text
		}
		return m.Content
	},
	streamError: "error receiving message stream",
	concatError: "cannot concat message stream",
	addModelNode: func(g *compose.Graph[[]*schema.Message, *schema.Message], key string, m model.BaseModel[*schema.Message], opts ...compose.GraphAddNodeOpt) error {
		return g.AddChatModelNode(key, m, opts...)
	},
	addToolsNode: func(ctx context.Context, g *compose.Graph[[]*schema.Message, *schema.Message], key string, conf *compose.ToolsNodeConfig, opts ...compose.GraphAddNodeOpt) (*compose.ToolsNode, error) {
		tn, err := compose.NewToolNode(ctx, conf)
		if err != nil {
			return nil, err
		}
		return tn, g.AddToolsNode(key, tn, opts...)
	},
}

// spareJoins has accumulators that are empty.
var spareJoins = sync.Pool{New: func() any { return new(schema.MessageAccumulator) }}

// toolText is the message of a result that is text.
func toolText(callID, name, text string, extra map[string]any) schema.Message {
	return schema.Message{Role: schema.Tool, Content: text, ToolCallID: callID, ToolName: name, Extra: extra}
}

var agenticOps = messageOps[*schema.AgenticMessage]{
	system: schema.SystemAgenticMessage,
	user:   schema.UserAgenticMessage,
	isNil:  func(m *schema.AgenticMessage) bool { return m == nil },
	hasToolCalls: func(m *schema.AgenticMessage) bool {
		for _, b := range m.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				return true
			}
		}
		return false
	},
	toolCalls:  func(m *schema.AgenticMessage) []schema.ToolCall { return agenticCalls(m, false) },
	callChunks: func(m *schema.AgenticMessage) []schema.ToolCall { return agenticCalls(m, true) },
	isAnswer: func(m *schema.AgenticMessage) bool {
		return m != nil && m.Role != schema.AgenticRoleTypeUser && m.Role != schema.AgenticRoleTypeSystem
	},
	isResult: func(m *schema.AgenticMessage) bool {
		return m != nil && slices.ContainsFunc(m.ContentBlocks, func(b *schema.ContentBlock) bool {
			return b != nil && (b.FunctionToolResult != nil || b.ToolSearchFunctionToolResult != nil)
		})
	},
	text: agenticText,
	empty: func() *schema.AgenticMessage {
		return &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	},
	extra: func(m *schema.AgenticMessage) map[string]any { return m.Extra },
	withExtra: func(m *schema.AgenticMessage, extra map[string]any) *schema.AgenticMessage {
		c := *m
		c.Extra = extra
		return &c
	},
	copyEvent: func(m *schema.AgenticMessage, extra map[string]any) *messageEvent[*schema.AgenticMessage] {
		c := *m
		c.Extra = extra
		return messageInEvent[*schema.AgenticMessage](c)
	},
	replaceExtra: func(m *schema.AgenticMessage, extra map[string]any) { m.Extra = extra },
	newJoin:      func() chunkJoin[*schema.AgenticMessage] { return new(schema.AgenticMessageAccumulator) },
	freeJoin:     func(chunkJoin[*schema.AgenticMessage]) {},
	joinsToChunk: true,
	modelVariant: func(v *TypedMessageVariant[*schema.AgenticMessage]) { v.AgenticRole = schema.AgenticRoleTypeAssistant },
	toolMessage: func(callID, name, text string) *schema.AgenticMessage {
		return compose.AgenticToolMessage(chatOps.toolMessage(callID, name, text))
	},
	toolEvent: func(callID, name, text string, extra map[string]any) *messageEvent[*schema.AgenticMessage] {
		m := compose.AgenticToolMessage(chatOps.toolMessage(callID, name, text))
		m.Extra = extra
		return newMessageEvent(m, nil)
	},
	toolResult: func(callID, name string, result *schema.ToolResult) (*schema.AgenticMessage, error) {
		m, err := chatOps.toolResult(callID, name, result)
		if err != nil {
			return nil, err
		}
		return compose.AgenticToolMessage(m), nil
	},
	toolVariant: func(v *TypedMessageVariant[*schema.AgenticMessage], _ string) {
		v.AgenticRole = schema.AgenticRoleTypeUser
	},
	markChunk: func(m *schema.AgenticMessage) {
		for _, b := range m.ContentBlocks {
			b.StreamingMeta = &schema.StreamingMeta{Index: 0}
		}
	},
	toolCallOf: func(m *schema.AgenticMessage) (toolName, callID string) {
		for _, b := range m.ContentBlocks {
			switch {
			case b == nil:
			case b.FunctionToolResult != nil:
				return b.FunctionToolResult.Name, b.FunctionToolResult.CallID
			case b.ToolSearchFunctionToolResult != nil:
				return b.ToolSearchFunctionToolResult.Name, b.ToolSearchFunctionToolResult.CallID
			}
		}
		return "", ""
	},
	resultText: func(m *schema.AgenticMessage) string {
		for _, b := range m.ContentBlocks {
			if b == nil || b.FunctionToolResult == nil {
				continue
			}
			if parts := b.FunctionToolResult.Content; len(parts) > 0 && parts[0] != nil && parts[0].Text != nil {
				return parts[0].Text.Text
			}
		}
		return ""
	},
	streamError: "error receiving agentic message stream",
	concatError: "cannot concat agentic message stream",
	addModelNode: func(g *compose.Graph[[]*schema.AgenticMessage, *schema.AgenticMessage], key string, m model.BaseModel[*schema.AgenticMessage], opts ...compose.GraphAddNodeOpt) error {
		return g.AddAgenticModelNode(key, m, opts...)
	},
	addToolsNode: func(ctx context.Context, g *compose.Graph[[]*schema.AgenticMessage, *schema.AgenticMessage], key string, conf *compose.ToolsNodeConfig, opts ...compose.GraphAddNodeOpt) (*compose.ToolsNode, error) {
		tn, err := compose.NewAgenticToolsNode(ctx, conf)
		if err != nil {
			return nil, err
		}
		return compose.InternalToolsOf(tn), g.AddAgenticToolsNode(key, tn, opts...)
	},
}

// chunkJoin joins the chunks of a message while they come.
type chunkJoin[M MessageType] interface {
	Add(chunk M) error
	Message() (M, error)
}

// concat reads a stream to its end, closes it and returns the message that it was. It gives up when ctx ends, whether
// or not the producer does: the error is the one of ctx then.
func (compiledMessages[M]) concat(ctx context.Context, s *schema.StreamReader[M]) (whole M, err error) {
	join, _, err := joinStream(receiverOf(ctx, s), nil)
	if err != nil {
		return whole, err
	}
	return join.Message()
}

// A chunkObserver looks at the chunks of a stream as they come.
type chunkObserver[M MessageType] interface{ lookAt(chunk M) }

// joinStream reads a stream to its end, closes it and joins its chunks, of which observer, if not nil, sees every one. It
// returns what came, and how many chunks that was, also with an error: that is of the stream, or of the receiver's
// context. It tells more than one of joining, which Message of the join has.
func joinStream[M MessageType](recv receiver[M], observer chunkObserver[M]) (join chunkJoin[M], chunks int, err error) {
	defer recv.close()
	join = opsOf[M]().newJoin()
	for {
		chunk, err := recv.next()
		if isEOF(err) {
			return join, chunks, nil
		}
		if err != nil {
			return join, chunks, err
		}
		chunks++
		_ = join.Add(chunk)
		if observer != nil {
			observer.lookAt(chunk)
		}
	}
}

// agenticCalls returns the function calls of a message; the calls of a chunk have their place in the stream.
func agenticCalls(m *schema.AgenticMessage, chunk bool) []schema.ToolCall {
	if m == nil {
		return nil
	}
	var calls []schema.ToolCall
	for _, b := range m.ContentBlocks {
		if b == nil || b.FunctionToolCall == nil {
			continue
		}
		c := b.FunctionToolCall
		call := schema.ToolCall{ID: c.CallID, Function: schema.FunctionCall{Name: c.Name, Arguments: c.Arguments}, Extra: b.Extra}
		if chunk && b.StreamingMeta != nil {
			call.Index = &b.StreamingMeta.Index
		}
		calls = append(calls, call)
	}
	return calls
}

// agenticText joins the texts that a model generated with newlines.
func agenticText(m *schema.AgenticMessage) string {
	var texts []string
	for _, b := range m.ContentBlocks {
		if b != nil && b.AssistantGenText != nil {
			texts = append(texts, b.AssistantGenText.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func isEOF(err error) bool { return err == io.EOF }
