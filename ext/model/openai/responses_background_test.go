package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

// responsesScript is a server in memory: it answers requests in turn, and keeps what was asked for, and when.
type responsesScript struct {
	start   time.Time
	asked   []string
	at      []time.Duration
	answers []func(*http.Request) (*http.Response, error)
}

func (s *responsesScript) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	s.asked = append(s.asked, req.Method+" "+req.URL.RequestURI())
	s.at = append(s.at, time.Since(s.start))
	if len(s.answers) == 0 {
		return nil, errors.New("the script has ended")
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer(req)
}

func scriptedJSON(body string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		return responsesBody{"application/json", func() io.Reader { return strings.NewReader(body) }}.RoundTrip(req)
	}
}

// scriptedEvents sends events and then fails, or ends if err is nil.
func scriptedEvents(events []kittest.Event, err error) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		var b strings.Builder
		for _, e := range events {
			b.WriteString("data: " + e.Data + "\n\n")
		}
		return responsesBody{"text/event-stream", func() io.Reader {
			if err == nil {
				return strings.NewReader(b.String())
			}
			return io.MultiReader(strings.NewReader(b.String()), failingReader{err})
		}}.RoundTrip(req)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func newScripted(t *testing.T, answers ...func(*http.Request) (*http.Response, error)) (*openai.ResponsesModel, *responsesScript) {
	s := &responsesScript{start: time.Now(), answers: answers}
	return newResponses(t, responsesAt("https://api.openai.com", func(c *openai.ResponsesConfig) {
		c.Background, c.HTTPClient = true, &http.Client{Transport: s}
	})), s
}

const (
	queuedDoc  = `{"id":"resp_1","status":"queued","output":[]}`
	workingDoc = `{"id":"resp_1","status":"in_progress","output":[]}`
)

// Rule providers/R26
func TestResponsesBackground_GenerateAsksUntilTheAnswerIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newScripted(t, scriptedJSON(queuedDoc), scriptedJSON(workingDoc), scriptedJSON(workingDoc), scriptedJSON(workingDoc),
			scriptedJSON(workingDoc), scriptedJSON(workingDoc), scriptedJSON(responsesDoc("resp_1", "completed", thoughtItem1, textItemHi)))
		answer, err := m.Generate(t.Context(), userSays("go"))
		require.NoError(t, err)
		require.Equal(t, "hi", answer.ContentBlocks[1].AssistantGenText.Text)
		require.Equal(t, 8, answer.ResponseMeta.TokenUsage.TotalTokens)
		require.Equal(t, "POST /v1/responses", s.asked[0])
		for _, asked := range s.asked[1:] {
			require.Equal(t, "GET /v1/responses/resp_1", asked)
		}
		require.Equal(t, 2*time.Second, s.at[1])
		require.Equal(t, 3*time.Second, s.at[2]-s.at[1])
		require.Equal(t, 10*time.Second, s.at[6]-s.at[5])
	})
}

func TestResponsesBackground_FailuresAreErrors(t *testing.T) {
	for name, test := range map[string]struct {
		doc  string
		kind kit.Kind
	}{
		"failed":    {`{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}`, kit.ErrServer},
		"cancelled": {`{"id":"resp_1","status":"cancelled","output":[]}`, kit.ErrCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := newScripted(t, scriptedJSON(queuedDoc), scriptedJSON(test.doc))
				_, err := m.Generate(t.Context(), userSays("go"))
				require.ErrorIs(t, err, test.kind)
				require.Len(t, s.asked, 2, "what has ended is not cancelled")
			})
		})
	}
}

// Rule providers/R26
func TestResponsesBackground_EndOfTheContextCancelsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newScripted(t, scriptedJSON(queuedDoc), scriptedJSON(workingDoc), scriptedJSON(workingDoc))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := m.Generate(ctx, userSays("go"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "POST /v1/responses/resp_1/cancel", s.asked[len(s.asked)-1])
	})
}

