package kittest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An Outcome is what a client has to make of a misbehaving server.
type Outcome string

// The outcomes.
const (
	Success   Outcome = "the whole text"
	Truncated Outcome = "an error that wraps io.ErrUnexpectedEOF"
	Failure   Outcome = "an error, before the deadline"
	GivesUp   Outcome = "the error of the context, at its deadline"
	Any       Outcome = "the whole text or an error, before the deadline"
)

// A Case is one misbehaviour.
type Case struct {
	Name    string
	Handler http.Handler // its state is for one run
	Want    Outcome
	Timeout time.Duration // deadline of the call's context
	Check   func() error  // what else must hold after the call; may be nil
}

const (
	ample = 30 * time.Second
	brief = 150 * time.Millisecond
	huge  = 128 << 20 // more than a client may keep of one answer
)

// Misbehaviours returns what can go wrong with a streamed answer below the provider's protocol. The text of the good
// stream should have a letter of several bytes.
func Misbehaviours(good Stream) []Case {
	return slices.Concat(
		silences(good), broken(good), cutAfterEvents(good), wrongBodies(good), statuses(good), oversized(good),
		spellings(good), errorEvents(good), []Case{redirect(good)},
	)
}

// first sends the beginning of the body: the first events, and part of the next one.
func (s Stream) first(events int, part bool) (body []byte) {
	for _, e := range s.Events[:events] {
		body = append(body, s.Encode(e)...)
	}
	if part {
		next := s.Encode(s.Events[events])
		body = append(body, next[:len(next)*2/3]...)
	}
	return body
}

func silences(good Stream) []Case {
	silent := func(body []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			good.begin(w)
			send(w, body)
			<-r.Context().Done()
		})
	}
	middle := good.Terminal / 2
	return []Case{
		{Name: "silence before headers", Want: GivesUp, Timeout: brief,
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })},
		{Name: "headers, then silence", Handler: silent(nil), Want: GivesUp, Timeout: brief},
		{Name: "events, then silence", Handler: silent(good.first(middle, false)), Want: GivesUp, Timeout: brief},
		{Name: "silence in an event", Handler: silent(good.first(middle, true)), Want: GivesUp, Timeout: brief},
		{Name: "nothing but comments", Handler: chatter(good), Want: GivesUp, Timeout: brief},
	}
}

// chatter sends what has no meaning until the client is gone.
func chatter(good Stream) http.Handler {
	noise := []byte(": still there\n\n")
	switch good.Format {
	case FormatNDJSON:
		noise = []byte("\n")
	case FormatFrames:
		noise = bedrockFrame(`{"type":"ping"}`)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		good.begin(w)
		for send(w, noise) {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}

// reset closes the client's connection hard, after what was flushed.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func broken(good Stream) []Case {
	after := func(body []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			good.begin(w)
			send(w, body)
			panic(http.ErrAbortHandler) // ends the connection without the last chunk
		})
	}
	raw := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, buffer, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = buffer.WriteString(text)
			_ = buffer.Flush()
			_ = conn.Close()
		})
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: " + string(good.Format) + "\r\nTransfer-Encoding: chunked\r\n"
	middle := good.Terminal / 2
	return []Case{
		{Name: "reset before headers", Want: Failure, Timeout: ample,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reset(w) })},
		{Name: "reset after headers", Handler: after(nil), Want: Failure, Timeout: ample},
		{Name: "reset after events", Handler: after(good.first(middle, false)), Want: Failure, Timeout: ample},
		{Name: "reset in an event", Handler: after(good.first(middle, true)), Want: Failure, Timeout: ample},
		{Name: "end in the headers", Handler: raw(head), Want: Failure, Timeout: ample},
		{Name: "end in a chunk", Handler: raw(head + "\r\nffff\r\ndata"), Want: Failure, Timeout: ample},
		{Name: "not HTTP", Handler: raw("SSH-2.0-server\r\n"), Want: Failure, Timeout: ample},
	}
}

// whole answers with a body of the stream's type.
func (s Stream) whole(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.begin(w)
		send(w, body)
	})
}

func cutAfterEvents(good Stream) (cases []Case) {
	for k := 1; k <= good.Terminal; k++ {
		cases = append(cases, Case{
			Name: fmt.Sprintf("clean end after %d events", k), Handler: good.whole(good.first(k, false)), Want: Truncated,
			Timeout: ample,
		})
	}
	return append(cases,
		Case{Name: "clean end in an event", Handler: good.whole(good.first(good.Terminal, true)), Want: Failure,
			Timeout: ample},
		Case{Name: "clean end after the terminal event", Handler: good.whole(good.first(good.Terminal+1, false)),
			Want: Success, Timeout: ample},
	)
}

