package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/weftgo/weft/ext/model/kit"
)

const (
	// responsesFirstPoll and responsesLastPoll are how long to wait before the server is asked again.
	responsesFirstPoll = 2 * time.Second
	responsesLastPoll  = 10 * time.Second
	// maxResponsesReconnects is the number of times that a stream is continued without any new event.
	maxResponsesReconnects = 5
	// responsesCancelTime limits the time that cancelling takes, once no caller waits for the answer.
	responsesCancelTime = 5 * time.Second
)

// responsesBackground follows a response that the server makes in the background. It belongs to the goroutine that
// reads the answer, but for what mu guards.
type responsesBackground struct {
	call *responsesCall
	ctx  context.Context

	mu   sync.Mutex // mu guards id, over
	id   string     // of the response, "" as long as it is unknown
	over bool       // the server has finished

	wait time.Duration
	// seen is the number of the latest event, -1 for none; tries counts the connections since.
	seen  int
	tries int
}

// isNew reports whether an event was not there before, and notes it.
func (b *responsesBackground) isNew(e *responsesEvent) bool {
	if len(e.Response) > 0 && b.running() == "" {
		var head struct{ ID string }
		_ = json.Unmarshal(e.Response, &head) // an event without an ID is none to continue at
		b.started(head.ID)
	}
	if e.Sequence == nil {
		return true
	}
	if *e.Sequence <= b.seen {
		return false
	}
	b.seen, b.tries = *e.Sequence, 0
	return true
}

// started notes the ID of the response.
func (b *responsesBackground) started(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.id = id
}

// finished notes that the server has.
func (b *responsesBackground) finished() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// running returns the ID of the response as long as the server works on it.
func (b *responsesBackground) running() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return ""
	}
	return b.id
}

func responsesPath(id string) string { return "responses/" + url.PathEscape(id) }

// pause waits before the server is asked again.
func (b *responsesBackground) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-b.ctx.Done():
		return fmt.Errorf("openai: %w", b.ctx.Err())
	}
}

func (b *responsesBackground) get(query string, stream bool) (*kit.Response, error) {
	return b.call.engine.client.Do(b.ctx, kit.Request{
		Method: http.MethodGet, Path: responsesPath(b.running()) + query, Stream: stream, Headers: b.call.ExtraHeaders(),
	})
}

// poll asks for a response that was not finished.
func (c *responsesChunks) poll() error {
	b := c.background
	b.wait = min(max(responsesFirstPoll, b.wait*3/2), responsesLastPoll)
	if err := b.pause(b.wait); err != nil {
		return err
	}
	resp, err := b.get("", false)
	if err != nil {
		return err
	}
	return c.follow(resp)
}

// follow reads on in another response.
func (c *responsesChunks) follow(resp *kit.Response) error {
	if !c.replace(resp) {
		resp.Close()
		return errors.New("openai: the answer was closed")
	}
	return nil
}

// reconnect continues a stream whose connection was lost, if that can be. It returns the error otherwise.
func (c *responsesChunks) reconnect(lost error) error {
	b := c.background
	if b == nil || b.running() == "" || b.ctx.Err() != nil {
		return lost
	}
	for b.tries < maxResponsesReconnects {
		b.tries++
		if err := b.pause(time.Duration(b.tries-1) * responsesFirstPoll / 4); err != nil {
			return err
		}
		resp, err := b.get(fmt.Sprintf("?stream=true&starting_after=%d", b.seen), true)
		var refused *kit.APIError
		switch {
		case err == nil:
			return c.follow(resp)
		case errors.As(err, &refused) || b.ctx.Err() != nil:
			return err
		}
		lost = err
	}
	return lost
}

// cancel ends the work of the server, unless that has finished.
func (b *responsesBackground) cancel() {
	id := b.running()
	if id == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(b.ctx), responsesCancelTime)
	defer stop()
	resp, err := b.call.engine.client.Do(ctx, kit.Request{Path: responsesPath(id) + "/cancel", Headers: b.call.ExtraHeaders()})
	if err == nil {
		resp.Finish()
	} // No caller is left to tell: the server finishes the answer for nothing.
}
