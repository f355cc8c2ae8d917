package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// A builder makes the body of a request.
type builder struct {
	e           *engine
	o           *callOptions
	common      *model.Options
	unsupported kit.Unsupported
	ids         *kit.CallIDs

	tools, system []*piece
	turns         []*turn
	// calls are the IDs of the calls of the last answer, as they are sent and in their order.
	calls []string
	// carried holds the parts of an answer that cannot be sent as the assistant's, for the user's next turn.
	carried []*piece
	// container is the container of the last answer, if code in it waits for results of tools.
	container string
	// callNames are the names of all calls, in their order.
	callNames []string

	answerTool   string
	answerSchema json.RawMessage
}

// callIDs matches the IDs of calls that the API takes.
var callIDs = kit.IDRule{Max: 64, Allowed: kit.AlphanumericDash}

// newCall makes the request for a conversation.
func (e *engine) newCall(in []*schema.AgenticMessage, o *callOptions, common *model.Options) (*call, error) {
	if err := kit.CheckHistory(in); err != nil {
		return nil, err
	}
	filter := kit.Filter{Kinship: e.kinship, Thinking: o.ForeignThinking, Opaque: opaqueKeys}
	b := &builder{e: e, o: o, common: common, ids: kit.NewCallIDs(callIDs)}
	b.unsupported.Drop = o.DropUnsupported
	if err := b.addMessages(filter.Blocks(in)); err != nil {
		return nil, err
	}
	body, err := b.body()
	if err != nil {
		return nil, err
	}
	c := &call{
		e: e, o: o, body: body, model: *common.Model, maxTokens: *common.MaxTokens, answerTool: b.answerTool,
		unsupported: b.unsupported,
	}
	c.turns, _ = body.Get("messages").([]kit.Object)
	return c, nil
}

// body returns the request. The order of the fields never changes, as caches go by it.
func (b *builder) body() (kit.Object, error) {
	body := kit.Object{{Key: "model", Value: *b.common.Model}, {Key: "max_tokens", Value: *b.common.MaxTokens}}
	kit.SetPtr(&body, "temperature", b.common.Temperature)
	kit.SetPtr(&body, "top_p", b.common.TopP)
	kit.SetPtr(&body, "top_k", b.o.TopK)
	if len(b.common.Stop) > 0 {
		body.Set("stop_sequences", b.common.Stop)
	}
	if b.common.Temperature != nil && b.common.TopP != nil && takesOneSampling(*b.common.Model) {
		b.unsupported.Reject(&body, "top_p", "the model does not take TopP beside Temperature: remove one of them")
	}
	b.setPlain(&body)
	for _, set := range []func(*kit.Object) error{b.setThinking, b.setOutput, b.setTools, b.setCaching} {
		if err := set(&body); err != nil {
			return nil, err
		}
	}
	if len(b.tools) > 0 {
		body.Set("tools", wires(b.tools))
	}
	if len(b.system) > 0 {
		body.Set("system", wires(b.system))
	}
	messages := make([]kit.Object, len(b.turns))
	for i, t := range b.turns {
		messages[i] = kit.Object{{Key: "role", Value: t.role}, {Key: "content", Value: wires(t.all())}}
	}
	body.Set("messages", messages)
	b.leaveOut(&body)
	if err := b.unsupported.Err(); err != nil {
		return nil, err
	}
	body.Merge(b.o.ExtraFields)
	return body, nil
}

// setPlain sets the fields that depend on nothing else.
func (b *builder) setPlain(body *kit.Object) {
	if b.o.UserID != "" {
		body.Set("metadata", kit.Object{{Key: "user_id", Value: b.o.UserID}})
	}
	body.SetText("service_tier", b.o.ServiceTier)
	body.SetText("speed", b.o.Speed)
	body.SetText("inference_geo", b.o.InferenceGeo)
	body.SetText("container", or(b.o.Container, b.container))
}

// omits reports whether the service does not take a field.
func (b *builder) omits(field string) bool { return slices.Contains(b.e.backend.Omits(), field) }

// leaveOut takes out what the service does not take. What the model works without is left out silently.
func (b *builder) leaveOut(body *kit.Object) {
	for _, field := range b.e.backend.Omits() {
		if strings.Contains(field, ".") {
			continue // see functionTool
		}
		b.unsupported.Reject(body, field, "the service does not take it: remove it, or change what the Backend leaves out")
	}
}

func canonical(header string) string { return http.CanonicalHeaderKey(header) }

// A piece is an element of a list in the request that may carry a marker for the cache.
type piece struct {
	fields kit.Object
	// raw is sent instead of fields, byte for byte. It carries no marker.
	raw   json.RawMessage
	cache CacheTTL
}

func newPiece(kind string) *piece { return &piece{fields: kit.Object{{Key: "type", Value: kind}}} }

func textPiece(text string) *piece {
	p := newPiece("text")
	p.fields.Set("text", text)
	return p
}

func (p *piece) kind() string {
	kind, _ := p.fields.Get("type").(string)
	return kind
}

func (p *piece) cacheable() bool {
	return p.raw == nil && !p.isThinking() && p.fields.Get("defer_loading") == nil
}

func (p *piece) wire() any {
	if p.raw != nil {
		return p.raw
	}
	if p.cache == "" {
		return p.fields
	}
	return append(p.fields[:len(p.fields):len(p.fields)], kit.Field{Key: "cache_control", Value: p.cache.wire()})
}

func wires(pieces []*piece) []any {
	list := make([]any, len(pieces))
	for i, p := range pieces {
		list[i] = p.wire()
	}
	return list
}

// isThinking reports whether a piece is thinking of either kind.
func (p *piece) isThinking() bool { return p.kind() == "thinking" || p.kind() == "redacted_thinking" }

// fault is the error for a message that cannot be sent.
func fault(index int, err error) error {
	return fmt.Errorf("message %d: %w", index, err)
}
