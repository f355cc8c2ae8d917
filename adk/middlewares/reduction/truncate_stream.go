package reduction

import (
	"context"
	"io"
	"strings"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// chunkKind tells the cut about the chunks of a stream.
type chunkKind[T any] interface {
	// size is the length of a chunk's text; a chunk that is empty is left out.
	size(chunk T) (n int, empty bool)
	// joined is one chunk with all that the chunks have.
	joined(chunks []T) T
	// cut is the last chunk: the part of a chunk before room runs out, and the notice.
	cut(chunk T, room int, notice string) T
	// content returns the content of a file for the chunks.
	content(chunks []T) (string, error)
	// plain: the content is the chunks' content, one after the other.
	plain() bool
}

// saver writes the whole of a stream that was cut and says so.
type saver struct {
	limit int
	// save returns the notice.
	save func(ctx context.Context, content string, err error) string
	// open starts a file that takes the stream piece by piece; nil if the backend has none.
	open func(ctx context.Context) *spill
}

func (m *middleware[M]) saver(t *truncation, detail *ToolDetail) saver {
	limit := m.conf.MaxLengthForTrunc
	s := saver{limit: limit, save: func(ctx context.Context, content string, err error) string {
		path := ""
		if err == nil {
			path, err = m.conf.GenTruncOffloadFilePath(ctx, detail)
		}
		if err == nil {
			err = t.write(ctx, path, content)
		}
		return streamCut(limit, path, m.conf.ReadFileToolName, err)
	}}
	if backend, ok := t.backend.(StreamBackend); ok {
		s.open = func(ctx context.Context) *spill {
			f := &spill{}
			if f.path, f.err = m.conf.GenTruncOffloadFilePath(ctx, detail); f.err == nil {
				f.file, f.err = backend.Create(ctx, f.path)
			}
			if f.err != nil {
				f.file = nil // whatever came with the error
			}
			f.notice = func() string { return streamCut(limit, f.path, m.conf.ReadFileToolName, f.err) }
			return f
		}
	}
	return s
}

// cutStream passes a stream on until its texts reach the limit. From then on it only collects; at the end it writes
// everything and ends the stream with a notice.
func cutStream[T any](
	ctx context.Context, source *schema.StreamReader[T], kind chunkKind[T], s saver,
) *schema.StreamReader[T] {
	out, w := schema.Pipe[T](1)
	out.SetAutomaticClose()
	ctx, abandon := context.WithCancel(ctx)
	w.OnReaderClose(func() {
		abandon()
		source.Close()
	})
	go func() {
		defer w.Close()
		defer source.Close()
		var err error
		func() {
			defer safe.Recover(&err)
			err = pump(ctx, abandon, source, w, kind, s)
		}()
		if err != nil {
			var none T
			w.Send(none, err)
		}
	}()
	return out
}

// pump runs a stream through a cut. It returns the error that ends the stream. abandon ends ctx: a file that is closed
// then is not wanted.
func pump[T any](
	ctx context.Context,
	abandon context.CancelFunc,
	source *schema.StreamReader[T],
	w *schema.StreamWriter[T],
	kind chunkKind[T],
	s saver,
) error {
	p := &cutPump[T]{kind: kind, saver: s}
	defer func() { // of a stream that is not read any more, and after a panic
		abandon()
		p.file.close()
	}()
	for {
		chunk, err := source.RecvContext(ctx)
		if err != nil {
			if p.cut {
				w.Send(p.last(ctx, err), nil)
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		if p.take(ctx, chunk) && w.Send(chunk, nil) {
			return nil // the reader has closed the stream
		}
	}
}

// heldBytes is the number of bytes of a stream that are held in memory before it goes to a file that takes it piece by
// piece. What is held can still be given out if the stream fails.
const heldBytes = 1 << 20

// cutPump holds what a cut knows of the stream until now.
type cutPump[T any] struct {
	kind  chunkKind[T]
	saver saver
	// all are the chunks, or with a file the one at the limit alone; passed is how many of them went through.
	all    []T
	passed int
	total  int // bytes
	before int // the total before the chunk at the limit
	cut    bool
	file   *spill
}

// take reports whether a chunk goes through.
func (p *cutPump[T]) take(ctx context.Context, chunk T) bool {
	n, empty := p.kind.size(chunk)
	switch {
	case empty:
		return false
	case p.file != nil:
		p.file.write(p.kind.content([]T{chunk}))
		return false
	}
	before := p.total
	p.all, p.total = append(p.all, chunk), before+n
	if !p.cut {
		if p.total < p.saver.limit {
			p.passed++
			return true
		}
		p.before, p.cut = before, true
	}
	if p.total > heldBytes && p.saver.open != nil && p.kind.plain() {
		p.file = p.saver.open(ctx)
		p.file.write(p.kind.content(p.all))
		p.all, p.passed = []T{p.all[p.passed]}, 0
	}
	return false
}

// last is the last chunk of a stream that was cut, which ends with err.
func (p *cutPump[T]) last(ctx context.Context, err error) T {
	var notice string
	switch {
	case p.file != nil:
		p.file.close()
		notice = p.file.notice()
	case err != io.EOF: // nothing is lost
		return p.kind.joined(p.all[p.passed:])
	default:
		content, err := p.kind.content(p.all)
		notice = p.saver.save(ctx, content, err)
	}
	return p.kind.cut(p.all[p.passed], p.saver.limit-p.before, notice)
}

// spill is a file that takes a stream piece by piece. After an error it takes nothing more.
type spill struct {
	path   string
	file   io.WriteCloser
	err    error
	notice func() string
}

func (f *spill) write(content string, err error) {
	if f.err == nil {
		f.err = err
	}
	if f.err == nil {
		_, f.err = io.WriteString(f.file, content)
	}
}

// close completes the file, once.
func (f *spill) close() {
	if f == nil || f.file == nil {
		return
	}
	if err := f.file.Close(); f.err == nil {
		f.err = err
	}
	f.file = nil
}

// textCut cuts streams of texts.
type textCut struct{}

func (textCut) size(chunk string) (int, bool) { return len(chunk), chunk == "" }

func (textCut) joined(chunks []string) string { return strings.Join(chunks, "") }

func (textCut) cut(chunk string, room int, notice string) string { return prefix(chunk, room) + notice }

func (c textCut) content(chunks []string) (string, error) { return c.joined(chunks), nil }

func (textCut) plain() bool { return true }

// partsCut cuts streams of results with parts. Only texts count.
type partsCut struct{}

func (partsCut) size(chunk *schema.ToolResult) (int, bool) {
	n, _ := textSize(chunk)
	return n, chunk == nil || len(chunk.Parts) == 0
}

func (partsCut) joined(chunks []*schema.ToolResult) *schema.ToolResult {
	joined := &schema.ToolResult{}
	for _, c := range chunks {
		joined.Parts = append(joined.Parts, c.Parts...)
	}
	return joined
}

func (partsCut) cut(chunk *schema.ToolResult, room int, notice string) *schema.ToolResult {
	last := &schema.ToolResult{}
	for _, p := range chunk.Parts {
		if p.Type == schema.ToolPartTypeText {
			if len(p.Text) >= room {
				if p.Text = prefix(p.Text, room); p.Text != "" {
					last.Parts = append(last.Parts, p)
				}
				break
			}
			room -= len(p.Text)
		}
		last.Parts = append(last.Parts, p)
	}
	last.Parts = append(last.Parts, schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: notice})
	return last
}

func (partsCut) plain() bool { return false }

// content joins texts that were torn apart by streaming, so that a file of texts alone has nothing but the text.
func (c partsCut) content(chunks []*schema.ToolResult) (string, error) {
	var parts []schema.ToolOutputPart
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: text.String()})
			text.Reset()
		}
	}
	for _, p := range c.joined(chunks).Parts {
		if p.Type == schema.ToolPartTypeText && len(p.Extra) == 0 {
			text.WriteString(p.Text)
			continue
		}
		flush()
		parts = append(parts, p)
	}
	flush()
	return offloadContent(parts)
}
