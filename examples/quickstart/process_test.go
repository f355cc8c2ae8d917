//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

// child is the program as a process, in an empty directory.
func child(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := demotest.Command(ctx, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// ended runs a process and returns its outputs and its exit code.
func ended(t *testing.T, cmd *exec.Cmd) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%v", err)
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func TestProcess_ExplainsItself(t *testing.T) {
	for _, flag := range []string{"-h", "--help", "-help"} {
		out, errs, code := ended(t, child(t, nil, flag))
		require.Equal(t, 0, code)
		require.Empty(t, errs)
		require.Contains(t, out, "quickstart [question]")
		require.Contains(t, out, "OPENAI_API_KEY")
	}
	for _, args := range [][]string{{"-x"}, {"--model=x", "question"}} {
		out, errs, code := ended(t, child(t, nil, args...))
		require.Equal(t, 2, code)
		require.Empty(t, out)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Contains(t, errs, "flag provided but not defined: ")
	}
	out, _, code := ended(t, child(t, nil, "--", "-weird question"))
	require.Equal(t, 0, code)
	require.Contains(t, out, "> -weird question\n")
}

func TestProcess_AnswersInAnEmptyDirectory(t *testing.T) {
	out, errs, code := ended(t, child(t, nil))
	require.Equal(t, 0, code)
	require.Empty(t, errs)
	require.Contains(t, out, "There is no Go code here.\nThere are 0 files.")
}

// TestProcess_UsesALocalServerWithoutAKey: it says which model of which server answers.
func TestProcess_UsesALocalServerWithoutAKey(t *testing.T) {
	server := kittest.Server(t, kittest.ChatCompletions(kittest.ChatUnknown), kittest.ChatStream("It is ", "small."))
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	var models atomic.Value
	models.Store(`{"data":[{"id":"qwen3:8b"},{"id":"other"}]}`)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, models.Load())
			return
		}
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/v1")
		httputil.NewSingleHostReverseProxy(address).ServeHTTP(w, r)
	}))
	defer front.Close()
	local := "OPENAI_BASE_URL=" + front.URL + "/v1/"
	out, errs, code := ended(t, child(t, []string{local}, "how large?"))
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, "Using model qwen3:8b at "+front.URL+"/v1.")
	require.Contains(t, out, "It is small.")

	models.Store(`{"data":[]}`)
	_, errs, code = ended(t, child(t, []string{local}, "how large?"))
	require.Equal(t, 1, code)
	require.Equal(t, "\nquickstart: OPENAI_MODEL is not set, and the server at OPENAI_BASE_URL does not say what models it "+
		"has: it lists none\n", errs)
}

// TestProcess_ErrorsOfTheServiceAreOneLine: they say what is wrong, and never show the key.
func TestProcess_ErrorsOfTheServiceAreOneLine(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{401, `{"error":{"message":"Incorrect API key provided: the-s********key","code":"invalid_api_key"}}`, "Incorrect API key"},
		{404, `{"error":{"message":"The model gpt-9 does not exist","code":"model_not_found"}}`, "The model gpt-9 does not exist"},
		{429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`, "Rate limit reached"},
		{502, "<html>\n<body>bad gateway\n</html>", "502"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		out, errs, code := ended(t, child(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_API_KEY=the-secret-key"}))
		server.Close()
		require.Equal(t, 1, code)
		require.Contains(t, errs, c.want)
		require.Contains(t, errs, fmt.Sprint(c.status))
		require.Equal(t, 1, strings.Count(strings.TrimPrefix(errs, "\n"), "\n"), errs)
		require.NotContains(t, out+errs, "the-secret-key")
		t.Log(strings.TrimSpace(errs))
	}
	_, errs, code := ended(t, child(t, []string{"OPENAI_BASE_URL=http://user:password@127.0.0.1:1", "OPENAI_API_KEY=k"}))
	require.Equal(t, 1, code)
	require.Contains(t, errs, "connection refused")
	require.NotContains(t, errs, "password")
	t.Log(strings.TrimSpace(errs))
}

// TestProcess_CtrlCEndsItAtAnyTime presses Ctrl-C in a terminal while the program waits for something.
func TestProcess_CtrlCEndsItAtAnyTime(t *testing.T) {
	begin := `data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"It begins"}}]}` + "\n\n"
	for name, answer := range map[string]string{
		"in the list of models":     "",
		"before an answer":          "",
		"in the middle of a stream": begin,
	} {
		t.Run(name, func(t *testing.T) {
			reached, left := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, answer)
				_ = http.NewResponseController(w).Flush()
				close(reached)
				<-r.Context().Done()
				close(left)
			}))
			defer server.Close()
			env := []string{"OPENAI_BASE_URL=" + server.URL}
			if name != "in the list of models" {
				env = append(env, "OPENAI_API_KEY=k")
			}
			cmd := child(t, env, "how large?")
			terminal, err := pty.Start(cmd)
			require.NoError(t, err)
			defer terminal.Close()
			shown := make(chan string)
			go func() {
				text, _ := io.ReadAll(terminal) // ends with an error when the process does
				shown <- string(text)
			}()
			<-reached
			_, err = io.WriteString(terminal, "\x03")
			require.NoError(t, err)
			<-left // the server is no longer read from
			_ = cmd.Wait()
			require.Equal(t, 130, cmd.ProcessState.ExitCode())
			require.Contains(t, <-shown, "quickstart: stopped")
		})
	}
}