func TestResponsesBackground_ClosingAStreamCancelsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := kittest.ResponsesStream("one", "two", "three")
		m, s := newScripted(t, scriptedEvents(good.Events[:4], nil), func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}, scriptedJSON(`{"id":"resp_1","status":"cancelled"}`))
		sr, err := m.Stream(t.Context(), userSays("go"))
		require.NoError(t, err)
		_, err = sr.Recv()
		require.NoError(t, err)
		synctest.Wait() // for the request that continues the stream
		sr.Close()
		synctest.Wait()
		time.Sleep(time.Second)
		require.Equal(t, "POST /v1/responses/resp_1/cancel", s.asked[len(s.asked)-1])
	})
}

// Rule providers/R26
func TestResponsesBackground_LostStreamIsContinued(t *testing.T) {
	good := kittest.ResponsesStream("one", "two", "three")
	reset := errors.New("connection reset by peer")
	for name, lost := range map[string]error{"reset": reset, "clean end": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := newScripted(t, scriptedEvents(good.Events[:4], lost), scriptedEvents(good.Events[3:6], lost),
					scriptedEvents(nil, lost), scriptedEvents(good.Events[6:], nil))
				sr, err := m.Stream(t.Context(), userSays("go"))
				require.NoError(t, err)
				answer, err := joinResponses(sr)
				require.NoError(t, err)
				require.Equal(t, "onetwothree", answer.ContentBlocks[0].AssistantGenText.Text)
				require.Equal(t, []string{"POST /v1/responses", "GET /v1/responses/resp_1?stream=true&starting_after=3",
					"GET /v1/responses/resp_1?stream=true&starting_after=5", "GET /v1/responses/resp_1?stream=true&starting_after=5"}, s.asked)
			})
		})
	}
	t.Run("with the whole answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, _ := newScripted(t, scriptedEvents(good.Events[:4], nil), scriptedJSON(`{"id":"resp_1","status":"completed","output":[`+
				`{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"onetwothree"}]}]}`))
			sr, err := m.Stream(t.Context(), userSays("go"))
			require.NoError(t, err)
			answer, err := joinResponses(sr)
			require.NoError(t, err)
			require.Equal(t, "onetwothree", answer.ContentBlocks[0].AssistantGenText.Text)
		})
	})
	t.Run("not forever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			answers := []func(*http.Request) (*http.Response, error){scriptedEvents(good.Events[:4], nil)}
			for range 10 {
				answers = append(answers, scriptedEvents(nil, reset))
			}
			m, s := newScripted(t, answers...)
			sr, err := m.Stream(t.Context(), userSays("go"))
			require.NoError(t, err)
			_, err = joinResponses(sr)
			require.ErrorContains(t, err, "reset")
			synctest.Wait() // the work is cancelled behind the error
			require.Len(t, s.asked, 1+5+1, "five more connections, and the work is cancelled")
			require.Contains(t, s.asked[6], "/cancel")
		})
	})
	t.Run("not without the background", func(t *testing.T) {
		_, err := streamResponses(t, func() io.Reader {
			return strings.NewReader(string(good.Encode(good.Events[0])))
		})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// A document that is not finished is no answer (providers/R26).
func TestResponses_UnfinishedDocumentIsAnError(t *testing.T) {
	for _, doc := range []string{queuedDoc, workingDoc} {
		m := newResponses(t, responsesAt("https://api.openai.com", func(c *openai.ResponsesConfig) {
			c.HTTPClient = &http.Client{Transport: responsesBody{"application/json", func() io.Reader { return strings.NewReader(doc) }}}
		}))
		_, err := m.Generate(t.Context(), userSays("go"))
		require.ErrorContains(t, err, "not finished")
	}
}

func TestResponsesBackground_RequestIsStored(t *testing.T) {
	body := mustSendResponses(t, []*schema.AgenticMessage{schema.UserAgenticMessage("u")},
		func(c *openai.ResponsesConfig) { c.Background = true })
	require.Equal(t, true, body["background"])
	require.Equal(t, true, body["store"])
	require.Equal(t, fmt.Sprint([]any{"reasoning.encrypted_content"}), fmt.Sprint(body["include"]))
}
