package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// modelAnswer is the end of every answer of the model.
const modelAnswer = "so says the scripted model"

// A scriptedModel is a service with OpenAI's Chat Completions. It is also a proxy for HTTPS that takes the place of
// every host, so that a program which names none of its own reaches it, too.
type scriptedModel struct {
	dir       string
	listener  net.Listener
	server    *http.Server
	tunnels   *tunnels
	authority *tls.Certificate
}

// startModel starts a model that puts the certificate of its authority into a directory.
func startModel(dir string) (*scriptedModel, error) {
	m := &scriptedModel{dir: dir}
	var err error
	if m.authority, err = newAuthority(); err != nil {
		return nil, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.authority.Certificate[0]})
	if err := os.WriteFile(m.authorityFile(), block, 0o644); err != nil {
		return nil, err
	}
	if m.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	m.tunnels = &tunnels{conns: make(chan net.Conn), done: make(chan struct{}), address: m.listener.Addr()}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(m.listener) }()
	go func() { _ = m.server.Serve(tls.NewListener(m.tunnels, &tls.Config{GetCertificate: m.certificate})) }()
	return m, nil
}

func (m *scriptedModel) close() { _ = m.server.Close() }

func (m *scriptedModel) authorityFile() string { return filepath.Join(m.dir, "authority.pem") }

// environment leads a program to the model.
func (m *scriptedModel) environment() []string {
	address := "http://" + m.listener.Addr().String()
	return []string{"OPENAI_API_KEY=a-key", "OPENAI_BASE_URL=" + address + "/v1", "SSL_CERT_FILE=" + m.authorityFile(),
		"HTTPS_PROXY=" + address, "https_proxy=" + address, "NO_PROXY=", "no_proxy="}
}

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		m.tunnel(w)
		return
	}
	if r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "the scripted model knows Chat Completions only", http.StatusNotFound)
		return
	}
	var request completionRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	message, reason := request.answer()
	kind := "message"
	if request.Stream {
		kind = "delta"
	}
	body, _ := json.Marshal(map[string]any{"id": "c1", "model": request.Model, "choices": []any{map[string]any{
		"index": 0, kind: message, "finish_reason": reason}}})
	if request.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", body)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, bytes.NewReader(body))
}

// tunnel gives the connection of a CONNECT request to the server behind TLS.
func (m *scriptedModel) tunnel(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	select {
	case m.tunnels.conns <- conn:
	case <-m.tunnels.done:
		_ = conn.Close()
	}
}

type completionRequest struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content any
	}
	Tools []struct {
		Function struct {
			Name       string
			Parameters struct {
				Properties map[string]struct{ Type string }
			}
		}
	}
}

// answer calls the first tool, and gives its result as the answer. Every text among the arguments is a time zone.
func (r *completionRequest) answer() (message map[string]any, reason string) {
	if len(r.Messages) > 0 {
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return map[string]any{"role": "assistant", "content": fmt.Sprintf("%v, %s", last.Content, modelAnswer)}, "stop"
		}
	}
	if len(r.Tools) == 0 {
		return map[string]any{"role": "assistant", "content": "Hello, " + modelAnswer}, "stop"
	}
	arguments := map[string]any{}
	for name, property := range r.Tools[0].Function.Parameters.Properties {
		if property.Type == "string" {
			arguments[name] = "Asia/Tokyo"
		}
	}
	text, _ := json.Marshal(arguments) // strings: cannot fail
	return map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
		"index": 0, "id": "call_1", "type": "function",
		"function": map[string]any{"name": r.Tools[0].Function.Name, "arguments": string(text)},
	}}}, "tool_calls"
}

// newAuthority makes what signs the certificates of a model.
func newAuthority() (*tls.Certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Scripted model"},
		IsCA:    true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return newCertificate(template, nil)
}

// certificate makes the certificate of the host that a client wants to reach.
func (m *scriptedModel) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return newCertificate(&x509.Certificate{DNSNames: []string{hello.ServerName}}, m.authority)
}

func newCertificate(template *x509.Certificate, by *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent, signer := template, any(key)
	if by != nil {
		if parent, err = x509.ParseCertificate(by.Certificate[0]); err != nil {
			return nil, err
		}
		signer = by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// tunnels is a listener whose connections come from CONNECT requests.
type tunnels struct {
	conns   chan net.Conn
	done    chan struct{} // closed by Close, which the server calls once
	address net.Addr
}

func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.done:
		return nil, errors.New("closed")
	}
}

func (t *tunnels) Close() error   { close(t.done); return nil }
func (t *tunnels) Addr() net.Addr { return t.address }
