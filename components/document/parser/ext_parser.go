package parser

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"github.com/weftgo/weft/schema"
)

// ExtParserConfig configures [NewExtParser].
type ExtParserConfig struct {
	// Parsers has a parser for each file extension, which is written with its dot: ".md".
	Parsers map[string]Parser
	// FallbackParser takes all other files. The default is [TextParser].
	FallbackParser Parser
}

// ExtParser chooses a parser by the extension of the URI that [WithURI] gives.
//
// The extension is looked up as it is written, then in lower case; for a URL also without query and fragment. What
// is found nowhere goes to the fallback parser.
type ExtParser struct {
	parsers  map[string]Parser
	fallback Parser
}

// NewExtParser returns a parser for the given configuration, which is copied; nil is allowed. The error is always nil.
func NewExtParser(ctx context.Context, conf *ExtParserConfig) (*ExtParser, error) {
	if conf == nil {
		conf = &ExtParserConfig{}
	}
	p := &ExtParser{parsers: maps.Clone(conf.Parsers), fallback: conf.FallbackParser}
	if p.fallback == nil {
		p.fallback = TextParser{}
	}
	return p, nil
}

// GetParsers returns a copy of the parsers by extension.
func (p *ExtParser) GetParsers() map[string]Parser {
	parsers := make(map[string]Parser, len(p.parsers))
	maps.Copy(parsers, p.parsers)
	return parsers
}

// Parse implements [Parser]: it passes everything on to the chosen parser and adds the extra metadata of the call to
// each document.
func (p *ExtParser) Parse(ctx context.Context, reader io.Reader, opts ...Option) ([]*schema.Document, error) {
	o := GetCommonOptions(nil, opts...)
	chosen := p.choose(o.URI)
	if chosen == nil {
		return nil, fmt.Errorf("no parser found for extension %s", filepath.Ext(o.URI))
	}
	docs, err := chosen.Parse(ctx, reader, opts...)
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		if doc.MetaData == nil {
			doc.MetaData = make(map[string]any, len(o.ExtraMeta))
		}
		maps.Copy(doc.MetaData, o.ExtraMeta)
	}
	return docs, nil
}

func (p *ExtParser) choose(uri string) Parser {
	exts := []string{filepath.Ext(uri)}
	if strings.Contains(uri, "://") {
		if i := strings.IndexAny(uri, "?#"); i >= 0 {
			exts = append(exts, filepath.Ext(uri[:i]))
		}
	}
	for _, ext := range exts {
		if found := p.parsers[ext]; found != nil {
			return found
		}
		if found := p.parsers[strings.ToLower(ext)]; found != nil {
			return found
		}
	}
	return p.fallback
}
