package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// pacedModel is a model that says something in regular intervals.
type pacedModel struct {
	pieces int
	pace   time.Duration
}

var paced = pacedModel{pieces: 200, pace: 50 * time.Millisecond}

func (pacedModel) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return nil, errors.New("runs are streamed")
}

func (p pacedModel) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](16)
	go func() {
		defer w.Close()
		time.Sleep(rand.N(p.pace)) // not all of them at one moment
		ticker := time.NewTicker(p.pace)
		defer ticker.Stop()
		for range p.pieces {
			<-ticker.C
			if w.Send(schema.AssistantMessage("twenty bytes of text", nil), nil) {
				return
			}
		}
	}()
	return r, nil
}

// handEvent is an event of a handler written by hand that sends the same bytes.
type handEvent struct {
	V      int      `json:"v"`
	Run    string   `json:"run"`
	Seq    int      `json:"seq"`
	Token  string   `json:"token"`
	T      int64    `json:"t"`
	Type   string   `json:"type"`
	Span   string   `json:"span"`
	Parent string   `json:"parent"`
	Agent  string   `json:"agent"`
	Path   []string `json:"path"`
	Data   struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"data"`
}

// pacedByHand is a handler written by hand for a pacedModel.
func pacedByHand(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	s, err := paced.Stream(r.Context(), nil)
	if err != nil {
		return
	}
	defer s.Close()
	rc := http.NewResponseController(w)
	e := handEvent{V: 1, Run: "r_0123456789abcdefghijklmnop", Token: "1", Type: "model.delta", Span: "2", Parent: "1",
		Agent: "desk", Path: []string{"desk"}}
	e.Data.Kind = "text"
	for {
		m, err := s.Recv()
		if err != nil {
			return
		}
		e.Seq++
		e.T, e.Data.Text = time.Now().UnixMicro(), m.Content
		data, _ := json.Marshal(e)
		fmt.Fprintf(w, "id: 1.%d\nevent: model.delta\ndata: %s\n\n", e.Seq, data)
		_ = rc.Flush()
	}
}

// streamsServed in the environment of a process of this test has it serve streams until its input ends.
const streamsServed = "WEFT_SERVE_STREAMS"

// serveStreams serves streams, says where, and what it has used.
func serveStreams() error {
	agent, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: "desk", Description: "x", Model: paced})
	if err != nil {
		return err
	}
	srv, err := New(Config{Agents: []adk.Agent{agent}, Limits: Limits{StartsPerMinute: 1 << 30, Runs: 5000, RunsPerPrincipal: 5000}})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", srv)
	mux.HandleFunc("/hand", pacedByHand)
	mux.HandleFunc("/cpu", func(w http.ResponseWriter, _ *http.Request) {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		fmt.Fprint(w, u.Utime.Nano()+u.Stime.Nano())
	})
	mux.HandleFunc("/memory", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, memory()) })
	web := httptest.NewServer(mux)
	fmt.Println(web.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// streamsServer is a process with serveStreams.
type streamsServer struct {
	b   *testing.B
	url string
}

func newStreamsServer(b *testing.B) *streamsServer {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), streamsServed+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	return &streamsServer{b, strings.TrimSpace(url)}
}

func (s *streamsServer) number(of string) int64 {
	answer, err := http.Get(s.url + of)
	require.NoError(s.b, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.b, err)
	n, err := strconv.ParseInt(string(text), 10, 64)
	require.NoError(s.b, err)
	return n
}

// streams has clients read a stream each, and returns the CPU of the server for a piece, and what it holds for a stream in
// the middle of it.
func (s *streamsServer) streams(clients int, request string) (cpu time.Duration, bytes int64) {
	memory, used := s.number("/memory"), s.number("/cpu")
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			if err := readStream(strings.TrimPrefix(s.url, "http://"), request); err != nil {
				s.b.Error(err)
			}
		})
	}
	time.Sleep(time.Duration(paced.pieces) * paced.pace / 2)
	bytes = (s.number("/memory") - memory) / int64(clients)
	wg.Wait()
	return time.Duration((s.number("/cpu") - used) / int64(clients*paced.pieces)), bytes
}

// readStream reads a response to its end, with next to no work.
func readStream(address, request string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	room := make([]byte, 4096)
	for {
		n, err := conn.Read(room)
		if err != nil || bytes.HasSuffix(room[:n], []byte("\r\n0\r\n\r\n")) || string(room[:n]) == "0\r\n\r\n" {
			return err
		}
	}
}

// BenchmarkStreams is a thousand clients that read what models say, twenty pieces a second: what a piece costs the
// server, its run and the start of it included, as a multiple of what the same bytes cost a handler written by hand; and
// how much memory a stream and its run take, and a stream of the handler. A round takes ten seconds for each.
func BenchmarkStreams(b *testing.B) {
	const clients = 1000
	const body = `{"input":"x"}`
	s := newStreamsServer(b)
	var hand, served time.Duration
	var memory, handMemory int64
	for b.Loop() {
		byHand, handBytes := s.streams(clients, "GET /hand HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		each, bytes := s.streams(clients, fmt.Sprintf("POST /agents/desk/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		hand, served, memory, handMemory = hand+byHand, served+each, bytes, handBytes
	}
	b.ReportMetric(float64(served.Nanoseconds())/float64(b.N)/1000, "cpu-µs/piece")
	b.ReportMetric(float64(served)/float64(hand), "x-by-hand")
	b.ReportMetric(float64(memory)/1000, "KB/stream")
	b.ReportMetric(float64(handMemory)/1000, "KB/stream-by-hand")
}
