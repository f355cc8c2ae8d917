package qdrant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer limits how many bytes of an answer are read.
const maxAnswer = 256 << 20

// An Error is the answer of a server that refuses a request.
type Error struct {
	StatusCode int
	Message    string
}

func (e *Error) Error() string { return fmt.Sprintf("status %d: %s", e.StatusCode, e.Message) }

// isStatus reports whether the server answered with this status.
func isStatus(err error, status int) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.StatusCode == status
}

// client sends requests.
type client struct {
	url, key string
	http     *http.Client
}

// call sends a request below /collections/<collection>, and reads the result into result, if that is not nil. A nil
// body is none.
func (c *client) call(ctx context.Context, method, collection, path string, body, result any) error {
	request, err := c.request(ctx, method, collection, path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.failure(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Status json.RawMessage `json:"status"`
	}
	malformed := json.Unmarshal(data, &answer)
	if response.StatusCode != http.StatusOK {
		return &Error{StatusCode: response.StatusCode, Message: c.reason(answer.Status, data)}
	}
	if malformed != nil {
		return fmt.Errorf("the answer is not that of Qdrant: %w", malformed)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("the result is not understood: %w", err)
	}
	return nil
}

func (c *client) request(ctx context.Context, method, collection, path string, body any) (*http.Request, error) {
	if collection == "" || collection == "." || collection == ".." {
		return nil, fmt.Errorf("a collection cannot be called %q", collection)
	}
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("the request cannot be written as JSON: %w", err)
		}
		content = bytes.NewReader(data)
	}
	target := c.url + "/collections/" + url.PathEscape(collection) + path
	request, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, c.failure(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("api-key", c.key)
	}
	return request, nil
}

// failure leaves out the URL, which may have a password in it.
func (c *client) failure(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("asking the server: %w", err)
}

// reason returns the server's words, without the key.
func (c *client) reason(status json.RawMessage, data []byte) string {
	var refusal struct {
		Error string `json:"error"`
	}
	text := string(data[:min(len(data), 500)])
	if json.Unmarshal(status, &refusal) == nil && refusal.Error != "" {
		text = refusal.Error
	}
	if c.key != "" {
		text = strings.ReplaceAll(text, c.key, "[redacted]")
	}
	return text
}
