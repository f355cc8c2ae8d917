package parser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/weftgo/weft/schema"
)

// MetaKeySource is the metadata key under which [TextParser] stores the URI.
const MetaKeySource = "_source"

// TextParser makes one document of everything it reads, unchanged. Its metadata has the URI under [MetaKeySource], then
// the extra metadata of the call. The zero value is ready to use.
type TextParser struct{}

type textOptions struct{ maxBytes int64 }

// WithMaxTextBytes makes [TextParser] fail on more than n bytes instead of reading without end. n must be positive; the
// default is no limit.
func WithMaxTextBytes(n int64) Option {
	return WrapImplSpecificOptFn(func(o *textOptions) { o.maxBytes = n })
}

// Parse implements [Parser]. An error of the reader is returned as it is.
func (dp TextParser) Parse(ctx context.Context, reader io.Reader, opts ...Option) ([]*schema.Document, error) {
	content, err := readText(reader, GetImplSpecificOptions(&textOptions{}, opts...).maxBytes)
	if err != nil {
		return nil, err
	}
	o := GetCommonOptions(nil, opts...)
	meta := map[string]any{MetaKeySource: o.URI}
	maps.Copy(meta, o.ExtraMeta)
	return []*schema.Document{{Content: string(content), MetaData: meta}}, nil
}

func readText(reader io.Reader, maxBytes int64) ([]byte, error) {
	if reader == nil {
		return nil, errors.New("text parser: reader is nil")
	}
	if maxBytes <= 0 {
		return io.ReadAll(reader)
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxBytes+1))
	if err == nil && int64(len(content)) > maxBytes {
		err = fmt.Errorf("text parser: more than %d bytes", maxBytes)
	}
	return content, err
}
