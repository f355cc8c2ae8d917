package kit

import (
	"context"
	"io"
	"slices"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// A messageKind does what differs between chat models and agentic models: what callback handlers get.
type messageKind[M Message] interface {
	component() components.Component
	start(ctx context.Context, in []M, s *Settings) context.Context
	end(ctx context.Context, out M, s *Settings)
	// stream reads an answer in a goroutine; it ends when the answer does, or when the reader is closed.
	stream(ctx context.Context, chunks Chunks[M], stop context.CancelFunc, hide Redactor, s *Settings) *schema.StreamReader[M]
}

func kindOfMessage[M Message]() messageKind[M] {
	var kind any = chatKind
	if _, agentic := any(*new(M)).(*schema.AgenticMessage); agentic {
		kind = agenticKind
	}
	return kind.(messageKind[M])
}

// payloads is the [messageKind] of messages M whose handlers get an I when a call starts, and a P when it ends or for a
// chunk.
type payloads[M Message, I, P any] struct {
	of      components.Component
	input   func([]M, *Settings) I
	output  func(M, *Settings) P
	message func(P) M
}

var chatKind = &payloads[*schema.Message, *model.CallbackInput, *model.CallbackOutput]{
	of: components.ComponentOfChatModel,
	input: func(in []*schema.Message, s *Settings) *model.CallbackInput {
		return &model.CallbackInput{
			Messages: in, Tools: s.AllTools(), ToolChoice: s.ToolChoice, Config: chatConfig(s),
		}
	},
	output: func(m *schema.Message, s *Settings) *model.CallbackOutput {
		out := model.ConvCallbackOutput(m)
		out.Config = chatConfig(s)
		return out
	},
	message: func(out *model.CallbackOutput) *schema.Message { return out.Message },
}

var agenticKind = &payloads[*schema.AgenticMessage, *model.AgenticCallbackInput, *model.AgenticCallbackOutput]{
	of: components.ComponentOfAgenticModel,
	input: func(in []*schema.AgenticMessage, s *Settings) *model.AgenticCallbackInput {
		return &model.AgenticCallbackInput{Messages: in, Tools: s.AllTools(), Config: agenticConfig(s)}
	},
	output: func(m *schema.AgenticMessage, s *Settings) *model.AgenticCallbackOutput {
		out := model.ConvAgenticCallbackOutput(m)
		out.Config = agenticConfig(s)
		return out
	},
	message: func(out *model.AgenticCallbackOutput) *schema.AgenticMessage { return out.Message },
}

func chatConfig(s *Settings) *model.Config {
	c := agenticConfig(s)
	return &model.Config{
		Model: c.Model, MaxTokens: c.MaxTokens, Temperature: c.Temperature, TopP: c.TopP, Stop: s.Stop,
		Provider: c.Provider, Host: c.Host, Port: c.Port,
	}
}

func agenticConfig(s *Settings) *model.AgenticConfig {
	c := &model.AgenticConfig{
		Model: valueOf(s.Model), MaxTokens: valueOf(s.MaxTokens), Temperature: valueOf(s.Temperature), TopP: valueOf(s.TopP),
	}
	if s.info != nil {
		c.Provider, c.Host, c.Port = s.info.System, s.info.Host, s.info.Port
	}
	return c
}

func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (p *payloads[M, I, P]) component() components.Component { return p.of }

func (p *payloads[M, I, P]) start(ctx context.Context, in []M, s *Settings) context.Context {
	return callbacks.OnStart(ctx, p.input(in, s))
}

func (p *payloads[M, I, P]) end(ctx context.Context, out M, s *Settings) {
	callbacks.OnEnd(ctx, p.output(out, s))
}

// streamBuffer is the number of chunks that are read ahead of a slow consumer.
const streamBuffer = 16

func (p *payloads[M, I, P]) stream(
	ctx context.Context, chunks Chunks[M], stop context.CancelFunc, hide Redactor, s *Settings,
) *schema.StreamReader[M] {
	sr, sw := schema.Pipe[P](streamBuffer)
	sw.OnReaderClose(stop) // also while the server is silent
	go p.run(sw, chunks, stop, hide, s)
	sr.SetAutomaticClose()
	_, sr = callbacks.OnEndWithStreamOutput(ctx, sr)
	return schema.StreamReaderWithConvert(sr, func(out P) (M, error) { return p.message(out), nil })
}

func (p *payloads[M, I, P]) run(
	w *schema.StreamWriter[P], chunks Chunks[M], stop context.CancelFunc, hide Redactor, s *Settings,
) {
	defer stop()
	err := p.send(w, chunks, hide, s)
	w.OnReaderClose(nil) // from here on a close is the normal end, after which the connection is to be used again
	if err != nil {
		var none P
		w.Send(none, err)
	}
	w.Close()
	if err == nil {
		chunks.Finish()
	} else {
		chunks.Close()
	}
}

// send sends the chunks until they end or the reader is closed.
func (p *payloads[M, I, P]) send(w *schema.StreamWriter[P], chunks Chunks[M], hide Redactor, s *Settings) (err error) {
	defer hide.Recover(&err)
	var calls callWatch
	for {
		m, err := chunks.Next()
		if err == io.EOF {
			return p.sendRest(w, &calls, hide, s)
		}
		if err != nil {
			return err
		}
		calls.add(m)
		if w.Send(p.output(m, s), nil) {
			return context.Canceled
		}
	}
}

// sendRest sends what only the end of the answer decides.
func (p *payloads[M, I, P]) sendRest(w *schema.StreamWriter[P], calls *callWatch, hide Redactor, s *Settings) error {
	if err := calls.end(hide.provider); err != nil {
		return err
	}
	if m, ok := fillChunk[M](calls); ok && w.Send(p.output(m, s), nil) {
		return context.Canceled
	}
	return nil
}

// Join reads an answer to its end and returns it as one message. The answer is closed.
func Join[M Message](chunks Chunks[M]) (M, error) {
	joined := newAccumulator[M]()
	for {
		m, err := chunks.Next()
		if err == io.EOF {
			chunks.Finish()
			m, err = joined.Message()
			if err == nil && isPiece(m) { // it was the only one
				if err = joined.Add(emptyPiece[M]()); err == nil {
					m, err = joined.Message()
				}
			}
			return m, err
		}
		if err == nil {
			err = joined.Add(m)
		}
		if err != nil {
			chunks.Close()
			return nil, err
		}
	}
}

// isPiece reports whether a message has blocks that are marked as pieces of a stream.
func isPiece[M Message](m M) bool {
	agentic, ok := any(m).(*schema.AgenticMessage)
	return ok && agentic != nil && slices.ContainsFunc(agentic.ContentBlocks, func(b *schema.ContentBlock) bool {
		return b != nil && b.StreamingMeta != nil
	})
}

func emptyPiece[M Message]() M {
	return any(&schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}).(M)
}

// An accumulator joins the chunks of an answer.
type accumulator[M Message] interface {
	Add(M) error
	Message() (M, error)
}

func newAccumulator[M Message]() accumulator[M] {
	var acc any = new(schema.MessageAccumulator)
	if _, agentic := any(*new(M)).(*schema.AgenticMessage); agentic {
		acc = new(schema.AgenticMessageAccumulator)
	}
	return acc.(accumulator[M])
}
