package parser

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

var background = context.Background()

// Rules components/D2, components/D7.
func TestTextParser_MakesOneDocumentOfEverything(t *testing.T) {
	for _, p := range []Parser{TextParser{}, &TextParser{}} {
		f, err := os.Open("testdata/test.md")
		require.NoError(t, err)
		defer f.Close()
		docs, err := p.Parse(background, f, WithURI("testdata/test.md"), WithExtraMeta(map[string]any{"k": "v"}))
		require.NoError(t, err)
		require.Equal(t, []*schema.Document{{Content: "# Title\nhello world",
			MetaData: map[string]any{MetaKeySource: "testdata/test.md", "k": "v"}}}, docs)
	}
	docs, err := TextParser{}.Parse(background, strings.NewReader("\xff\x00"), Option{})
	require.NoError(t, err)
	require.Equal(t, "\xff\x00", docs[0].Content)
	require.Equal(t, map[string]any{MetaKeySource: ""}, docs[0].MetaData)

	docs, err = TextParser{}.Parse(background, strings.NewReader(""), WithExtraMeta(map[string]any{MetaKeySource: "mine"}))
	require.NoError(t, err)
	require.Equal(t, "mine", docs[0].MetaData[MetaKeySource])

	broken := errors.New("broken")
	_, err = TextParser{}.Parse(background, iotest.ErrReader(broken))
	require.True(t, broken == err)
}

// Rule components/B13.4.9.
func TestTextParser_LimitsWhatItReads(t *testing.T) {
	_, err := TextParser{}.Parse(background, nil)
	require.EqualError(t, err, "text parser: reader is nil")

	docs, err := TextParser{}.Parse(background, strings.NewReader("12345"), WithMaxTextBytes(5))
	require.NoError(t, err)
	require.Equal(t, "12345", docs[0].Content)
	_, err = TextParser{}.Parse(background, strings.NewReader("123456"), WithMaxTextBytes(5))
	require.EqualError(t, err, "text parser: more than 5 bytes")
}

// labeled is a parser that makes the given documents and remembers its options.
type labeled struct {
	docs []*schema.Document
	err  error
	got  Options
}

func (l *labeled) Parse(_ context.Context, _ io.Reader, opts ...Option) ([]*schema.Document, error) {
	l.got = *GetCommonOptions(nil, opts...)
	return l.docs, l.err
}

func label(name string) *labeled { return &labeled{docs: []*schema.Document{{ID: name}}} }

// Rule components/D3.
func TestExtParser_ReadsTextByDefault(t *testing.T) {
	for _, conf := range []*ExtParserConfig{nil, {}} {
		p, err := NewExtParser(background, conf)
		require.NoError(t, err)
		require.Empty(t, p.GetParsers())
		docs, err := p.Parse(background, strings.NewReader("x"), WithURI("a.md"))
		require.NoError(t, err)
		require.Equal(t, "x", docs[0].Content)
	}
}

// Rules components/D4, components/B13.4.9.
func TestExtParser_SelectsByExtension(t *testing.T) {
	p, err := NewExtParser(background, &ExtParserConfig{
		Parsers: map[string]Parser{".md": label("md"), ".MD": label("MD"), ".html": label("html"), "": label("none"),
			".nil": nil},
		FallbackParser: label("fallback"),
	})
	require.NoError(t, err)
	for uri, want := range map[string]string{
		"a.md":                          "md",
		"a.MD":                          "MD",
		"a.HTML":                        "html",
		"a.b.html":                      "html",
		"a":                             "none",
		"":                              "none",
		"a.txt":                         "fallback",
		"a.nil":                         "fallback",
		"https://x.org/a.html?v=1.2":    "html",
		"https://x.org/a.HTML#part.one": "html",
		"https://x.org/a?file=b.md":     "md",
		"a.html?v=1":                    "fallback",
	} {
		docs, err := p.Parse(background, nil, WithURI(uri))
		require.NoError(t, err)
		require.Equal(t, want, docs[0].ID, uri)
	}
	_, err = (&ExtParser{}).Parse(background, nil, WithURI("a.md"))
	require.EqualError(t, err, "no parser found for extension .md")
}

// Rule components/D5.
func TestExtParser_ForwardsOptionsAndAddsMeta(t *testing.T) {
	inner := &labeled{docs: []*schema.Document{nil, {ID: "1"},
		{ID: "2", MetaData: map[string]any{"k": "parser", "own": 1}}}}
	p, err := NewExtParser(background, &ExtParserConfig{FallbackParser: inner})
	require.NoError(t, err)
	docs, err := p.Parse(background, nil, WithURI("u"), WithExtraMeta(map[string]any{"k": "call"}))
	require.NoError(t, err)
	require.Equal(t, Options{URI: "u", ExtraMeta: map[string]any{"k": "call"}}, inner.got)
	require.Equal(t, []*schema.Document{nil, {ID: "1", MetaData: map[string]any{"k": "call"}},
		{ID: "2", MetaData: map[string]any{"k": "call", "own": 1}}}, docs)

	inner.docs = []*schema.Document{{}}
	docs, err = p.Parse(background, nil)
	require.NoError(t, err)
	require.NotNil(t, docs[0].MetaData)

	inner.err = errors.New("broken")
	_, err = p.Parse(background, nil)
	require.ErrorIs(t, err, inner.err)
}

// Rules components/D6, components/B13.4.9.
func TestExtParser_CopiesItsMaps(t *testing.T) {
	mine := map[string]Parser{".md": label("md")}
	p, err := NewExtParser(background, &ExtParserConfig{Parsers: mine})
	require.NoError(t, err)
	delete(mine, ".md")
	delete(p.GetParsers(), ".md")
	require.Len(t, p.GetParsers(), 1)
}

func TestOptions_ImplSpecific(t *testing.T) {
	type own struct{ n int }
	require.Equal(t, &own{3}, GetImplSpecificOptions[own](nil, Option{}, WithURI("u"),
		WrapImplSpecificOptFn(func(o *own) { o.n = 3 })))
}
