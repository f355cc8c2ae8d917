package kit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Media is a file, an image, a piece of audio or a video, by URL or by content.
type Media struct {
	// URL or Base64, never both.
	URL, Base64 string
	// MIME is the type of the content, without parameters. It may be empty for a URL.
	MIME string
}

// NewMedia checks what a message says about a medium: URL or content, a content with a type. A data URL is taken apart.
// A type that is not said is found in the content.
func NewMedia(url, data, mime string) (Media, error) {
	if m, d, ok := SplitDataURL(url); ok {
		if data != "" {
			return Media{}, errBothMedia
		}
		url, data = "", d
		if mime == "" {
			mime = m
		}
	}
	if m, d, ok := SplitDataURL(data); ok {
		data = d
		if mime == "" {
			mime = m
		}
	}
	if scheme, rest, ok := strings.Cut(mime, ";"); ok && rest != "" {
		mime = strings.TrimSpace(scheme)
	}
	switch {
	case url != "" && data != "":
		return Media{}, errBothMedia
	case url != "":
		return Media{URL: url, MIME: mime}, nil
	case data == "":
		return Media{}, errors.New("URL or Base64Data is required")
	}
	if mime == "" {
		if mime = sniff(data); mime == "" {
			return Media{}, errors.New("MIMEType is required with Base64Data")
		}
	}
	return Media{Base64: data, MIME: mime}, nil
}

var errBothMedia = errors.New("URL and Base64Data are both set: choose one")

// DataURL returns the content as a data URL, or the URL.
func (m Media) DataURL() string {
	if m.URL != "" {
		return m.URL
	}
	return fmt.Sprintf("data:%s;base64,%s", m.MIME, m.Base64)
}

// SplitDataURL takes a data URL in base64 apart.
func SplitDataURL(url string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ";base64,")
}

// sniff returns the type of content, "" if it is not clear.
func sniff(data string) string {
	head := data[:min(len(data), 1024)]
	head = head[:len(head)/4*4]
	content, err := base64.StdEncoding.DecodeString(head)
	if err != nil || len(content) == 0 {
		return ""
	}
	mime, _, _ := strings.Cut(http.DetectContentType(content), ";")
	if mime == "application/octet-stream" || mime == "text/plain" {
		return ""
	}
	return mime
}
