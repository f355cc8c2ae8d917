package kittest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// EnvCassettes is the environment variable that names the folder of the recordings.
const EnvCassettes = "WEFT_CASSETTES"

// cassetteDir returns the folder of the recordings: the one that the environment names, or the one next to the
// repository that the working directory is in. The error says what to do when there is none.
func cassetteDir() (string, error) {
	dir := os.Getenv(EnvCassettes)
	if dir == "" {
		root, err := repository()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "..", "shared", "cassettes")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("no recordings in %s: set %s to their folder", dir, EnvCassettes)
	}
	return dir, nil
}

// repository returns the closest folder above with a go.work.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no repository above the working directory: set %s to the folder of the recordings",
				EnvCassettes)
		}
		dir = parent
	}
}

// A Recording is a file of recorded traffic.
type Recording struct {
	Name string // path below the folder of the recordings, without its extension
	File string
}

// Load reads the recording. Each call returns a cassette of its own.
func (r Recording) Load(t testing.TB) *Cassette {
	t.Helper()
	c, err := LoadCassette(r.File)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Cassettes returns the recordings below folders such as "anthropic" or "openai-chat/gpt-5", sorted. It skips the test
// when there are no recordings on this machine, and fails it when a folder has none.
func Cassettes(t testing.TB, folders ...string) (found []Recording) {
	t.Helper()
	dir, err := cassetteDir()
	if err != nil {
		t.Skip(err)
	}
	for _, folder := range folders {
		before := len(found)
		err := filepath.WalkDir(filepath.Join(dir, folder), func(file string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(file) == ".yaml" {
				name, _ := filepath.Rel(dir, file)
				name = strings.TrimSuffix(filepath.ToSlash(name), ".yaml")
				found = append(found, Recording{Name: name, File: file})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == before {
			t.Fatalf("no recordings below %s", filepath.Join(dir, folder))
		}
	}
	return found
}

// A Body is a recorded body: text, or bytes that the file has as !!binary.
type Body []byte

// UnmarshalYAML implements yaml.Unmarshaler. Binary values are decoded, all others stay as they are.
func (b *Body) UnmarshalYAML(value *yaml.Node) error {
	var text string
	if err := value.Decode(&text); err != nil {
		return err
	}
	*b = Body(text)
	return nil
}

// An Interaction is a recorded request and its response.
type Interaction struct {
	Request struct {
		Method  string
		URL     string
		Headers http.Header
		Body    Body
	}
	Response struct {
		Code    int
		Headers http.Header
		Body    Body
	}

	pieces func(body []byte) io.Reader // how the body arrives; nil: as asked for
}

// HTTPRequest returns the recorded request.
func (i *Interaction) HTTPRequest() (*http.Request, error) {
	req, err := http.NewRequest(i.Request.Method, i.Request.URL, bytes.NewReader(i.Request.Body))
	if err == nil && i.Request.Headers != nil {
		req.Header = i.Request.Headers.Clone()
	}
	return req, err
}

// A Cassette is an http.RoundTripper that answers each request with the first recorded response to the same method and
// URL that it has not given yet. Nothing reaches the network. It is safe for concurrent use.
type Cassette struct {
	Interactions []*Interaction

	mu     sync.Mutex // mu guards played, sent
	played []*Interaction
	sent   []*http.Request
}

// LoadCassette reads a file of recorded traffic.
func LoadCassette(file string) (*Cassette, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := new(Cassette)
	if err := yaml.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(c.Interactions) == 0 {
		return nil, fmt.Errorf("%s: no interactions", file)
	}
	return c, nil
}

// RoundTrip implements http.RoundTripper.
func (c *Cassette) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := req.Clone(req.Context())
	if req.Body != nil {
		defer req.Body.Close()
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		sent.Body = io.NopCloser(bytes.NewReader(body))
		sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, sent)
	for _, i := range c.Interactions {
		if slices.Contains(c.played, i) || i.Request.Method != req.Method || i.Request.URL != req.URL.String() {
			continue
		}
		c.played = append(c.played, i)
		return i.response(req), nil
	}
	return nil, fmt.Errorf("nothing is recorded for request %d, %s %s", len(c.sent), req.Method, req.URL)
}

func (i *Interaction) response(req *http.Request) *http.Response {
	body := io.Reader(bytes.NewReader(i.Response.Body))
	if i.pieces != nil {
		body = i.pieces(i.Response.Body)
	}
	header := i.Response.Headers.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", i.Response.Code, http.StatusText(i.Response.Code)),
		StatusCode: i.Response.Code,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        header,
		Body:          io.NopCloser(body),
		ContentLength: -1,
		Request:       req,
	}
}

// Requests returns the requests so far. Their bodies may be read once; GetBody opens them again.
func (c *Cassette) Requests() []*http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

// Sent returns the bodies of the requests so far; nil for a request without one.
func (c *Cassette) Sent() (bodies [][]byte) {
	for _, req := range c.Requests() {
		var body []byte
		if req.GetBody != nil {
			r, _ := req.GetBody()
			body, _ = io.ReadAll(r)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// Recorded returns the bodies of the recorded requests.
func (c *Cassette) Recorded() (bodies [][]byte) {
	for _, i := range c.Interactions {
		bodies = append(bodies, i.Request.Body)
	}
	return bodies
}

// Finished returns an error unless every recorded response was given.
func (c *Cassette) Finished() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for n, i := range c.Interactions {
		if !slices.Contains(c.played, i) {
			errs = append(errs, fmt.Errorf("interaction %d was not asked for", n))
		}
	}
	return errors.Join(errs...)
}
