package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

const discovered = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`

// scripted is a transport to a server that answers requests with what a function says: JSON of a result, or of an error
// if it begins with {"code".
func scripted(answer func(method string, params json.RawMessage) string) func(context.Context) (mcp.Transport, error) {
	return func(context.Context) (mcp.Transport, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			requests := json.NewDecoder(there)
			for {
				var r struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
					Params json.RawMessage `json:"params"`
				}
				if requests.Decode(&r) != nil {
					return
				}
				if len(r.ID) == 0 {
					continue
				}
				text, member := discovered, "result"
				if r.Method != "server/discover" {
					text = answer(r.Method, r.Params)
				}
				if strings.HasPrefix(text, `{"code"`) {
					member = "error"
				}
				fmt.Fprintf(there, `{"jsonrpc":"2.0","id":%s,"%s":%s}`+"\n", r.ID, member, text)
			}
		}()
		return &mcp.IOTransport{Reader: here, Writer: here}, nil
	}
}

// lists answers with pages of a list. A page is made of its number.
func lists(page func(n int) string, asked *atomic.Int32) func(string, json.RawMessage) string {
	return func(string, json.RawMessage) string { return page(int(asked.Add(1))) }
}

func pageOf(n int, more string) string {
	return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]%s}`, n, more)
}

// A list has bounds, however a server makes it long.
// Rule mcp/MC8.
func TestTools_ListsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for want, c := range map[string]struct {
		page func(n int) string
		kind mcptool.ErrorKind
	}{
		"more than 100 pages": {func(n int) string { return pageOf(n, fmt.Sprintf(`,"nextCursor":"%d"`, n)) }, mcptool.TooLarge},
		"1048576 bytes": {func(n int) string {
			return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object","description":"%s"}}],"nextCursor":"%d"}`, n, long, n)
		}, mcptool.TooLarge},
	} {
		srv := open(t, mcptool.Config{Transport: scripted(lists(c.page, new(atomic.Int32)))})
		_, err := srv.Tools(t.Context())
		require.ErrorContains(t, failure(t, err, c.kind), want)
	}
}

// A list is read again when the server's time for it is over, and on request.
// Rule mcp/MC8.
func TestTools_AreKeptAsLongAsTheServerAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := new(atomic.Int32)
		srv, err := mcptool.New(mcptool.Config{Name: "s",
			Transport: scripted(lists(func(n int) string { return pageOf(n, `,"ttlMs":60000`) }, asked))})
		require.NoError(t, err)
		require.Equal(t, []string{"t1"}, names(t, srv))
		time.Sleep(59 * time.Second)
		require.Equal(t, []string{"t1"}, names(t, srv))
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"t2"}, names(t, srv))
		require.NoError(t, srv.Refresh(t.Context()))
		require.Equal(t, []string{"t3"}, names(t, srv))
		require.EqualValues(t, 3, asked.Load())
		require.NoError(t, srv.Close())
	})
}

// Rule mcp/MC11.
func TestTools_AreSortedOnDemand(t *testing.T) {
	list := func(string, json.RawMessage) string {
		return `{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}`
	}
	require.Equal(t, []string{"b", "a"}, names(t, open(t, mcptool.Config{Transport: scripted(list)})))
	require.Equal(t, []string{"a", "b"}, names(t, open(t, mcptool.Config{Transport: scripted(list), Sort: true})))
}

// calls answers calls of a tool with what a function says, which sees how often it was called and with what.
func calls(answer func(n int, params json.RawMessage) string) func(string, json.RawMessage) string {
	n := new(atomic.Int32)
	return func(method string, params json.RawMessage) string {
		if method == "tools/list" {
			return pageOf(0, "")
		}
		return answer(int(n.Add(1)), params)
	}
}

// An error about the parameters is for the model, as errors about unknown tools are, which have the same code.
// Rule mcp/MC18.
func TestCall_ThatIsRefusedForItsParametersIsAResult(t *testing.T) {
	refuses := func(code int) mcptool.Config {
		return mcptool.Config{Transport: scripted(calls(func(int, json.RawMessage) string {
			return fmt.Sprintf(`{"code":%d,"message":"unknown tool t0"}`, code)
		}))}
	}
	result, err := call(t.Context(), named(t, open(t, refuses(-32602)), "t0"), "{}")
	require.NoError(t, err)
	require.Equal(t, true, result.Parts[0].Extra[mcptool.ErrorKey])
	require.Contains(t, result.Parts[0].Text, "unknown tool t0")
	_, err = call(t.Context(), named(t, open(t, refuses(-32603)), "t0"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.Protocol), "the server refused it")
	strict := refuses(-32602)
	strict.ErrorsFail = true
	_, err = call(t.Context(), named(t, open(t, strict), "t0"), "{}")
	require.EqualValues(t, -32602, failure(t, err, mcptool.Protocol).Code)
}

// Rule mcp/MC22.
func TestRoots_AreAnsweredAtOnce(t *testing.T) {
	conf := mcptool.Config{Roots: []*mcp.Root{{URI: "file:///data", Name: "data"}},
		Transport: scripted(calls(func(n int, params json.RawMessage) string {
			if n == 1 {
				return `{"resultType":"input_required","requestState":"s","inputRequests":{"r":{"method":"roots/list","params":{}}}}`
			}
			return `{"content":[{"type":"text","text":` + string(quoted(params)) + `}]}`
		}))}
	result, err := call(t.Context(), named(t, open(t, conf), "t0"), "{}")
	require.NoError(t, err)
	require.Contains(t, result.Parts[0].Text, "file:///data")
	require.Contains(t, result.Parts[0].Text, `"requestState":"s"`)
}

