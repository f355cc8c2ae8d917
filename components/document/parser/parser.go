// Package parser turns the bytes of a file into documents. [ExtParser] chooses a parser by the file's extension;
// [TextParser] takes any file as text.
package parser

import (
	"context"
	"io"

	"github.com/weftgo/weft/schema"
)

// Parser makes documents of what it reads. Implementations must be safe for concurrent use.
type Parser interface {
	// Parse reads to the end of reader, which the caller closes if need be.
	Parse(ctx context.Context, reader io.Reader, opts ...Option) ([]*schema.Document, error)
}
