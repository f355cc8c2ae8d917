package gemini_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A store is a service that takes files.
type store struct {
	base     string
	got      bytes.Buffer
	commands []string
	polls    int // how often a file is still processed
	state    string
}

func (s *store) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req}
	answer := func(text string) (*http.Response, error) {
		resp.Body = io.NopCloser(strings.NewReader(text))
		return resp, nil
	}
	command := req.Header.Get("X-Goog-Upload-Command")
	switch {
	case command == "start":
		s.commands = append(s.commands, "start "+req.URL.Path+" "+req.Header.Get("X-Goog-Upload-Header-Content-Type"))
		resp.Header.Set("X-Goog-Upload-Url", s.base+"/upload/v1beta/files?upload_id=1")
		return answer("{}")
	case command != "":
		n, _ := io.Copy(&s.got, req.Body)
		s.commands = append(s.commands, fmt.Sprint(command, " ", req.Header.Get("X-Goog-Upload-Offset"), " ", n))
		if strings.Contains(command, "finalize") {
			return answer(`{"file":{"name":"files/1","uri":"u","state":"PROCESSING","sizeBytes":"` + fmt.Sprint(s.got.Len()) + `"}}`)
		}
		return answer("")
	}
	s.commands = append(s.commands, req.Method+" "+req.URL.Path)
	if s.polls--; s.polls > 0 {
		return answer(`{"name":"files/1","state":"PROCESSING"}`)
	}
	return answer(`{"name":"files/1","uri":"https://g/files/1","mimeType":"video/mp4","sizeBytes":"5","state":"` + s.state + `","error":{"message":"why"}}`)
}

// Rule providers/G22.
func TestUpload_InPieces_AndWaitsUntilTheFileCanBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const piece = 8 << 20
		for _, size := range []int{0, 5, piece, piece + 1, 2 * piece} {
			s := &store{base: "https://generativelanguage.googleapis.com", polls: 3, state: "ACTIVE"}
			conf, _ := fake(t, "")
			conf.HTTPClient.Transport = s
			data := bytes.Repeat([]byte("x"), size)
			f, err := chat(t, conf).Upload(t.Context(), iotest.HalfReader(bytes.NewReader(data)), "video/mp4")
			require.NoError(t, err)
			require.Equal(t, "https://g/files/1", f.URI)
			require.EqualValues(t, 5, f.SizeBytes)
			require.Equal(t, size, s.got.Len())
			require.Equal(t, "start /upload/v1beta/files video/mp4", s.commands[0])
			want := []string{"upload, finalize 0 " + fmt.Sprint(size)}
			if size > piece {
				want = []string{fmt.Sprint("upload 0 ", piece), fmt.Sprint("upload, finalize ", piece, " ", size-piece)}
			}
			require.Equal(t, append(want, "GET /v1beta/files/1", "GET /v1beta/files/1", "GET /v1beta/files/1"), s.commands[1:])
		}
	})
}

func TestUpload_Failures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf, _ := fake(t, "")
		s := &store{base: "https://evil.example", state: "FAILED"}
		conf.HTTPClient.Transport = s
		m := agentic(t, conf)
		_, err := m.Upload(t.Context(), strings.NewReader("x"), "text/plain")
		require.ErrorContains(t, err, "no address of its own")
		require.Len(t, s.commands, 1)
		s.base = "https://generativelanguage.googleapis.com"
		_, err = m.Upload(t.Context(), strings.NewReader("x"), "text/plain")
		require.ErrorContains(t, err, "cannot use the file: why")
		_, err = m.Upload(t.Context(), iotest.ErrReader(errors.New("broken")), "text/plain")
		require.ErrorContains(t, err, "read the file: broken")
		_, err = m.Upload(t.Context(), strings.NewReader("x"), "")
		require.ErrorContains(t, err, "the type of the file is required")
		ctx, cancel := context.WithCancelCause(t.Context())
		s.polls = 1 << 20
		cancel(nil)
		_, err = m.Upload(ctx, strings.NewReader("x"), "text/plain")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, m.DeleteFile(t.Context(), "../x"), "the name of the resource")
		require.NoError(t, m.DeleteFile(t.Context(), "files/1"))
		require.Equal(t, "DELETE /v1beta/files/1", s.commands[len(s.commands)-1])
	})
	conf, s := fake(t, "")
	vertex(conf, s)
	_, err := agentic(t, conf).Upload(t.Context(), strings.NewReader("x"), "text/plain")
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
