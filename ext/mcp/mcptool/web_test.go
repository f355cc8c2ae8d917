package mcptool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// web is a server of streamable HTTP, of an older protocol, that is written by hand. Functions that are nil, or return
// false, leave the answer to it.
type web struct {
	// get answers the request for the stream of notices. Default: there is none.
	get http.HandlerFunc
	// answer answers a message.
	answer func(w http.ResponseWriter, r *http.Request, m webMessage) bool
	// list is the result of tools/list.
	list atomic.Value
	// gets and lists count requests.
	gets, lists, connects atomic.Int32
}

type webMessage struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

func (m webMessage) has(text string) bool { return strings.Contains(string(m.Params), text) }

// result answers with a result.
func (m webMessage) result(w http.ResponseWriter, result string) bool {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	return true
}

func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && h.get != nil:
		h.gets.Add(1)
		h.get(w, r)
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	data, _ := io.ReadAll(r.Body)
	var m webMessage
	_ = json.Unmarshal(data, &m)
	if m.Method == "initialize" {
		h.connects.Add(1)
	}
	if m.Method == "tools/list" {
		h.lists.Add(1)
	}
	if h.answer != nil && h.answer(w, r, m) {
		return
	}
	switch m.Method {
	case "initialize":
		m.result(w, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case "tools/list":
		list, _ := h.list.Load().(string)
		if list == "" {
			list = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
		}
		m.result(w, list)
	case "tools/call":
		m.result(w, `{"content":[{"type":"text","text":"done"}]}`)
	default:
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
	}
}

// serves starts the server.
func serves(t *testing.T, h *web) (url string) {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
