package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
)

func multiModalRead(t *testing.T, l *Local, path, pages string) (*filesystem.MultiFileContent, error) {
	t.Helper()
	return l.MultiModalRead(t.Context(),
		&filesystem.MultiModalReadRequest{ReadRequest: filesystem.ReadRequest{FilePath: path}, Pages: pages})
}

func TestMultiModalRead_Images(t *testing.T) {
	l, _ := newLocal(t)
	for name, c := range map[string]struct{ content, mime string }{
		"a.jpg":  {"\xff\xd8\xff\xe0rest", "image/jpeg"},
		"a.JPEG": {"\xff\xd8\xff\xe1rest", "image/jpeg"},
		"a.png":  {"\x89PNG\r\n\x1a\nrest", "image/png"},
		"a.gif":  {"GIF89arest", "image/gif"},
		"a.bmp":  {"BMrest", "image/bmp"},
		"a.webp": {"RIFF1234WEBPrest", "image/webp"},
		"a.tiff": {"II*\x00rest", "image/tiff"},
		"a.tif":  {"MM\x00*rest", "image/tiff"},
	} {
		require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: name, Content: c.content}))
		got, err := multiModalRead(t, l, name, "")
		require.NoError(t, err, name)
		require.Nil(t, got.FileContent)
		require.Equal(t, []filesystem.FileContentPart{{Type: filesystem.FileContentPartTypeImage, MIMEType: c.mime,
			Data: []byte(c.content)}}, got.Parts)

		for _, content := range []string{"", "x", "an HTML page that says not found"} {
			require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: name, Content: content}))
			_, err = multiModalRead(t, l, name, "")
			require.EqualError(t, err, "/"+name+": the content is not of the type "+c.mime+" that the extension promises")
		}
	}
	_, err := multiModalRead(t, l, "missing.png", "")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestMultiModalRead_Text(t *testing.T) {
	l, _ := newLocal(t)
	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "f.go", Content: "1\n2\n3\n"}))
	got, err := l.MultiModalRead(t.Context(),
		&filesystem.MultiModalReadRequest{ReadRequest: filesystem.ReadRequest{FilePath: "f.go", Offset: 2, Limit: 1}})
	require.NoError(t, err)
	require.Empty(t, got.Parts)
	require.Equal(t, "2", got.Content)
	_, err = multiModalRead(t, l, "missing.go", "")
	require.EqualError(t, err, "file not found: /missing.go")
}

func TestMultiModalRead_PDF(t *testing.T) {
	const pdf = "%PDF-1.7\nrest"
	rendered := ""
	broken := errors.New("the font is missing")
	l, _ := newLocal(t, func(c *Config) {
		c.MultiModalRead.RenderPDF = func(_ context.Context, data []byte, first, last, dpi int) ([][]byte, error) {
			rendered = fmt.Sprint(string(data), first, last, dpi)
			switch first {
			case 7:
				return nil, broken
			case 8:
				panic("in the renderer")
			case 9:
				return nil, nil
			}
			return make([][]byte, last-first+1), nil
		}
	})
	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "a.pdf", Content: pdf}))
	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "not.pdf", Content: "text"}))

	got, err := multiModalRead(t, l, "a.pdf", "")
	require.NoError(t, err)
	require.Equal(t, []filesystem.FileContentPart{{Type: filesystem.FileContentPartTypePDF, MIMEType: "application/pdf",
		Data: []byte(pdf)}}, got.Parts)
	got, err = multiModalRead(t, l, "a.pdf", "2-21")
	require.NoError(t, err)
	require.Len(t, got.Parts, 20)
	require.Equal(t, filesystem.FileContentPartTypeImage, got.Parts[0].Type)
	require.Equal(t, "image/png", got.Parts[0].MIMEType)
	require.Equal(t, fmt.Sprint(pdf, 2, 21, 150), rendered)
	_, err = multiModalRead(t, l, "a.pdf", "100000")
	require.NoError(t, err)

	for pages, text := range map[string]string{
		"7":                    "/a.pdf: rendering pages 7: the font is missing",
		"8":                    "in the renderer",
		"9":                    "the renderer returned no page",
		"2-22":                 "at most 20 pages can be read at once",
		"5-3":                  "the last page comes before the first",
		"0":                    "expected a page like",
		"1-0":                  "expected a page like",
		"-5":                   "expected a page like",
		"1-":                   "expected a page like",
		"a":                    "expected a page like",
		"1-2-3":                "expected a page like",
		"99999999999999999999": "expected a page like",
	} {
		_, err = multiModalRead(t, l, "a.pdf", pages)
		require.ErrorContains(t, err, text, pages)
	}
	_, err = multiModalRead(t, l, "not.pdf", "")
	require.EqualError(t, err, "/not.pdf: the content is not a PDF")

	plain, _ := newLocal(t)
	require.NoError(t, plain.Write(t.Context(), &filesystem.WriteRequest{FilePath: "a.pdf", Content: pdf}))
	_, err = multiModalRead(t, plain, "a.pdf", "1")
	require.ErrorContains(t, err, "pages of a PDF cannot be rendered: leave pages empty")
}

func TestMultiModalRead_TooLarge(t *testing.T) {
	l, _ := newLocal(t, func(c *Config) {
		c.MultiModalRead = MultiModalReadConfig{MaxImageSizeMB: 1, MaxPDFSizeMB: 1}
	})
	large := strings.Repeat("x", 1<<20)
	require.NoError(t, l.Write(t.Context(),
		&filesystem.WriteRequest{FilePath: "a.png", Content: "\x89PNG\r\n\x1a\n" + large}))
	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "a.pdf", Content: "%PDF-1.7\n" + large}))
	_, err := multiModalRead(t, l, "a.png", "")
	require.EqualError(t, err, "/a.png: the file is larger than 1 MB: make it smaller")
	_, err = multiModalRead(t, l, "a.pdf", "")
	require.EqualError(t, err, "/a.pdf: the file is larger than 1 MB: ask for some pages")
}

func TestMultiModalReadConfig_Defaults(t *testing.T) {
	require.Equal(t, []int{10, 20, 100, 20, 150}, numbers(MultiModalReadConfig{MaxImageSizeMB: -1}.complete()))
	require.Equal(t, []int{2048, 2048, 2048, 1000, 600}, numbers(MultiModalReadConfig{
		MaxImageSizeMB: 1 << 40, MaxPDFSizeMB: 1 << 40, MaxPagedPDFSizeMB: 1 << 40, MaxPDFPagesPerRequest: 1 << 40,
		PDFRenderDPI: 1 << 40,
	}.complete()))
}

func numbers(c MultiModalReadConfig) []int {
	return []int{c.MaxImageSizeMB, c.MaxPDFSizeMB, c.MaxPagedPDFSizeMB, c.MaxPDFPagesPerRequest, c.PDFRenderDPI}
}