func quoted(text json.RawMessage) []byte {
	data, _ := json.Marshal(string(text))
	return data
}

// asksAgain is a question, with a state of some bytes.
func asksAgain(size int) string {
	return `{"resultType":"input_required","requestState":"` + strings.Repeat("s", size) +
		`","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"m"}}}}`
}

func accepts(context.Context, mcptool.Input, []mcptool.Call) (mcptool.Answer, error) {
	return mcptool.Answer{Action: mcptool.Accept}, nil
}

// Rules mcp/MC23, mcp/MC28.
func TestQuestion_RoundsAndStatesAreBounded(t *testing.T) {
	var rounds atomic.Int32
	endless := mcptool.Config{Elicit: accepts, Transport: scripted(calls(func(n int, _ json.RawMessage) string {
		rounds.Store(int32(n))
		return asksAgain(1)
	}))}
	_, err := call(t.Context(), named(t, open(t, endless), "t0"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.Protocol), "more than 10 times")
	require.EqualValues(t, 11, rounds.Load())
	for size, fits := range map[int]bool{64 << 10: true, 64<<10 + 1: false} {
		large := mcptool.Config{Elicit: accepts, Transport: scripted(calls(func(n int, _ json.RawMessage) string {
			if n == 1 {
				return asksAgain(size)
			}
			return `{"content":[]}`
		}))}
		_, err := call(t.Context(), named(t, open(t, large), "t0"), "{}")
		if fits {
			require.NoError(t, err)
		} else {
			failure(t, err, mcptool.TooLarge)
		}
	}
}

// A server that asks for nothing has no time: it is asked again after a while, and not for ever.
// Rule mcp/MC25.
func TestCall_OfABusyServerIsMadeAgain(t *testing.T) {
	for _, c := range []struct {
		busy int
		took time.Duration
		fits bool
	}{{2, 3 * time.Second, true}, {100, 7 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			srv, err := mcptool.New(mcptool.Config{Name: "s", Transport: scripted(calls(func(n int, _ json.RawMessage) string {
				if n <= c.busy {
					return `{"resultType":"input_required","requestState":"","inputRequests":{}}`
				}
				return `{"content":[{"type":"text","text":"done"}]}`
			}))})
			require.NoError(t, err)
			tool := named(t, srv, "t0")
			began := time.Now()
			result, err := call(t.Context(), tool, "{}")
			require.Equal(t, c.took, time.Since(began))
			if c.fits {
				require.NoError(t, err)
				require.Equal(t, "done", result.Parts[0].Text)
			} else {
				require.ErrorContains(t, failure(t, err, mcptool.Protocol), "busy")
			}
			require.NoError(t, srv.Close())
		})
	}
}

// A call that waits for an answer has not run: it is sent with the answer. One that is lost then may have run.
// Rule mcp/MC24.
func TestQuestion_ACallThatIsLostAfterItsAnswerIsNotRepeated(t *testing.T) {
	var sent atomic.Int32
	srv := open(t, mcptool.Config{Transport: scripted(calls(func(_ int, params json.RawMessage) string {
		if strings.Contains(string(params), "inputResponses") {
			sent.Add(1)
			return "" // which cannot be read, and ends the connection
		}
		return asksAgain(1)
	}))})
	r := cashier(t, srv, adktest.NewStore(), adktest.Calls(adktest.Call("t0", `{}`)))
	_, point := asked(t, adktest.Collect(t, r.Query(t.Context(), "go", adk.WithCheckPointID("1"))))
	require.Zero(t, sent.Load())
	events, err := resume(t, r, point, mcptool.Answers{"a": {Action: mcptool.Accept}})
	require.NoError(t, err)
	var failed *mcptool.CallError
	for _, e := range events.All() {
		if e.Err != nil {
			require.True(t, errors.As(e.Err, &failed), e.Err)
		}
	}
	require.NotNil(t, failed)
	require.Equal(t, mcptool.OutcomeUnknown, failed.Kind)
	require.EqualValues(t, 1, sent.Load())
}

type jsonRaw = json.RawMessage

// framed is a transport to a server with one tool, t0, whose calls are answered with whole lines, which a function makes of
// the ID and the number of the call.
func framed(answer func(id string, n int) string) func(context.Context) (mcp.Transport, error) {
	return func(context.Context) (mcp.Transport, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			n := 0
			for requests := json.NewDecoder(there); ; {
				var r webMessage
				if requests.Decode(&r) != nil {
					return
				}
				line := ""
				switch {
				case len(r.ID) == 0:
					continue
				case r.Method == "tools/call":
					n++
					line = answer(string(r.ID), n)
				case r.Method == "tools/list":
					line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, pageOf(0, ""))
				default:
					line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, discovered)
				}
				fmt.Fprintln(there, line)
			}
		}()
		return &mcp.IOTransport{Reader: here, Writer: here}, nil
	}
}
