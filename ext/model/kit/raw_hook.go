package kit

import (
	"context"
	"encoding/json"
	"io"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// A RawAnswer is a document of an answer as the server sent it, and what the adapter has made of it.
type RawAnswer struct {
	// JSON is the document: a whole answer, or an event of a stream. It is valid until the hook returns.
	JSON json.RawMessage
	// Message is the message, or the chunk of one, that the document made, for a chat model; Agentic is that for an
	// agentic model. Both are nil for a document that makes none, such as a ping. The hook may change it, above all its
	// Extra, where values should be texts: chunks are joined by appending them.
	Message *schema.Message
	Agentic *schema.AgenticMessage
}

// A RawHook is called for each document of an answer, to reach what a message has no field for. An error ends the call.
//
// It is called by the goroutine that reads the answer, before anybody sees the message, so what it takes the answer takes,
// and calls of different answers run at once. Without a hook nothing is copied; with one each document is. Documents are
// as they came: what the server repeats of the request is in them.
type RawHook func(ctx context.Context, answer RawAnswer) error

// WithRawHook has a hook called for the documents of the answer to one call, after the configuration's hook. It works
// with the models of every adapter on this package.
func WithRawHook(hook RawHook) model.Option {
	return model.WrapImplSpecificOptFn(func(o *rawOptions) { o.hooks = append(o.hooks, hook) })
}

type rawOptions struct{ hooks []RawHook }

// hooks returns the hooks of a call, nil without one.
func (m *Model[M]) hooks(opts []model.Option) []RawHook {
	if m.info.RawHook == nil && len(opts) == 0 {
		return nil
	}
	o := &rawOptions{}
	if m.info.RawHook != nil {
		o.hooks = append(o.hooks, m.info.RawHook)
	}
	return model.GetImplSpecificOptions(o, opts...).hooks
}

// openChunks opens the answer, and has the hooks see its documents.
func (m *Model[M]) openChunks(ctx context.Context, in []M, opts []model.Option, stream bool) (Chunks[M], error) {
	hooks := m.hooks(opts)
	if hooks == nil {
		return m.engine.Open(ctx, in, opts, stream)
	}
	tap := new(rawTap)
	ctx = context.WithValue(ctx, rawTapKey{}, tap)
	chunks, err := m.engine.Open(ctx, in, opts, stream)
	if err != nil {
		return nil, err
	}
	return &hookedChunks[M]{Chunks: chunks, ctx: ctx, tap: tap, hooks: hooks}, nil
}

type rawTapKey struct{}

// A rawTap has the documents that were read since the last chunk. The goroutine that reads the answer owns it.
type rawTap struct{ documents []json.RawMessage }

func tapOf(ctx context.Context) *rawTap {
	tap, _ := ctx.Value(rawTapKey{}).(*rawTap)
	return tap
}

// add keeps a copy of a document. A nil tap keeps nothing.
func (t *rawTap) add(data []byte) {
	if t != nil {
		t.documents = append(t.documents, append(json.RawMessage{}, data...))
	}
}

// hookedChunks are the chunks of an answer that hooks see.
type hookedChunks[M Message] struct {
	Chunks[M]
	ctx   context.Context
	tap   *rawTap
	hooks []RawHook
}

// Next implements [Chunks]. A chunk belongs to the last document that was read for it.
func (c *hookedChunks[M]) Next() (M, error) {
	m, err := c.Chunks.Next()
	documents := c.tap.documents
	c.tap.documents = documents[:0]
	if err != nil && err != io.EOF {
		return nil, err
	}
	for i, d := range documents {
		answer := RawAnswer{JSON: d}
		if i == len(documents)-1 {
			answer.Message, _ = any(m).(*schema.Message)
			answer.Agentic, _ = any(m).(*schema.AgenticMessage)
		}
		for _, hook := range c.hooks {
			if failed := hook(c.ctx, answer); failed != nil {
				return nil, failed
			}
		}
	}
	return m, err
}
