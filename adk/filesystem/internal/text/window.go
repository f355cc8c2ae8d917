// Package text holds the rules of backends on the text of files: windows of lines, and edits. The backends in memory
// and on disk share it, so that a model meets the same rules in both. It must never touch a file itself.
package text

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// ErrTooLarge says that a text has more bytes than allowed.
var ErrTooLarge = errors.New("too large")

// Window returns up to limit lines of r from the line offset on. Lines are counted from 1; limit <= 0 means the whole
// rest. The newline after the last line of the window is left out, unless the window reaches the end of the text. If
// there are more than max bytes to return the error is [ErrTooLarge]; max <= 0 means no bound.
func Window(r io.Reader, offset, limit, max int) (string, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	for skipped := 1; skipped < offset; {
		switch _, err := br.ReadSlice('\n'); err {
		case nil:
			skipped++
		case bufio.ErrBufferFull:
		case io.EOF:
			return "", nil
		default:
			return "", err
		}
	}
	var b strings.Builder
	for taken := 0; limit <= 0 || taken < limit; {
		part, err := br.ReadSlice('\n')
		if max > 0 && b.Len()+len(part) > max {
			return "", ErrTooLarge
		}
		b.Write(part)
		switch err {
		case nil:
			taken++
		case bufio.ErrBufferFull:
		case io.EOF:
			return b.String(), nil
		default:
			return "", err
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Reader returns r with an end: reading fails once ctx is done.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
