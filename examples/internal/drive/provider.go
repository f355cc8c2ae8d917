package drive

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
)

// Answer is the answer of the providers behind [Provider]. It is a JSON object for those programs that ask for one.
const Answer = `{"name":"Ada Lovelace","age":27}`

// Provider answers as the services of OpenAI, Anthropic, Gemini and Ollama, by the path of the request. A chat completion
// with tools calls the first of them, and then says what that returned.
func Provider() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", chatCompletions)
	mux.HandleFunc("POST /v1/responses", responses)
	mux.HandleFunc("POST /openai/v1/responses", responses)
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, _ *http.Request) {
		write(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, Answer)
	})
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { write(w, `{"input_tokens":7}`) })
	mux.HandleFunc("POST /v1beta/cachedContents", func(w http.ResponseWriter, _ *http.Request) {
		write(w, `{"name":"cachedContents/c1","model":"models/gemini-2.5-flash","expireTime":"2999-01-01T00:00:00Z","usageMetadata":{"totalTokenCount":7}}`)
	})
	mux.HandleFunc("DELETE /v1beta/cachedContents/c1", func(w http.ResponseWriter, _ *http.Request) { write(w, `{}`) })
	mux.HandleFunc("POST /v1beta/models/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":%q}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`, Answer)
	})
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, _ *http.Request) {
		write(w, `{"model":"m","message":{"role":"assistant","content":%q},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}`, Answer)
	})
	return mux
}

func write(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, format, args...)
}

func chatCompletions(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Stream   bool
		Messages []struct{ Role, Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	last := asked.Messages[len(asked.Messages)-1]
	message, reason := fmt.Sprintf(`{"role":"assistant","content":%q}`, Answer), "stop"
	switch {
	case last.Role == "tool":
		message = fmt.Sprintf(`{"role":"assistant","content":%q}`, "The tool says: "+last.Content)
	case len(asked.Tools) > 0:
		arguments := map[string]string{"now": `{"zone":"Asia/Tokyo"}`, "status": `{"number":7}`}[asked.Tools[0].Function.Name]
		message = fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":%q,"arguments":%q}}]}`,
			asked.Tools[0].Function.Name, arguments)
		reason = "tool_calls"
	}
	if !asked.Stream {
		write(w, `{"id":"c","object":"chat.completion","model":"m","moderation":{"flagged":false},"choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, message, reason)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`+"\n\ndata: [DONE]\n\n", message, reason)
}

func responses(w http.ResponseWriter, _ *http.Request) {
	write(w, `{"id":"r","object":"response","status":"completed","model":"m","output":[{"id":"m1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`, Answer)
}

// ServiceAccount returns the key file of an account that Google does not know.
func ServiceAccount() []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	Check(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	Check(err)
	file, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "my-project", "private_key_id": "k",
		"client_email": "weft@example.com", "token_uri": "https://oauth2.googleapis.com/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	Check(err)
	return file
}

// ServeFiles is the MCP server that programs find as the one for files, on standard input and output.
func ServeFiles() {
	list, err := utils.InferTool("list_directory", "Lists a directory.", func(_ context.Context, in struct {
		Path string `json:"path"`
	}) (string, error) {
		if !strings.HasPrefix(in.Path, "/data") {
			return "", errors.New("that is none of the directories")
		}
		return "a file in " + in.Path, nil
	})
	Check(err)
	server, err := mcpserve.New(mcpserve.Config{Name: "files"})
	Check(err)
	Check(server.AddTool(context.Background(), list, mcpserve.ToolOptions{ReadOnly: true}))
	Check(server.ServeStdio(context.Background()))
}
