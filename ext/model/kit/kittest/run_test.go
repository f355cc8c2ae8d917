package kittest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A client that reads all formats, as well as a client has to; its fields make it worse.
type client struct {
	transport                                              *http.Transport
	takesCuts, retriesNothing, followsWithKey, skipsErrors bool
}

var errFinal = errors.New("final")

func (c *client) call(ctx context.Context, baseURL string) (text string, err error) {
	for n := 0; ; n++ {
		text, err = c.try(ctx, baseURL)
		var wait retryable
		final := !errors.As(err, &wait) || time.Duration(wait) > time.Minute
		if err == nil || text != "" || n == 2 || c.retriesNothing || final {
			return text, err
		}
		select {
		case <-ctx.Done():
			return text, ctx.Err()
		case <-time.After(time.Duration(wait)):
		}
	}
}

type retryable time.Duration

func (r retryable) Error() string { return "retry after " + time.Duration(r).String() }

func (c *client) try(ctx context.Context, baseURL string) (string, error) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+"/v1/x", strings.NewReader("{}"))
	req.Header.Set("X-Api-Key", "secret")
	doer := &http.Client{Transport: c.transport, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if !c.followsWithKey {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := doer.Do(req)
	if err != nil {
		return "", fmt.Errorf("%w: %w", retryable(0), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode < 429 {
			return "", errFinal
		}
		return "", retryable(retryAfter(resp.Header))
	}
	return c.read(resp.Body, Format(resp.Header.Get("Content-Type")))
}

func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.Atoi(h.Get("Retry-After-Ms")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return time.Duration(s) * time.Second
	}
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Until(at)
}

func (c *client) read(body io.Reader, format Format) (text string, err error) {
	next := lines(body)
	if format == FormatFrames {
		next = frames(body)
	}
	for {
		data, err := next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
			if c.takesCuts {
				return text, nil
			}
		}
		if err != nil {
			return text, err
		}
		if len(data) == 0 {
			continue
		}
		piece, end, err := meaning(data)
		if err != nil && !c.skipsErrors {
			return text, err
		}
		text += piece
		if end {
			return text, nil
		}
	}
}

// lines returns the JSON of the next line; nothing for a line without.
func lines(body io.Reader) func() ([]byte, error) {
	reader := bufio.NewReaderSize(body, 1<<16)
	return func() (line []byte, err error) {
		for {
			piece, err := reader.ReadSlice('\n')
			line = append(line, piece...)
			if len(line) > 32<<20 {
				return nil, errFinal
			}
			if err == nil || err == io.EOF && len(line) > 0 {
				break
			}
			if err != bufio.ErrBufferFull {
				return nil, err
			}
		}
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		for _, ignored := range []string{":", "event:", "id:", "retry:"} {
			if bytes.HasPrefix(line, []byte(ignored)) {
				return nil, nil
			}
		}
		return bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:"))), nil
	}
}

func frames(body io.Reader) func() ([]byte, error) {
	return func() ([]byte, error) {
		head := make([]byte, 4)
		if _, err := io.ReadFull(body, head); err != nil {
			return nil, err
		}
		size := int(head[0])<<24 | int(head[1])<<16 | int(head[2])<<8 | int(head[3])
		if size > 16<<20 {
			return nil, errFrame
		}
		frame := append(head, make([]byte, size-4)...)
		if _, err := io.ReadFull(body, frame[4:]); err != nil {
			return nil, err
		}
		payloads, err := framePayloads(frame)
		if err != nil {
			return nil, err
		}
		return payloads[0], nil
	}
}

