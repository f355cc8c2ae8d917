// Package cassette replays recorded HTTP exchanges.
//
// Tests give a [Cassette] to an http.Client as its transport and get the recorded responses instead of a server's.
// It must never let a request through to the network.
package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"go.yaml.in/yaml/v3"
)

// EnvDir is the environment variable that names the folder of the recordings.
const EnvDir = "WEFT_CASSETTES"

// Dir returns the folder of the recordings: that of the environment, or the one next to the repository that the working
// directory is in. The error says what to do when there is none.
func Dir() (string, error) {
	dir := os.Getenv(EnvDir)
	if dir == "" {
		root, err := repository()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "..", "shared", "cassettes")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("no recordings in %s: set %s to their folder", dir, EnvDir)
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
			return "", fmt.Errorf("no repository above the working directory: set %s to the folder of the recordings", EnvDir)
		}
		dir = parent
	}
}

// An Interaction is a recorded request and its response.
type Interaction struct {
	Request struct {
		Method string
		URL    string
		Body   string
	}
	Response struct {
		Code    int
		Headers http.Header
		Body    string
	}
	played bool
}

// A Cassette is an http.RoundTripper that answers each request with the first recorded response to the same method and
// URL that it has not given yet. It is safe for concurrent use.
type Cassette struct {
	Interactions []*Interaction

	mu   sync.Mutex
	sent [][]byte
}

// Load reads a recording.
func Load(file string) (*Cassette, error) {
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
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, body)
	for _, i := range c.Interactions {
		if i.played || i.Request.Method != req.Method || i.Request.URL != req.URL.String() {
			continue
		}
		i.played = true
		return &http.Response{
			Status:     fmt.Sprintf("%d %s", i.Response.Code, http.StatusText(i.Response.Code)),
			StatusCode: i.Response.Code,
			Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header:        i.Response.Headers.Clone(),
			Body:          io.NopCloser(bytes.NewReader([]byte(i.Response.Body))),
			ContentLength: -1,
			Request:       req,
		}, nil
	}
	return nil, fmt.Errorf("nothing is recorded for request %d, %s %s", len(c.sent), req.Method, req.URL)
}

// Sent returns the bodies of the requests so far.
func (c *Cassette) Sent() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// Finished returns an error unless every recorded response was given.
func (c *Cassette) Finished() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for n, i := range c.Interactions {
		if !i.played {
			errs = append(errs, fmt.Errorf("interaction %d was not asked for", n))
		}
	}
	return errors.Join(errs...)
}
