package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/ext/model/kit"
)

// File is a file that the service keeps, for two days when this was written. Messages refer to it by URI.
type File struct {
	// Name is "files/…".
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	MIMEType    string `json:"mimeType"`
	URI         string `json:"uri"`
	SizeBytes   int64  `json:"sizeBytes,string"`
	// State is "ACTIVE" when the file can be used, "PROCESSING" before, and "FAILED" if it never can.
	State          string    `json:"state"`
	ExpirationTime time.Time `json:"expirationTime"`
	Error          *struct {
		Message string `json:"message"`
	} `json:"error"`
}

const (
	// uploadPiece is the size of the pieces in which a file is sent. The service wants multiples of 256 KiB.
	uploadPiece = 8 << 20
	// firstPoll and lastPoll are how long to wait before asking whether a file can be used.
	firstPoll = time.Second
	lastPoll  = 10 * time.Second
)

// Upload gives the service a file to keep, and waits until it can be used in messages. Vertex has no such files: put them
// into Cloud Storage, and refer to them as gs://….
func (m *resources) Upload(ctx context.Context, r io.Reader, mimeType string) (_ *File, err error) {
	e := m.engine
	defer e.info.Redactor.Recover(&err)
	switch {
	case e.vertex():
		return nil, e.failure(fmt.Errorf("files are not kept by Vertex: use Cloud Storage: %w", errors.ErrUnsupported))
	case mimeType == "":
		return nil, e.failure(errors.New("the type of the file is required"))
	}
	target, err := e.startUpload(ctx, mimeType)
	if err != nil {
		return nil, err
	}
	f, err := e.upload(ctx, target, r)
	if err != nil {
		return nil, err
	}
	return e.waitForFile(ctx, f)
}

// DeleteFile has the service forget a file.
func (m *resources) DeleteFile(ctx context.Context, name string) (err error) {
	defer m.engine.info.Redactor.Recover(&err)
	return m.engine.call(ctx, http.MethodDelete, name, nil, nil)
}

// startUpload returns the address to send the file to.
func (e *engine) startUpload(ctx context.Context, mimeType string) (string, error) {
	base, err := url.Parse(e.conf.client().BaseURL)
	if err != nil {
		return "", e.failure(err)
	}
	dir, version := path.Split(base.Path)
	base.Path = dir + "upload/" + version + "/files"
	resp, err := e.client.Do(ctx, kit.Request{Path: base.String(), Body: []byte(`{"file":{}}`), Headers: map[string]string{
		"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
		"X-Goog-Upload-Header-Content-Type": mimeType,
	}})
	if err != nil {
		return "", err
	}
	resp.Finish()
	target, err := url.Parse(resp.Header.Get("X-Goog-Upload-Url"))
	if err != nil || target.Host != base.Host || target.Scheme != base.Scheme {
		return "", e.info.Redactor.Failure("upload", errors.New("the service gave no address of its own to send the file to"))
	}
	return target.String(), nil
}

// upload sends the file in pieces.
func (e *engine) upload(ctx context.Context, target string, r io.Reader) (*File, error) {
	piece, next := make([]byte, uploadPiece), make([]byte, uploadPiece)
	n, err := io.ReadFull(r, piece)
	for offset := int64(0); ; {
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, e.info.Redactor.Failure("read the file", err)
		}
		last, more := err != nil, 0
		if !last { // whether this piece is the last one
			more, err = io.ReadFull(r, next)
			last = more == 0 && err == io.EOF
		}
		command := "upload"
		if last {
			command = "upload, finalize"
		}
		resp, failure := e.client.Do(ctx, kit.Request{
			Path: target, Body: piece[:n], ContentType: "application/octet-stream",
			Headers: map[string]string{
				"X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": strconv.FormatInt(offset, 10),
			},
		})
		if failure != nil {
			return nil, failure
		}
		if last {
			var answer struct{ File *File }
			if err := resp.Decode(&answer); err != nil {
				return nil, err
			}
			if answer.File == nil {
				return nil, e.info.Redactor.Failure("upload", errors.New("the service did not describe the file"))
			}
			return answer.File, nil
		}
		resp.Finish()
		offset += int64(n)
		piece, next, n = next, piece, more
	}
}

// waitForFile waits until a file can be used.
func (e *engine) waitForFile(ctx context.Context, f *File) (*File, error) {
	for delay := firstPoll; ; delay = min(2*delay, lastPoll) {
		switch f.State {
		case "PROCESSING":
		case "FAILED":
			reason := "it does not say why"
			if f.Error != nil {
				reason = f.Error.Message
			}
			return nil, e.info.Redactor.Failure("upload", fmt.Errorf("the service cannot use the file: %s", reason))
		default:
			return f, nil
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, e.info.Redactor.Failure("wait for the file", ctx.Err())
		}
		name := f.Name
		if !strings.HasPrefix(name, "files/") {
			return nil, e.info.Redactor.Failure("upload", errors.New("the service did not name the file"))
		}
		f = new(File)
		if err := e.call(ctx, http.MethodGet, name, nil, f); err != nil {
			return nil, err
		}
	}
}

// UnmarshalJSON implements json.Unmarshaler: sizes come as text or as numbers.
func (f *File) UnmarshalJSON(data []byte) error {
	type plain File
	return kit.DecodeLenient(data, (*plain)(f))
}

var _ json.Unmarshaler = (*File)(nil)
