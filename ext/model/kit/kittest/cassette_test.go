package kittest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

const recorded = `
version: 2
interactions:
- id: 0
  request: {method: POST, url: "http://host/a", body: first}
  response: {code: 200, body: "data: ä\n\ndata: b\n\nrest", headers: {Content-Type: [text/event-stream; charset=utf-8]}}
- id: 1
  request: {method: POST, url: "http://host/a"}
  response: {code: 429, body: !!binary "AP8="}
`

func loadText(t *testing.T, text string) (*Cassette, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadCassette(file)
}

func mustLoad(t *testing.T) *Cassette {
	t.Helper()
	c, err := loadText(t, recorded)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange sends a request and returns the status and the body of the answer.
func exchange(t *testing.T, c *Cassette, url, body string) (int, string) {
	t.Helper()
	resp, err := (&http.Client{Transport: c}).Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func TestCassette_AnswersInOrder(t *testing.T) {
	c := mustLoad(t)
	for n, want := range []string{"data: ä\n\ndata: b\n\nrest", "\x00\xff"} {
		if c.Finished() == nil {
			t.Error("finished before request", n)
		}
		if _, got := exchange(t, c, "http://host/a", "sent"); got != want {
			t.Errorf("%q", got)
		}
	}
	if err := c.Finished(); err != nil {
		t.Error(err)
	}
	if sent := c.Sent(); len(sent) != 2 || string(sent[1]) != "sent" || string(c.Sent()[1]) != "sent" {
		t.Errorf("%q", sent)
	}
	if requests := c.Recorded(); string(requests[0]) != "first" {
		t.Errorf("%q", requests)
	}
}

func TestCassette_KnowsNothingElse(t *testing.T) {
	c := mustLoad(t)
	for n, ask := range []func(*http.Client) (*http.Response, error){
		func(c *http.Client) (*http.Response, error) { return c.Get("http://host/a") },
		func(c *http.Client) (*http.Response, error) { return c.Post("http://host/b", "", nil) },
		func(c *http.Client) (*http.Response, error) {
			return c.Post("http://host/a", "", iotest.ErrReader(errors.New("nothing is recorded in a reader")))
		},
	} {
		resp, err := ask(&http.Client{Transport: c})
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "nothing is recorded") {
			t.Error(n, err)
		}
	}
}

func TestLoadCassette_Errors(t *testing.T) {
	if _, err := LoadCassette(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, text := range []string{"interactions: []", "interactions: 3", "interactions: [{request: {body: [1]}}]"} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), "c.yaml") {
			t.Error(text, err)
		}
	}
}

func TestCassettes_ComeFromTheFolderOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvCassettes, dir)
	for _, name := range []string{"a/x.yaml", "a/y/z.yaml", "b/x.yaml", "a/README.md"} {
		_ = os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(recorded), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := Cassettes(t, "a")
	if len(found) != 2 || found[0].Name != "a/x" || found[1].Name != "a/y/z" || len(found[0].Load(t).Interactions) != 2 {
		t.Errorf("%v", found)
	}
	t.Setenv(EnvCassettes, filepath.Join(dir, "none"))
	if _, err := cassetteDir(); err == nil || !strings.Contains(err.Error(), "set WEFT_CASSETTES") {
		t.Error(err)
	}
	t.Setenv(EnvCassettes, "")
	t.Chdir(dir)
	if _, err := cassetteDir(); err == nil || !strings.Contains(err.Error(), "set WEFT_CASSETTES") {
		t.Error(err)
	}
}

func TestWith_ChangesAFreshCassette(t *testing.T) {
	whole := mustLoad(t)
	for name, c := range map[string]struct {
		change Change
		want   string
	}{
		"nothing":    {Cut(0), ""},
		"one":        {Cut(1), "data: ä\n\n"},
		"beyond":     {Cut(9), "data: ä\n\ndata: b\n\nrest"},
		"line ends":  {CRLF(), "data: ä\r\n\r\ndata: b\r\n\r\nrest"},
		"other size": {Split(7), "data: ä\n\ndata: b\n\nrest"},
	} {
		changed := whole.With(c.change)
		if _, got := exchange(t, changed, "http://host/a", ""); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if _, got := exchange(t, changed, "http://host/a", ""); got != "\x00\xff" {
			t.Errorf("%s: another answer is %q", name, got)
		}
	}
	if whole.Finished() == nil || string(whole.Interactions[0].Response.Body) != "data: ä\n\ndata: b\n\nrest" {
		t.Error("the first cassette has changed")
	}
}

func TestSplit_IsTheSameForOneSeed(t *testing.T) {
	sizes := func(seed uint64) (all []int) {
		i := new(Interaction)
		Split(seed)(i)
		r := i.pieces(bytes.Repeat([]byte("x"), 1000))
		for buffer := make([]byte, 500); ; {
			n, err := r.Read(buffer)
			if err == io.EOF {
				return all
			}
			all = append(all, n)
		}
	}
	a, b, c := sizes(1), sizes(1), sizes(2)
	if len(a) < 20 || len(a) != len(b) || len(a) == len(c) {
		t.Error(len(a), len(b), len(c))
	}
}

// TestEvents_OfRecordedStreams joins to the body, also for binary frames.
func TestEvents_OfRecordedStreams(t *testing.T) {
	kinds := map[string]int{}
	for _, r := range Cassettes(t, "anthropic", "gemini", "openai-compatible", "openai-responses") {
		for _, i := range r.Load(t).Interactions {
			if !i.streamed() {
				continue
			}
			kind, _, _ := strings.Cut(i.Response.Headers.Get("Content-Type"), ";")
			events := i.Events()
			kinds[kind]++
			if len(events) < 1 || !bytes.Equal(bytes.Join(events, nil), i.Response.Body) {
				t.Errorf("%s: %d events", r.Name, len(events))
			}
			if values := answerValues(i.Response.Body); len(values) < 1 {
				t.Errorf("%s: %d values", r.Name, len(values))
			}
		}
	}
	if kinds[string(FormatSSE)] < 20 || kinds[string(FormatFrames)] != 1 {
		t.Error(kinds)
	}
}
