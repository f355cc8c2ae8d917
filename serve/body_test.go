package serve

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
)

// A body that could be read two ways is refused, and approves nothing.
// Rules serving/SV7, serving/SV15.
func TestServer_RefusesABodyThatCanBeReadTwoWays(t *testing.T) {
	var paid []string
	d := newDesk(t, Config{}, agentOf(t, pay(t, &paid), adktest.Calls(adktest.Call("pay", `{"amount":7}`)), adktest.Says("No.")))
	run := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Pay!"}`))[0].Run
	id := d.call(200, "GET", "/questions", "")["questions"].([]any)[0].(map[string]any)["id"].(string)
	yes, no := `"`+id+`":{"approve":true}`, `"`+id+`":{"approve":false}`
	for _, body := range []string{
		`{"replies":{` + no + `},"replies":{` + yes + `}}`,
		`{"replies":{` + no + `},"Replies":{` + yes + `}}`,
		`{"Replies":{` + yes + `}}`,
		`{"replie\u0073":{` + no + `},"replies":{` + yes + `}}`,
		`{"replieſ":{` + yes + `}}`,
		`{"replies":{` + no + `,` + yes + `}}`,
		`{"replies":{` + yes + `}}}`,
		`{"replies":{` + yes + `},"partial":false,"Partial":true}`,
	} {
		require.Equal(t, "bad_request", d.refused(http.StatusBadRequest, "POST", "/runs/"+run+"/replies", body), body)
	}
	require.Empty(t, paid)
	for _, body := range []string{`{"input":"x","input":"y"}`, `{"Input":"x"}`, `{"input":"x","labels":{"a":"1","a":"2"}}`,
		`{"input":[{"role":"user","Content":"x"}]}`, `{"input":[{"role":"user","content":"x","content":"y"}]}`} {
		require.Equal(t, "bad_request", d.refused(http.StatusBadRequest, "POST", "/agents/desk/runs", body), body)
	}
	d.stream("POST", "/runs/"+run+"/replies", `{"replies":{`+no+`},"unknown":{"A":1,"a":2}}`)
	require.Empty(t, paid)
}

func TestMembers_RefusesWhatFollowsTheObject(t *testing.T) {
	for _, text := range []string{`{"a":1}}`, `{"a":1}]`, `{"a":1} {}`, `{"a":1},`, `{"a":1}x`, `{"a":1,"a":1}`, `[]`, ``} {
		_, err := Members(json.RawMessage(text))
		require.Error(t, err, text)
	}
	members, err := Members(json.RawMessage(` {"a":1,"A":{"b":[2]}} `))
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"a": json.RawMessage(`1`), "A": json.RawMessage(`{"b":[2]}`)}, members)
}

// Whatever Members accepts, any other reader of JSON reads the same.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"b":{"c":[]}}`, `{"a":1,"a":2}`, `{"a":1}}`, `{"\u0061":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := Members(data)
		if err != nil {
			require.Equal(t, BadRequest, ProblemOf(err).Code)
			return
		}
		var plain map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &plain), "%q", data)
		require.Len(t, members, len(plain))
	})
}
