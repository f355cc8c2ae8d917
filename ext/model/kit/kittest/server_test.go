package kittest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// ask posts a body and returns the status and the answer.
func ask(t *testing.T, url, body string) (int, string) {
	t.Helper()
	client := newClient(t)
	resp, err := (&http.Client{Transport: client.transport}).Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func TestServer_AnswersFromItsScript(t *testing.T) {
	s := Server(t, ChatCompletions(ChatUnknown), JSON(`{"a":1}`), ChatStream("hi"))
	s.Add(Status(http.StatusTeapot, "{}", "X-A", "b"), Always(JSON(`"last"`)))
	url := s.URL + "/v1/chat/completions"
	streamed := "200 " + string(ChatStream("hi").Bytes())
	for _, want := range []string{`200 {"a":1}`, streamed, "418 {}", `200 "last"`, `200 "last"`} {
		code, body := ask(t, url, chatBase)
		if got := fmt.Sprint(code, " ", body); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if r := s.Requests(); len(r) != 5 || string(r[0].Body) != chatBase || r[0].Faults != nil || s.Left() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestServer_FailsTheTestForARequestThatIsRefused(t *testing.T) {
	f := &failing{TB: t}
	s := Server(f, ChatCompletions(ChatMistral), JSON("{}"))
	code, body := ask(t, s.URL+"/v1/chat/completions", `{"model":"m","messages":[]}`)
	if code != 422 || !strings.Contains(body, "messages") || s.Left() != 1 {
		t.Error(code, body, s.Left())
	}
	code, _ = ask(t, s.URL+"/v1/chat/completions", chatBase)
	ended, _ := ask(t, s.URL+"/v1/chat/completions", chatBase)
	reports := f.end()
	if code != 200 || ended != http.StatusGone || !strings.Contains(reports, "(K16)") ||
		!strings.Contains(reports, "end of the script") {
		t.Error(code, ended, reports)
	}
}

func TestRefusingServer_OnlyRefuses(t *testing.T) {
	s := RefusingServer(t, Ollama())
	code, _ := ask(t, s.URL+"/api/chat", `{}`)
	if code != 400 || len(s.Requests()[0].Faults) == 0 {
		t.Error(code, s.Requests())
	}
}

func TestServer_ItsValidatorLearnsFromItsAnswers(t *testing.T) {
	s := RefusingServer(t, Responses(), JSON(twoItems), Always(JSON("{}")))
	ask(t, s.URL+"/v1/responses", responsesBase)
	for item, want := range map[string]int{sentThought: 200, strings.Replace(sentThought, `"enc"`, `"x"`, 1): 400} {
		body := request(t, responsesBase, input(aQuestion, item, sentCall, anOutput), 1)
		if code, answer := ask(t, s.URL+"/v1/responses", string(body)); code != want {
			t.Error(code, answer)
		}
	}
}
