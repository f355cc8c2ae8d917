package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/internal/text"
	"github.com/weftgo/weft/internal/safe"
)

// MultiModalReadConfig bounds what MultiModalRead returns. Zero and negative values mean the defaults.
type MultiModalReadConfig struct {
	// MaxImageSizeMB bounds an image. Default 10.
	MaxImageSizeMB int
	// MaxPDFSizeMB bounds a PDF that is returned whole. Default 20.
	MaxPDFSizeMB int
	// MaxPagedPDFSizeMB bounds a PDF of which pages are rendered. Default 100.
	MaxPagedPDFSizeMB int
	// MaxPDFPagesPerRequest bounds how many pages a request may ask for. Default 20.
	MaxPDFPagesPerRequest int
	// PDFRenderDPI is the resolution of pages. Default 150.
	PDFRenderDPI int
	// RenderPDF renders pages of a PDF. Without it a PDF can only be read whole.
	RenderPDF PDFRenderer
}

// PDFRenderer makes PNG images of the pages first to last of a PDF, counted from 1. If the document is shorter than
// last it returns the pages that there are; if it is shorter than first, an error.
type PDFRenderer func(ctx context.Context, pdf []byte, first, last, dpi int) (pages [][]byte, err error)

func (c MultiModalReadConfig) complete() MultiModalReadConfig {
	c.MaxImageSizeMB = orDefault(c.MaxImageSizeMB, 10, 2048)
	c.MaxPDFSizeMB = orDefault(c.MaxPDFSizeMB, 20, 2048)
	c.MaxPagedPDFSizeMB = orDefault(c.MaxPagedPDFSizeMB, 100, 2048)
	c.MaxPDFPagesPerRequest = orDefault(c.MaxPDFPagesPerRequest, 20, 1000)
	c.PDFRenderDPI = orDefault(c.PDFRenderDPI, 150, 600)
	return c
}

func orDefault(n, def, most int) int { return min(cmp.Or(max(n, 0), def), most) }

// imageFormat is a format of images that models understand.
type imageFormat struct {
	mime string
	is   func(data []byte) bool
}

func starts(magic ...string) func([]byte) bool {
	return func(data []byte) bool {
		for _, m := range magic {
			if bytes.HasPrefix(data, []byte(m)) {
				return true
			}
		}
		return false
	}
}

var (
	jpeg = imageFormat{"image/jpeg", starts("\xff\xd8\xff")}
	tiff = imageFormat{"image/tiff", starts("II*\x00", "MM\x00*")}

	// imageFormats by extension.
	imageFormats = map[string]imageFormat{
		".jpg":  jpeg,
		".jpeg": jpeg,
		".png":  {"image/png", starts("\x89PNG\r\n\x1a\n")},
		".gif":  {"image/gif", starts("GIF87a", "GIF89a")},
		".bmp":  {"image/bmp", starts("BM")},
		".webp": {"image/webp", func(data []byte) bool {
			return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
		}},
		".tiff": tiff,
		".tif":  tiff,
	}
)

// MultiModalRead returns an image (jpg, png, gif, bmp, webp, tiff) as a part, a PDF as one part or, with req.Pages, as
// an image for each page, and any other file like Read. The extension decides, and the content must agree with it.
func (l *Local) MultiModalRead(
	ctx context.Context, req *filesystem.MultiModalReadRequest,
) (*filesystem.MultiFileContent, error) {
	ext := strings.ToLower(path.Ext(req.FilePath))
	format, isImage := imageFormats[ext]
	if !isImage && ext != ".pdf" {
		content, err := l.Read(ctx, &req.ReadRequest)
		if err != nil {
			return nil, err
		}
		return &filesystem.MultiFileContent{FileContent: content}, nil
	}
	at, err := l.locate(ctx, req.FilePath)
	if err != nil {
		return nil, err
	}
	var parts []filesystem.FileContentPart
	if isImage {
		parts, err = l.readImage(ctx, at, format)
	} else {
		parts, err = l.readPDF(ctx, at, req.Pages)
	}
	if err != nil {
		return nil, at.explain(err)
	}
	return &filesystem.MultiFileContent{Parts: parts}, nil
}