func wrongBodies(good Stream) []Case {
	typed := func(kind, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
	}
	html := "<!DOCTYPE html>\n<html><body><h1>Sign in to the network</h1></body></html>\n"
	failure := `{"error":{"message":"upstream failed","type":"server_error"}}`
	return []Case{
		{Name: "200 with HTML", Handler: typed("text/html", html), Want: Failure, Timeout: ample},
		{Name: "200 with HTML as a stream", Handler: good.whole([]byte(html)), Want: Failure, Timeout: ample},
		{Name: "200 with a JSON error", Handler: typed("application/json", failure), Want: Failure, Timeout: ample},
		{Name: "200 with null", Handler: typed("application/json", "null"), Want: Failure, Timeout: ample},
		{Name: "200 with nothing", Handler: typed("application/json", ""), Want: Failure, Timeout: ample},
		{Name: "an empty stream", Handler: good.whole(nil), Want: Failure, Timeout: ample},
	}
}

// then answers the first requests with other handlers.
func then(last http.Handler, before ...http.Handler) http.Handler {
	var asked atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := int(asked.Add(1)); n <= len(before) {
			before[n-1].ServeHTTP(w, r)
			return
		}
		last.ServeHTTP(w, r)
	})
}

func statuses(good Stream) []Case {
	limited := func(header ...string) http.Handler {
		return Status(http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"rate_limit_error"}}`, header...)
	}
	inASecond := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now().Add(time.Second).UTC().Format(http.TimeFormat)
		limited("Retry-After", at).ServeHTTP(w, r)
	})
	failure := func(code int) http.Handler { return Status(code, `{"error":{"message":"no","type":"api_error"}}`) }
	unavailable := failure(http.StatusServiceUnavailable)
	return []Case{
		{Name: "429, retry after a second", Handler: then(good, limited("Retry-After", "1")), Want: Success, Timeout: ample},
		{Name: "429, retry at a date", Handler: then(good, inASecond), Want: Success, Timeout: ample},
		{Name: "429, retry after milliseconds", Handler: then(good, limited("Retry-After-Ms", "10")), Want: Success,
			Timeout: ample},
		{Name: "429, retry after an hour", Handler: limited("Retry-After", "3600"), Want: Failure, Timeout: ample},
		{Name: "529", Handler: failure(529), Want: Failure, Timeout: ample},
		{Name: "503 twice, then 200", Handler: then(good, unavailable, unavailable), Want: Success, Timeout: ample},
		{Name: "400 with HTML", Want: Failure, Timeout: ample,
			Handler: Status(http.StatusBadRequest, "<html>Bad Request</html>", "Content-Type", "text/html")},
		{Name: "401", Handler: failure(http.StatusUnauthorized), Want: Failure, Timeout: ample},
		{Name: "204", Want: Failure, Timeout: ample, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })},
	}
}

// flood writes one line without end, or as much of it as the client takes.
func flood(w io.Writer) {
	block := []byte(strings.Repeat("x", 1<<16))
	_, _ = io.WriteString(w, `data: {"x":"`)
	for range huge / len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func oversized(good Stream) []Case {
	flooding := func(status int, compressed bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", string(good.Format))
			to := io.Writer(w)
			if compressed {
				w.Header().Set("Content-Encoding", "gzip")
				zipped, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
				defer zipped.Close()
				to = zipped
			}
			w.WriteHeader(status)
			flood(to)
		})
	}
	cases := []Case{
		{Name: "a line without end", Handler: flooding(http.StatusOK, false), Want: Failure, Timeout: ample},
		{Name: "a gzip bomb", Handler: flooding(http.StatusOK, true), Want: Failure, Timeout: ample},
		{Name: "an error without end", Handler: flooding(http.StatusBadRequest, false), Want: Failure, Timeout: ample},
		{Name: "an error as a gzip bomb", Handler: flooding(http.StatusBadRequest, true), Want: Failure, Timeout: ample},
	}
	if good.Format != FormatFrames {
		long := slices.Clone(good.Events)
		long[0].Data = strings.Replace(long[0].Data, "{", "{"+strings.Repeat(" ", 20<<20), 1)
		cases = append(cases, Case{Name: "a line of 20 MB", Handler: good.with(long), Want: Success, Timeout: ample})
	}
	return cases
}

