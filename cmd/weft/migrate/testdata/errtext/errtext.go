// A chat server that maps errors of a run to status codes.
package errtext

import (
	"context"
	"errors"
	"log"
	"net/http"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/adk"
)

func answer(ctx context.Context, w http.ResponseWriter, runner *adk.Runner, question string) {
	iter := runner.Query(ctx, question)
	for {
		event, ok := iter.Next()
		if !ok {
			return
		}
		if event.Err == nil {
			continue
		}
		err := event.Err
		switch {
		case event.Err.Error() == "exceeds max iterations": // want `the text of an agent's error begins with`
			http.Error(w, "too long", http.StatusGatewayTimeout)
		case strings.HasPrefix(err.Error(), "[NodeRunError]"): // want `the text of an agent's error begins with`
			http.Error(w, "failed", http.StatusBadGateway)
		case strings.Contains(err.Error(), "429"), errors.Is(err, adk.ErrExceedMaxIterations):
			http.Error(w, "later", http.StatusTooManyRequests)
		}
		switch event.Err.Error() { // want `the text of an agent's error begins with`
		case "context canceled":
			return
		}
		log.Print(event.Err.Error())
	}
}

// own is an error of the program's: its text is what the program made it.
func own(load func() error) bool {
	err := load()
	return err != nil && err.Error() == "no such user"
}

var failed = regexp.MustCompile(`^exceeds max`)

var codes = map[string]int{"exceeds max iterations": http.StatusGatewayTimeout}

// status looks at the text in other ways.
func status(event *adk.AgentEvent) int {
	text := event.Err.Error()
	if text == "exceeds max iterations" { // want `the text of an agent's error begins with`
		return http.StatusGatewayTimeout
	}
	got, want := event.Err.Error(), "exceeds max iterations"
	if got != want { // want `the text of an agent's error begins with`
		log.Print("another one")
	}
	if strings.Index(event.Err.Error(), "exceeds") == 0 { // want `the text of an agent's error begins with`
		return http.StatusGatewayTimeout
	}
	if failed.MatchString(text) { // want `the text of an agent's error begins with`
		return http.StatusGatewayTimeout
	}
	if strings.Index(text, "429") >= 0 {
		return http.StatusTooManyRequests
	}
	return codes[event.Err.Error()] // want `the text of an agent's error begins with`
}