// meaning returns the text of an event of any provider, and whether the answer is complete.
func meaning(data []byte) (text string, end bool, err error) {
	var e struct {
		Type  string
		Error any
		Delta json.RawMessage
		Done  bool

		Message struct{ Content any }
		Choices []struct {
			Delta  struct{ Content string }
			Finish string `json:"finish_reason"`
		}
		Candidates []struct {
			Content struct{ Parts []struct{ Text string } }
			Finish  string `json:"finishReason"`
		}
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return "", false, err
	}
	if e.Error != nil || e.Type == "error" || string(data) == "null" {
		return "", false, errFinal
	}
	var delta struct{ Text string }
	if json.Unmarshal(e.Delta, &text) != nil && json.Unmarshal(e.Delta, &delta) == nil {
		text = delta.Text
	}
	for _, c := range e.Choices {
		text, end = c.Delta.Content, c.Finish != ""
	}
	for _, c := range e.Candidates {
		text, end = c.Content.Parts[0].Text, c.Finish != ""
	}
	if content, ok := e.Message.Content.(string); ok {
		text = content
	}
	return text, end || e.Done || e.Type == "message_stop" || e.Type == "response.completed", nil
}

func newClient(t *testing.T) *client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{transport: transport}
}

func goodStreams() map[string]Stream {
	texts := []string{"Grüße ", "世界", ", 🦊"}
	return map[string]Stream{
		"chat": ChatStream(texts...), "anthropic": AnthropicStream(texts...), "bedrock": BedrockStream(texts...),
		"responses": ResponsesStream(texts...), "gemini": GeminiStream(texts...), "ollama": OllamaStream(texts...),
	}
}

func TestRunMisbehaviours_AGoodClientPasses(t *testing.T) {
	for name, good := range goodStreams() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			RunMisbehaviours(t, good, newClient(t).call)
		})
	}
}

func TestCase_FindsBadClients(t *testing.T) {
	good := ChatStream("Grüße ", "世界")
	for _, bad := range []struct {
		name, in, want string
		change         func(*client)
	}{
		{"takes cuts", "clean end after 3 events", "want an error that wraps io.ErrUnexpectedEOF; got no error",
			func(c *client) { c.takesCuts = true }},
		{"retries nothing", "503 twice, then 200", "want the whole text",
			func(c *client) { c.retriesNothing = true }},
		{"takes the key to another host", "307 to another host", "credentials followed",
			func(c *client) { c.followsWithKey = true }},
		{"skips errors", "an error event in the middle", "want an error",
			func(c *client) { c.skipsErrors = true }},
	} {
		t.Run(bad.name, func(t *testing.T) {
			c := newClient(t)
			bad.change(c)
			err := caseNamed(t, good, bad.in).Run(t.Context(), good, c.call)
			if err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func caseNamed(t *testing.T, good Stream, name string) Case {
	t.Helper()
	for _, c := range Misbehaviours(good) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no case %q", name)
	return Case{}
}

func TestCase_FindsWhatNeitherReturnsNorEnds(t *testing.T) {
	good := ChatStream("a")
	silent := caseNamed(t, good, "headers, then silence")
	released := make(chan struct{})
	returned := make(chan struct{})
	stuck := func(context.Context, string) (string, error) {
		defer close(returned)
		<-released
		return "", nil
	}
	err := silent.Run(t.Context(), good, stuck)
	close(released)
	<-returned
	if err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("a call that does not return: %v", err)
	}
	err = silent.Run(t.Context(), good, newClient(t).leaving)
	if err == nil || !strings.Contains(err.Error(), "request still") {
		t.Errorf("a request that is left open: %v", err)
	}
	wrong := func(context.Context, string) (string, error) { return "b", nil }
	if err := caseNamed(t, good, "nothing wrong").Run(t.Context(), good, wrong); err == nil {
		t.Error("a wrong text was accepted")
	}
	panics := func(context.Context, string) (string, error) { panic("oh") }
	if err := caseNamed(t, good, "401").Run(t.Context(), good, panics); err == nil {
		t.Error("a panic was accepted")
	}
}

// leaving returns in time, but leaves its request open.
func (c *client) leaving(ctx context.Context, baseURL string) (string, error) {
	go func() { _, _ = c.try(context.WithoutCancel(ctx), baseURL) }()
	<-ctx.Done()
	return "", ctx.Err()
}