// with returns the stream with other events.
func (s Stream) with(events []Event) Stream {
	s.Events = events
	return s
}

// spellings are good streams in other bytes.
func spellings(good Stream) []Case {
	body := good.Bytes()
	ok := func(name string, handler http.Handler) Case {
		return Case{Name: name, Handler: handler, Want: Success, Timeout: ample}
	}
	unknown := Event{Name: "kittest.unknown", Data: `{"type":"kittest.unknown","object":"kittest.unknown"}`}
	if good.Events[0].Name == "" {
		unknown.Name = ""
	}
	cases := []Case{
		ok("nothing wrong", good),
		ok("all at once", good.whole(body)),
		ok("slow bytes", good.bytewise(body)),
		ok("an unknown event", good.with(slices.Insert(slices.Clone(good.Events), good.Terminal, unknown))),
		{Name: "the terminal event twice", Want: Any, Timeout: ample,
			Handler: good.with(slices.Insert(slices.Clone(good.Events), good.Terminal, good.Events[good.Terminal]))},
	}
	if good.Format == FormatFrames {
		return cases
	}
	text := string(body)
	cases = append(cases, ok("CRLF", good.whole([]byte(strings.ReplaceAll(text, "\n", "\r\n")))))
	if good.Format != FormatSSE {
		return cases
	}
	var noted, nameless, named strings.Builder
	for _, e := range good.Events {
		noted.WriteString(": PROCESSING\n\n" + string(good.Encode(e)) + ":\n\n")
		nameless.Write(good.Encode(Event{Data: e.Data}))
		named.WriteString("id: 7\nretry: 1000\n" + string(good.Encode(e)))
	}
	return append(cases,
		ok("comments", good.whole([]byte(noted.String()))),
		ok("ids and retry times", good.whole([]byte(named.String()))),
		ok("BOM", good.whole([]byte("\ufeff"+text))),
		ok("no blank lines", good.whole([]byte(strings.ReplaceAll(text, "\n\n", "\n")))),
		ok("no event lines", good.whole([]byte(nameless.String()))),
		ok("no space after the colon", good.whole([]byte(strings.ReplaceAll(text, "\ndata: ", "\ndata:")))),
		ok("no blank line at the end", good.whole([]byte(strings.TrimRight(text, "\n")))),
	)
}

// bytewise sends each byte by itself, so that letters of several bytes are cut, too.
func (s Stream) bytewise(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.begin(w)
		for n := range body {
			if !send(w, body[n:n+1]) {
				return
			}
		}
	})
}

func errorEvents(good Stream) []Case {
	if good.Fail.Data == "" {
		return nil
	}
	at := func(n int) http.Handler { return good.with(slices.Insert(slices.Clone(good.Events), n, good.Fail)) }
	return []Case{
		{Name: "an error event first", Handler: at(0), Want: Failure, Timeout: ample},
		{Name: "an error event in the middle", Handler: at((good.Terminal + 1) / 2), Want: Failure, Timeout: ample},
		{Name: "an error event after the terminal event", Handler: at(good.Terminal + 1), Want: Any, Timeout: ample},
		{Name: "an error event and nothing else", Handler: good.with([]Event{good.Fail}), Want: Failure, Timeout: ample},
	}
}

// credentials are the headers that must not reach another host.
var credentials = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "X-Amz-Security-Token", "Cookie"}

// redirect sends the client to another host, which is the same server under another name.
func redirect(good Stream) Case {
	var mu sync.Mutex // mu guards leaked
	var leaked []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		host, port, _ := net.SplitHostPort(r.Host)
		if host != "localhost" {
			http.Redirect(w, r, "http://localhost:"+port+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return
		}
		mu.Lock()
		for _, name := range credentials {
			if r.Header.Get(name) != "" {
				leaked = append(leaked, "header "+name)
			}
		}
		if r.URL.Query().Get("key") != "" {
			leaked = append(leaked, "query key")
		}
		mu.Unlock()
		good.ServeHTTP(w, r)
	}
	check := func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(leaked) > 0 {
			return fmt.Errorf("credentials followed a redirect to another host: %s", strings.Join(leaked, ", "))
		}
		return nil
	}
	return Case{Name: "307 to another host", Handler: http.HandlerFunc(handler), Want: Any, Timeout: ample, Check: check}
}
