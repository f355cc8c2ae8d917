package reduction

import (
	"context"
	"io"
	"strings"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// chunkKind is what cutting has to know about the chunks of a stream.
type chunkKind[T any] interface {
	// size is the length of a chunk's text; a chunk that is empty is left out.
	size(chunk T) (n int, empty bool)
	// joined is one chunk with all that the chunks have.
	joined(chunks []T) T
	// cut is the last chunk: the part of a chunk before room runs out, and the notice.
	cut(chunk T, room int, notice string) T
	// content is what a file has of the chunks.
	content(chunks []T) (string, error)
}

// saver writes the whole of a stream that was cut and says so.
type saver struct {
	limit int
	// save returns the notice.
	save func(ctx context.Context, content string, err error) string
}

func (m *middleware[M]) saver(t *truncation, detail *ToolDetail) saver {
	limit := m.conf.MaxLengthForTrunc
	return saver{limit: limit, save: func(ctx context.Context, content string, err error) string {
		path := ""
		if err == nil {
			path, err = m.conf.GenTruncOffloadFilePath(ctx, detail)
		}
		if err == nil {
			err = t.write(ctx, path, content)
		}
		return streamCut(limit, path, m.conf.ReadFileToolName, err)
	}}
}

// cutStream passes a stream on until its texts reach the limit. From then on it only collects; at the end it writes
// everything and ends the stream with a notice.
func cutStream[T any](ctx context.Context, source *schema.StreamReader[T], kind chunkKind[T], s saver) *schema.StreamReader[T] {
	out, w := schema.Pipe[T](1)
	out.SetAutomaticClose()
	w.OnReaderClose(source.Close)
	go func() {
		defer w.Close()
		defer source.Close()
		var err error
		func() {
			defer safe.Recover(&err)
			err = pump(ctx, source, w, kind, s)
		}()
		if err != nil {
			var none T
			w.Send(none, err)
		}
	}()
	return out
}

// pump runs a stream through a cut. It returns the error that ends the stream.
func pump[T any](ctx context.Context, source *schema.StreamReader[T], w *schema.StreamWriter[T], kind chunkKind[T], s saver) error {
	var all []T
	total, passed := 0, 0 // bytes; chunks that went through
	before := 0           // the total before the chunk at the limit
	cut := false
	for {
		chunk, err := source.RecvContext(ctx)
		if err == io.EOF && cut {
			content, err := kind.content(all)
			w.Send(kind.cut(all[passed], s.limit-before, s.save(ctx, content, err)), nil)
			return nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if cut {
				w.Send(kind.joined(all[passed:]), nil)
			}
			return err
		}
		n, empty := kind.size(chunk)
		if empty {
			continue
		}
		all = append(all, chunk)
		if cut {
			continue
		}
		if before, total = total, total+n; total >= s.limit {
			cut = true
			continue
		}
		passed++
		if w.Send(chunk, nil) {
			return nil // nobody reads any more
		}
	}
}

// textCut cuts streams of texts.
type textCut struct{}

func (textCut) size(chunk string) (int, bool) { return len(chunk), chunk == "" }

func (textCut) joined(chunks []string) string { return strings.Join(chunks, "") }

func (textCut) cut(chunk string, room int, notice string) string { return prefix(chunk, room) + notice }

func (c textCut) content(chunks []string) (string, error) { return c.joined(chunks), nil }

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