// readMB reads a file of at most maxMB megabytes.
func (l *Local) readMB(ctx context.Context, at place, maxMB int, advice string) ([]byte, error) {
	f, _, err := l.openFile(at.name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(ctx, f, maxMB<<20)
	if err == text.ErrTooLarge {
		err = fmt.Errorf("the file is larger than %d MB: %s", maxMB, advice)
	}
	return data, err
}

func (l *Local) readImage(ctx context.Context, at place, format imageFormat) ([]filesystem.FileContentPart, error) {
	data, err := l.readMB(ctx, at, l.config.MultiModalRead.MaxImageSizeMB, "make it smaller")
	if err != nil {
		return nil, err
	}
	if !format.is(data) {
		return nil, fmt.Errorf("the content is not of the type %s that the extension promises", format.mime)
	}
	return []filesystem.FileContentPart{{Type: filesystem.FileContentPartTypeImage, MIMEType: format.mime,
		Data: data}}, nil
}

func (l *Local) readPDF(ctx context.Context, at place, pages string) ([]filesystem.FileContentPart, error) {
	config := &l.config.MultiModalRead
	limit, advice := config.MaxPDFSizeMB, "ask for some pages"
	var first, last int
	if pages != "" {
		var err error
		if first, last, err = parsePages(pages, config.MaxPDFPagesPerRequest); err != nil {
			return nil, err
		}
		if config.RenderPDF == nil {
			return nil, errors.New("pages of a PDF cannot be rendered: leave pages empty, or set MultiModalRead.RenderPDF in the backend's config")
		}
		limit, advice = config.MaxPagedPDFSizeMB, "split it"
	}
	data, err := l.readMB(ctx, at, limit, advice)
	if err != nil {
		return nil, err
	}
	// Some writers put a few bytes before the header; readers accept that.
	if !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return nil, errors.New("the content is not a PDF")
	}
	if pages == "" {
		return []filesystem.FileContentPart{{Type: filesystem.FileContentPartTypePDF, MIMEType: "application/pdf",
			Data: data}}, nil
	}
	images, err := config.render(ctx, data, first, last)
	if err != nil {
		return nil, fmt.Errorf("rendering pages %s: %w", pages, err)
	}
	parts := make([]filesystem.FileContentPart, len(images))
	for i, image := range images {
		parts[i] = filesystem.FileContentPart{Type: filesystem.FileContentPartTypeImage, MIMEType: "image/png", Data: image}
	}
	return parts, nil
}

func (c *MultiModalReadConfig) render(ctx context.Context, data []byte, first, last int) (images [][]byte, err error) {
	defer safe.Recover(&err)
	images, err = c.RenderPDF(ctx, data, first, last, c.PDFRenderDPI)
	if err == nil && len(images) == 0 {
		err = errors.New("the renderer returned no page")
	}
	return images, err
}

// parsePages reads "3" or "1-10".
func parsePages(pages string, most int) (first, last int, err error) {
	from, to, isRange := strings.Cut(pages, "-")
	first, err = strconv.Atoi(from)
	last = first
	if err == nil && isRange {
		last, err = strconv.Atoi(to)
	}
	switch {
	case err != nil || first < 1 || last < 1:
		return 0, 0, fmt.Errorf("invalid pages %q: expected a page like \"3\" or a range like \"1-10\"", pages)
	case last < first:
		return 0, 0, fmt.Errorf("invalid pages %q: the last page comes before the first", pages)
	case last-first >= most:
		return 0, 0, fmt.Errorf("invalid pages %q: at most %d pages can be read at once", pages, most)
	}
	return first, last, nil
}
